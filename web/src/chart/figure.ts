// Figures of papers: measured series, and the series that the paper prints, with different marks.
import type uPlot from 'uplot';
import type { Axis, Figure, Series } from '../data/reproduction.gen';
import { short } from '../format';
import { within } from './marks';
import { type Measure, measureAxis, measureScale, roundNumbers } from './measure';
import { fade, type Palette, resultStyle } from './palette';
import { type Shape, tracePoint } from './shapes';
import { type ChartSpec, common, type Key, NOTHING, type Place, POINTER, type Tip } from './spec';

/** The distance from a point within which the pointer shows its tip, in CSS pixels. */
const NEAR = 36;

/** A series with more points than this has small points. */
const MANY = 120;

/** The maximum number of points that a line marks. */
const FEW = 24;

/** The share of a category's width that its bars occupy. */
const CLUSTER = 0.78;

/** The shapes of measured points; printed points are diamonds. */
const SHAPES: Shape[] = ['circle', 'square', 'triangle', 'wedge'];

/** A series with its style. */
interface StyledSeries extends Series {
  /**
   * The index of its colour. A printed series has the colour of the measured series of the same name, if there
   * is one.
   */
  nth: number | undefined;
  /** The offset of its points from the middle of their category. */
  aside: number;
  /** The width of its bars on a category axis. */
  width: number;
  /** True if it is printed and lies on measured bars of the same colour. */
  onBar: boolean;
}

interface Point {
  x: number;
  y: number;
  of: StyledSeries;
}

/** The series as drawn: bars and printed lines, other lines, measured dots, printed dots. */
function styledSeries(figure: Figure): StyledSeries[] {
  const measured = figure.series.filter(({ printed }) => !printed);
  const names = [...new Set(measured.map(({ name }) => name))];
  // On a category axis, the series of one category are side by side.
  const beside = figure.x.names.length > 0 ? measured.filter(({ mark }) => mark !== 'line') : [];
  const width = CLUSTER / Math.max(1, beside.length);
  const asideOf = (name: string) => {
    const at = beside.findIndex((series) => series.name === name);
    return at < 0 ? 0 : (at - (beside.length - 1) / 2) * width;
  };
  const drawn = figure.series.map(
    (series): StyledSeries => ({
      ...series,
      nth: names.includes(series.name) ? names.indexOf(series.name) : undefined,
      aside: asideOf(series.name),
      width,
      onBar:
        series.printed && beside.some(({ name, mark }) => name === series.name && mark === 'bars'),
    }),
  );
  const depth = ({ printed, mark }: StyledSeries) =>
    mark === 'bars' ? 0 : mark === 'line' ? (printed ? 0 : 1) : printed ? 3 : 2;
  return drawn.sort((a, b) => depth(a) - depth(b));
}

/** Breaks a text into lines of about `letters` letters. */
function wrapped(text: string, letters: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < letters)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}

/** The number of letters in a line of a category's label; labels fit side by side on a phone. */
const lettersOf = (names: string[]) => Math.max(8, Math.floor(36 / names.length));

/** The measure of an axis. A vertical axis without a log scale includes 0. */
function measureOf(axis: Axis, values: number[], side: 'x' | 'y'): Measure {
  const { label: title, log, names } = axis;
  if (names.length > 0) {
    const write = (value: number) => names[value] ?? '';
    return {
      title,
      write,
      labels: (ticks) => ticks.map((tick) => wrapped(write(tick), lettersOf(names))),
      ticks: () => names.map((_, i) => i),
      range: [-0.5, names.length - 0.5],
    };
  }
  const held = log ? values.filter((value) => value > 0) : values;
  const low = held.reduce((a, b) => Math.min(a, b), side === 'y' && !log ? 0 : Infinity);
  const high = held.reduce((a, b) => Math.max(a, b), side === 'y' && !log ? 0 : -Infinity);
  if (!(low < high)) {
    const one = Number.isFinite(low) ? low : 1;
    return { title, write: short, log, range: log ? [one / 2, one * 2] : [one - 1, one + 1] };
  }
  if (log) {
    const room = (high / low) ** 0.06;
    return { title, write: short, log, ticks: roundNumbers, range: [low / room, high * room] };
  }
  const room = (side === 'y' ? 0.06 : 0.02) * (high - low);
  return { title, write: short, range: [low < 0 || side === 'x' ? low - room : low, high + room] };
}

const colorOf = (colors: Palette, { nth }: StyledSeries) =>
  nth === undefined ? colors.text : resultStyle(colors, nth).color;

const dashOf = (colors: Palette, { nth = 0 }: StyledSeries) => resultStyle(colors, nth).dash;

const shapeOf = ({ printed, nth }: StyledSeries): Shape =>
  printed ? 'diamond' : (SHAPES[(nth ?? 0) % SHAPES.length] ?? 'circle');

/** The entry of a series in the legend. */
function keyOf(colors: Palette, of: StyledSeries): Key {
  const color = colorOf(colors, of);
  const { name, mark, printed } = of;
  if (printed && mark === 'line') {
    return { name: `${name}, printed`, color: fade(color, 0.4), sign: { width: 6 } };
  }
  if (printed) return { name: `${name}, printed`, color, sign: { shape: 'diamond', hollow: true } };
  if (mark === 'bars') return { name, color };
  const dash = dashOf(colors, of);
  return mark === 'line'
    ? { name, color, sign: { width: 2, ...(dash === undefined ? {} : { dash }) } }
    : { name, color, sign: { shape: shapeOf(of) } };
}

/** The entry in the legend for the printed counterparts of measured series. */
const printedKey = (colors: Palette, mark: 'line' | 'dots'): Key =>
  mark === 'line'
    ? { name: 'printed', color: fade(colors.text, 0.4), sign: { width: 6 } }
    : { name: 'printed', color: colors.text, sign: { shape: 'diamond', hollow: true } };

/** The legend: an entry for each series, and one for all printed counterparts of measured series. */
function keysOf(colors: Palette, drawn: StyledSeries[]): Key[] {
  const measured = new Set(drawn.filter(({ printed }) => !printed).map(({ name }) => name));
  const own = drawn.filter(({ name, printed }) => !printed || !measured.has(name));
  const order = ({ nth }: StyledSeries) => nth ?? drawn.length;
  const keys = own.toSorted((a, b) => order(a) - order(b)).map((of) => keyOf(colors, of));
  const paired = drawn.filter(({ name, printed }) => printed && measured.has(name));
  const signs = new Set(paired.map(({ mark }) => (mark === 'line' ? 'line' : 'dots')));
  return [...keys, ...[...signs].map((mark) => printedKey(colors, mark))];
}

/** The foot of bars on a log axis, which has no 0. */
function foot({ log }: Axis, points: Point[]): number[] {
  const heights = points.flatMap(({ y, of }) => (of.mark === 'bars' && y > 0 ? [y] : []));
  return log && heights.length > 0 ? [Math.min(...heights) / 2] : [];
}

/** Creates the chart of a figure. */
export function figureChart(figure: Figure): ChartSpec {
  const drawn = styledSeries(figure).filter(({ points }) => points.length > 0);
  const points = drawn.flatMap((of) => of.points.map(([x, y]): Point => ({ x, y, of })));
  const [across, up] = [
    measureOf(
      figure.x,
      points.map(({ x }) => x),
      'x',
    ),
    measureOf(figure.y, [...points.map(({ y }) => y), ...foot(figure.y, points)], 'y'),
  ];
  const letters = lettersOf(figure.x.names);
  const lines = figure.x.names.map((name) => wrapped(name, letters).split('\n').length);
  return {
    title: figure.title,
    label: `${figure.title}: ${figure.y.label} against ${figure.x.label}, ${drawn.map(({ name, printed }) => (printed ? `${name} as printed` : name)).join(', ')}.`,
    data: [across.range, up.range] as unknown as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, x: false, y: false },
      scales: { x: { time: false, ...measureScale(across, []) }, y: measureScale(up, []) },
      axes: [
        { ...measureAxis(colors, across, 'x'), size: 14 + 14 * Math.max(1, ...lines) },
        measureAxis(colors, up, 'y'),
      ],
      series: [{}, NOTHING],
      hooks: {
        draw: [
          (u) => {
            within(u, () => {
              for (const of of drawn) paint(u, of, figure, colors);
            });
            frame(u, figure, colors);
          },
        ],
      },
    }),
    tip: (u, left, top) => tipAt(u, points, figure, [left, top]),
    step: (u, from, right, down) => neighbour(u, drawn, from, right, down),
    ...(drawn.length > 1 || drawn.some(({ printed }) => printed)
      ? { keys: (colors: Palette) => keysOf(colors, drawn) }
      : {}),
  };
}

/** The position of a point in CSS pixels, or in pixels of the canvas. */
function placeOf(u: uPlot, { x, y, of }: Point, canvas = false): [number, number] {
  return [u.valToPos(x + of.aside, 'x', canvas), u.valToPos(y, 'y', canvas)];
}

function paint(u: uPlot, of: StyledSeries, figure: Figure, colors: Palette): void {
  const held = of.points.filter(([x, y]) => (!figure.x.log || x > 0) && (!figure.y.log || y > 0));
  const places = held.map(([x, y]) => placeOf(u, { x, y, of }, true));
  if (of.mark === 'bars') paintBars(u, of, places, colors);
  if (of.mark === 'line') paintLine(u, of, places, colors);
  if (of.mark === 'dots' || (of.mark === 'line' && !of.printed && places.length <= FEW)) {
    paintPoints(u, of, places, colors);
  }
}

/** Draws bars from 0, or from the foot of a log axis. */
function paintBars(u: uPlot, of: StyledSeries, places: [number, number][], colors: Palette): void {
  const { ctx } = u;
  const width = 0.9 * of.width * (u.valToPos(1, 'x', true) - u.valToPos(0, 'x', true));
  const { distr, min = 0 } = u.scales.y ?? {};
  const foot = u.valToPos(distr === 3 ? min : 0, 'y', true);
  ctx.fillStyle = fade(colorOf(colors, of), 0.85);
  for (const [x, y] of places) {
    ctx.fillRect(x - width / 2, Math.min(y, foot), width, Math.abs(foot - y));
  }
  ctx.fillStyle = colors.axis;
  ctx.fillRect(u.bbox.left, foot, u.bbox.width, devicePixelRatio);
}

function paintLine(u: uPlot, of: StyledSeries, places: [number, number][], colors: Palette): void {
  const { ctx } = u;
  const color = colorOf(colors, of);
  const dash = dashOf(colors, of) ?? [];
  ctx.lineWidth = (of.printed ? 6 : 1.75) * devicePixelRatio;
  ctx.strokeStyle = of.printed ? fade(color, 0.35) : color;
  ctx.setLineDash(of.printed ? [] : dash.map((part) => part * devicePixelRatio));
  ctx.beginPath();
  places.forEach(([x, y], i) => {
    if (i === 0) ctx.moveTo(x, y);
    else ctx.lineTo(x, y);
  });
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Draws points; printed ones are hollow, so that measured ones show inside. */
function paintPoints(
  u: uPlot,
  of: StyledSeries,
  places: [number, number][],
  colors: Palette,
): void {
  const { ctx } = u;
  const color = colorOf(colors, of);
  const many = places.length > MANY;
  const radius = (of.printed ? 5 : many ? 1.8 : 4) * devicePixelRatio;
  for (const place of places) {
    tracePoint(ctx, many ? 'circle' : shapeOf(of), place, radius);
    if (of.printed) {
      ctx.strokeStyle = of.onBar ? colors.text : color;
      ctx.lineWidth = 1.75 * devicePixelRatio;
      if (of.onBar) {
        ctx.fillStyle = fade(colors.surface, 0.8);
        ctx.fill();
      }
      ctx.stroke();
    } else {
      ctx.fillStyle = many ? fade(color, 0.7) : color;
      ctx.fill();
    }
  }
}

/** Draws the border of the plot, with small ticks between the labels of a log axis. */
function frame(u: uPlot, figure: Figure, colors: Palette): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = colors.axis;
  ctx.lineWidth = devicePixelRatio;
  ctx.strokeRect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.beginPath();
  const tick = 4 * devicePixelRatio;
  for (const value of figure.x.log ? between(u.scales.x) : []) {
    const x = u.valToPos(value, 'x', true);
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x, bbox.top + bbox.height - tick);
  }
  for (const value of figure.y.log ? between(u.scales.y) : []) {
    const y = u.valToPos(value, 'y', true);
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + tick, y);
  }
  ctx.stroke();
  ctx.restore();
}

/** One to nine times each power of ten on a log axis. */
function between(scale: uPlot.Scale | undefined): number[] {
  const [low, high] = [scale?.min ?? 1, scale?.max ?? 1];
  const first = Math.floor(Math.log10(low));
  const decades = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, i) => i);
  return decades
    .flatMap((i) => Array.from({ length: 9 }, (_, n) => (n + 1) * 10 ** (first + i)))
    .filter((value) => value >= low && value <= high);
}

function tipAt(u: uPlot, points: Point[], figure: Figure, at: [number, number]): Tip | null {
  let [best, least]: [Point | undefined, number] = [undefined, NEAR ** 2];
  for (const point of points) {
    const [x, y] = placeOf(u, point);
    const distance = (x - at[0]) ** 2 + (y - at[1]) ** 2;
    // Of points at one position, the last one is drawn on top.
    if (distance <= least) [best, least] = [point, distance];
  }
  if (best === undefined) return null;
  const [left, top] = placeOf(u, best);
  return {
    left,
    top,
    title: best.of.printed ? `${best.of.name}, printed` : best.of.name,
    rows: [
      [figure.x.label, figure.x.names[best.x] ?? short(best.x)],
      [figure.y.label, short(best.y)],
    ],
  };
}

/**
 * The next position of the keyboard cursor: the previous or next point of the series, or the nearest point of
 * the previous or next series. Starts at the first point.
 */
function neighbour(
  u: uPlot,
  drawn: StyledSeries[],
  from: Place | null,
  right: number,
  down: number,
): Place | null {
  const rows = drawn.map((of) => of.points.map(([x, y]) => placeOf(u, { x, y, of })));
  const at = (row: number, i: number): Place | null => {
    const place = rows[row]?.[i];
    return place === undefined ? null : { left: place[0], top: place[1] };
  };
  if (from === null) return at(0, 0);
  const away = ([x, y]: [number, number]) => Math.hypot(x - from.left, y - from.top);
  const nearest = (row: [number, number][]) =>
    row.reduce((best, place, i) => (away(place) < away(row[best] ?? place) ? i : best), 0);
  const row = rows.findIndex((places) => places.some((place) => away(place) < 1));
  if (row < 0) return at(0, 0);
  if (down !== 0) {
    const next = Math.min(rows.length - 1, Math.max(0, row + down));
    return at(next, nearest(rows[next] ?? []));
  }
  const places = rows[row] ?? [];
  return at(row, Math.min(places.length - 1, Math.max(0, nearest(places) + right)));
}
