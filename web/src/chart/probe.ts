// The charts of a probe's signals: points or lines with marks.
import type uPlot from 'uplot';
import type { Mark, Signal } from '../data/probe.gen';
import { MISSING, short } from '../format';
import { within } from './marks';
import { type Measure, measureAxis, measureScale, roundNumbers } from './measure';
import { fade, type Palette } from './palette';
import { type ChartSpec, common, type Tip } from './spec';

/** The distance from a point within which the pointer shows its tip, in CSS pixels. */
const NEAR = 40;

interface Point {
  x: number;
  y: number;
  series: number;
}

/** The points of all series that have a position on the horizontal axis, in its order. */
function pointsOf(signal: Signal): Point[] {
  const all = signal.series.flatMap(({ points }, series) =>
    points.map(([x, y]): Point => ({ x, y, series })),
  );
  return all.filter(({ x }) => !signal.log_x || x > 0).sort((a, b) => a.x - b.x);
}

/** The range of some values and 0, with room above for `lines` lines of text. */
function spanOf(values: number[], lines: number): [number, number] {
  const low = values.reduce((a, b) => Math.min(a, b), 0);
  const high = values.reduce((a, b) => Math.max(a, b), 0);
  const room = 0.04 * (high - low) || 1;
  return [low < 0 ? low - room : 0, high + room * (1 + 2 * lines)];
}

/** The horizontal axis, which holds all points and all marks. */
function acrossOf(signal: Signal, points: Point[]): Measure {
  const measure: Measure = { title: signal.x, write: short, log: signal.log_x };
  const places = [...points.map(({ x }) => x), ...signal.marks.map(({ x }) => x)];
  const [low, high] = [Math.min(...places), Math.max(...places)];
  // A log axis derives its range from its values.
  if (signal.log_x) return { ...measure, ticks: roundNumbers };
  if (!Number.isFinite(low)) return measure;
  const room = 0.02 * (high - low) || 1;
  return { ...measure, range: [low - room, high + room] };
}

const colorOf = (colors: Palette, series: number) =>
  colors.results[series % colors.results.length] ?? colors.text;

/** The maximum number of lines of mark labels. */
const LINES = 4;

/** The first mark of each label; further marks of the same label have no text. */
const labelled = (marks: Mark[]): Mark[] =>
  marks.filter(({ label }, i) => marks.findIndex((mark) => mark.label === label) === i);

/** Draws a labelled line at each mark. */
function drawMarks(u: uPlot, marks: Mark[], colors: Palette): void {
  const { ctx, bbox } = u;
  within(u, () => {
    ctx.strokeStyle = fade(colors.text, 0.7);
    ctx.fillStyle = colors.text;
    ctx.lineWidth = devicePixelRatio;
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const { x } of marks) {
      const at = u.valToPos(x, 'x', true);
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.setLineDash([]);
    labelled(marks).forEach(({ x, label }, i) => {
      const at = u.valToPos(x, 'x', true);
      const left = at > bbox.left + 0.7 * bbox.width;
      ctx.textAlign = left ? 'right' : 'left';
      const gap = (left ? -4 : 4) * devicePixelRatio;
      // The labels of neighbouring marks are on different lines.
      ctx.fillText(label, at + gap, bbox.top + (12 + 13 * (i % LINES)) * devicePixelRatio);
    });
  });
}

/** The point nearest to a position, if one is within reach. */
function nextTo(u: uPlot, points: Point[], left: number, top: number): Point | undefined {
  let [best, least]: [Point | undefined, number] = [undefined, NEAR ** 2];
  for (const point of points) {
    const across = u.valToPos(point.x, 'x') - left;
    const distance = across ** 2 + (u.valToPos(point.y, 'y') - top) ** 2;
    if (distance < least) [best, least] = [point, distance];
  }
  return best;
}

/**
 * The style of the n-th series. Series on the same points stay visible: later lines have shorter dashes,
 * and later points are smaller.
 */
function look(colors: Palette, shape: Signal['shape'], n: number, of: number): uPlot.Series {
  const color = colorOf(colors, n);
  if (shape === 'line') {
    const dash = n === 0 ? [] : [8 / n, 5];
    return { stroke: color, width: 1.5, dash, spanGaps: true, points: { show: false } };
  }
  const size = 4 + 2 * (of - 1 - n);
  const points = { show: true, size, width: 0, fill: color, stroke: color };
  return { stroke: color, paths: () => null, points };
}

/** Creates the chart of a signal. */
export function signalChart(full: Signal): ChartSpec {
  const signal = { ...full, series: full.series.filter(({ points }) => points.length > 0) };
  const points = pointsOf(signal);
  const across = acrossOf(signal, points);
  const xs = points.map(({ x }) => x);
  const lines = Math.min(LINES, labelled(signal.marks).length);
  const up: Measure = {
    title: signal.y,
    write: short,
    range: spanOf(
      points.map(({ y }) => y),
      lines,
    ),
  };
  const column = (series: number) =>
    points.map((point) => (point.series === series ? point.y : null));
  const marked = signal.log_x ? signal.marks.map(({ x }) => x) : [];
  const tip = (u: uPlot, left: number, top: number): Tip | null => {
    const point = nextTo(u, points, left, top);
    if (point === undefined) return null;
    return {
      left: u.valToPos(point.x, 'x'),
      top: u.valToPos(point.y, 'y'),
      title: signal.series[point.series]?.name ?? MISSING,
      rows: [
        [signal.x, short(point.x)],
        [signal.y, short(point.y)],
      ],
    };
  };
  return {
    label: `${signal.title}: ${signal.y} against ${signal.x}.`,
    title: signal.title,
    data: [xs, ...signal.series.map((_, i) => column(i))] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { points: { show: false }, drag: { x: false, y: false }, y: false },
      scales: {
        x: { time: false, ...measureScale(across, [...xs, ...marked]) },
        y: measureScale(up, []),
      },
      axes: [measureAxis(colors, across, 'x'), measureAxis(colors, up, 'y')],
      series: [
        {},
        ...signal.series.map((_, i) => look(colors, signal.shape, i, signal.series.length)),
      ],
      hooks: { draw: [(u) => drawMarks(u, signal.marks, colors)] },
    }),
    tip,
    ...(signal.series.length > 1
      ? {
          keys: (colors: Palette) =>
            signal.series.map(({ name }, i) => ({ name, color: colorOf(colors, i) })),
        }
      : {}),
  };
}
