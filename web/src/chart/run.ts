// The zoomable charts of a run, by response time and by address, drawn from the loaded pieces.
import type uPlot from 'uplot';
import {
  convert,
  type Dots,
  firstAt,
  type Horizontal,
  KINDS,
  type Kind,
  type Line,
  meansOf,
  pieceOf,
} from '../data/dots';
import { ioIgnore, type RunView } from '../data/model';
import type { Outline } from '../data/views.gen';
import { Windows } from '../data/windows.svelte';
import { count, counted, exactTime, opName, sizeLabels, time } from '../format';
import { ioHref } from '../route';
import { COUNT_STEPS, timeSpan } from './axes';
import { drawBehind, drawLevels, type Level, levelsOf, within } from './marks';
import type { Palette } from './palette';
import {
  axis,
  type ChartSpec,
  common,
  type Key,
  NOTHING,
  type Place,
  POINTER,
  type Tip,
  timeAxis,
} from './spec';
import { Zoom } from './zoom.svelte';

/** The content of a run's charts. */
export interface RunScene {
  view: RunView;
  windows: Windows<Dots>;
  zoom: Zoom;
  x: Horizontal;
  /** The range of response times in ns, if several charts share it. */
  span?: [number, number];
  /** True to draw the running means. */
  means: boolean;
  /** True for a chart without axis titles, levels and names. */
  small?: boolean;
  /** IOs to circle. */
  circled?: CircledIo[] | undefined;
  /** The address of an IO. */
  href(index: number): string;
}

/** An IO to circle in the charts of its run. */
export interface CircledIo {
  index: number;
  submitted: number;
  latency: number;
  offset: number;
}

/** The width of vertical axes in CSS pixels; a common width aligns the charts of a run. */
export const WIDTH = 74;

const BINARY_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** The pieces in view, each with the range of the axis that it covers. */
function partsOf({ windows, zoom, x }: RunScene): { dots: Dots; from: number; to: number }[] {
  const [first, last] = positions(windows, zoom, x);
  return windows.over(first, last).map(({ from, to, piece }) => ({
    dots: piece.data,
    from: x === 'index' ? from : convert(windows, from, 'index', 'time'),
    to: x === 'index' ? to : convert(windows, to, 'index', 'time'),
  }));
}

/** The positions of the IOs in view; those of times are approximate, with one more at each end. */
export function positions(windows: Windows<Dots>, zoom: Zoom, x: Horizontal): [number, number] {
  if (x === 'index') return [zoom.from, zoom.to];
  const [from, to] = [zoom.from, zoom.to].map((at) => convert(windows, at, 'time', 'index')) as [
    number,
    number,
  ];
  return [Math.max(0, from - 1), Math.min(windows.total, Math.max(to, from) + 1)];
}

/** Calls `visit` for every dot from `low` to `high`: its index in `dots`, its position on the axis, its kind. */
function each(
  scene: RunScene,
  low: number,
  high: number,
  visit: (dots: Dots, i: number, at: number, kind: number) => void,
): void {
  const parts = partsOf(scene);
  for (const [k, { dots, from, to }] of parts.entries()) {
    const { at, order, kind } = dots.rows[scene.x];
    const begin = firstAt(at, k === 0 ? low : Math.max(low, from));
    const end = firstAt(at, k === parts.length - 1 ? high : Math.min(high, to));
    for (let n = begin; n < end; n++) visit(dots, order[n] ?? 0, at[n] ?? 0, kind[n] ?? 0);
  }
}

const colorOf = (colors: Palette, kind: Kind) =>
  kind === 'other' ? colors.other.color : colors[kind];

/** The size of dots in CSS pixels: the fewer there are, the larger they are. */
function sizeOf(dots: number): number {
  if (dots > 1500) return 2.5;
  return dots > 300 ? 3.5 : 5;
}

/** Draws the dots in view. */
function paint(
  u: uPlot,
  scene: RunScene,
  y: (dots: Dots, i: number) => number,
  colors: Palette,
): void {
  const { ctx } = u;
  const places: number[][] = KINDS.map(() => []);
  const [low, high] = [scene.zoom.from, scene.zoom.to];
  let all = 0;
  each(scene, low - (high - low) / 100, high + (high - low) / 100, (dots, i, at, kind) => {
    all += 1;
    places[kind]?.push(u.valToPos(at, 'x', true), u.valToPos(y(dots, i), 'y', true));
  });
  const size = sizeOf(all) * devicePixelRatio;
  within(u, () => {
    for (const [kind, at] of places.entries()) {
      const name = KINDS[kind] ?? 'other';
      ctx.fillStyle = colorOf(colors, name);
      const side = name === 'failed' ? 2.2 * size : size;
      if (all > 300) squares(ctx, at, Math.round(side));
      else circles(ctx, at, side / 2);
    }
  });
}

/** Draws squares, which are faster to draw than circles and look the same among many. */
function squares(ctx: CanvasRenderingContext2D, at: number[], side: number): void {
  const half = side / 2;
  for (let i = 0; i < at.length; i += 2) {
    ctx.fillRect(Math.round((at[i] ?? 0) - half), Math.round((at[i + 1] ?? 0) - half), side, side);
  }
}

/** The number of circled IOs above which the circles are small. */
const MANY = 200;

/** Circles IOs in view. */
function circle(u: uPlot, scene: RunScene, y: (io: CircledIo) => number, colors: Palette): void {
  const { x, zoom, circled = [] } = scene;
  const path = new Path2D();
  const fine = circled.length > MANY;
  const radius = (fine ? 3.5 : 6) * devicePixelRatio;
  for (const io of circled) {
    const at = x === 'index' ? io.index : io.submitted;
    if (at < zoom.from || at > zoom.to) continue;
    const [left, top] = [u.valToPos(at, 'x', true), u.valToPos(y(io), 'y', true)];
    path.moveTo(left + radius, top);
    path.arc(left, top, radius, 0, 2 * Math.PI);
  }
  within(u, () => {
    u.ctx.strokeStyle = colors.surface;
    u.ctx.lineWidth = (fine ? 2.4 : 4) * devicePixelRatio;
    u.ctx.stroke(path);
    u.ctx.strokeStyle = colors.text;
    u.ctx.lineWidth = (fine ? 1 : 1.6) * devicePixelRatio;
    u.ctx.stroke(path);
  });
}

function circles(ctx: CanvasRenderingContext2D, at: number[], radius: number): void {
  const path = new Path2D();
  for (let i = 0; i < at.length; i += 2) {
    path.moveTo((at[i] ?? 0) + radius, at[i + 1] ?? 0);
    path.arc(at[i] ?? 0, at[i + 1] ?? 0, radius, 0, 2 * Math.PI);
  }
  ctx.fill(path);
}

/** Draws the running means from the outline of the whole run, which is fine enough for smooth curves. */
function paintMeans(u: uPlot, { windows, x }: RunScene, colors: Palette): void {
  const whole = windows.pieces.at(-1)?.data;
  const means = whole === undefined ? undefined : meansOf(whole, x);
  if (means === undefined) return;
  within(u, () => {
    const draw = ({ at, mean }: Line, color: string, dash: number[]) => {
      const path = new Path2D();
      let points = 0;
      for (const [n, value] of mean.entries()) {
        if (value === null) continue;
        const left = u.valToPos(at[n] ?? 0, 'x', true);
        const top = u.valToPos(Math.max(1, value), 'y', true);
        if (points++ === 0) path.moveTo(left, top);
        else path.lineTo(left, top);
      }
      if (points > 1) stroke(u.ctx, path, color, colors.surface, dash);
    };
    draw(means.all, colors.text, []);
    draw(means.late, colors.average, [6, 3]);
  });
}

/** Draws a line with an outline, which sets it off from dots. */
function stroke(
  ctx: CanvasRenderingContext2D,
  path: Path2D,
  color: string,
  around: string,
  dash: number[],
): void {
  ctx.strokeStyle = around;
  ctx.lineWidth = 4.5 * devicePixelRatio;
  ctx.stroke(path);
  ctx.strokeStyle = color;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.setLineDash(dash.map((n) => n * devicePixelRatio));
  ctx.stroke(path);
  ctx.setLineDash([]);
}

/** True if the source provides running means. */
export const hasMeans = (windows: Windows<Dots>) =>
  windows.pieces.at(-1)?.data.outline.running_means != null;

/** The dot nearest to a position of the plot, if one is within reach. */
function nearest(
  u: uPlot,
  scene: RunScene,
  y: (dots: Dots, i: number) => number,
  left: number,
  top: number,
) {
  const reach = 24;
  let best: { dots: Dots; i: number; left: number; top: number } | undefined;
  let least = reach ** 2;
  each(scene, u.posToVal(left - reach, 'x'), u.posToVal(left + reach, 'x'), (dots, i, at) => {
    const place = { left: u.valToPos(at, 'x'), top: u.valToPos(y(dots, i), 'y') };
    const distance = (place.left - left) ** 2 + (place.top - top) ** 2;
    if (distance < least) [best, least] = [{ dots, i, ...place }, distance];
  });
  return best;
}

function tipOf(scene: RunScene, y: (dots: Dots, i: number) => number) {
  const ignore = ioIgnore(scene.view.run.reference);
  return (u: uPlot, left: number, top: number): Tip | null => {
    const near = nearest(u, scene, y, left, top);
    if (near === undefined) return null;
    const { outline } = near.dots;
    const { i } = near;
    const index = outline.index[i] ?? 0;
    const failed = outline.errno[i] !== 0 ? `, failed with errno ${outline.errno[i]}` : '';
    return {
      left: near.left,
      top: near.top,
      title: `${opName(outline.op[i])} ${count(index)}${index < ignore ? ', excluded' : ''}${failed}`,
      rows: [
        ['response time', time(outline.latency_ns[i])],
        ['submitted at', time(outline.submitted_ns[i])],
        ['offset', count(outline.offset_bytes[i])],
        ...meansAt(scene, index),
      ],
      href: scene.href(index),
      target: 'IO',
    };
  };
}

/** The running means at the first known point at or after an IO. */
function meansAt({ windows }: RunScene, position: number): [string, string][] {
  const means = windows.pieces.at(-1)?.data.outline.running_means;
  if (means == null) return [];
  const point = firstAt(Float64Array.from(means.index), position);
  const [all, late] = [means.all_ns[point], means.after_start_up_ns[point]];
  return [
    ...(all == null ? [] : [['mean up to here', time(all)] as [string, string]]),
    ...(late == null ? [] : [['without start-up', time(late)] as [string, string]]),
  ];
}

/** The steps of the arrow keys: across to the next dot, up and down to the next dot nearby. */
function stepOf(scene: RunScene, y: (dots: Dots, i: number) => number) {
  return (u: uPlot, from: Place | null, across: number, down: number): Place | null => {
    const [low, high] = [scene.zoom.from, scene.zoom.to];
    const start = from === null ? low : u.posToVal(from.left, 'x');
    const reach = across === 0 ? 12 * (u.posToVal(1, 'x') - u.posToVal(0, 'x')) : high - low;
    let best: Place | null = null;
    let least = Number.POSITIVE_INFINITY;
    each(scene, Math.max(low, start - reach), Math.min(high, start + reach), (dots, i, at) => {
      const place = { left: u.valToPos(at, 'x'), top: u.valToPos(y(dots, i), 'y') };
      const way =
        from === null
          ? place.left
          : across !== 0
            ? (place.left - from.left) * across
            : (place.top - from.top) * down;
      if (way > (from === null ? -1 : 0.01) && way < least) [best, least] = [place, way];
    });
    return best;
  };
}

function horizontalAxis(colors: Palette, { x, small }: RunScene): uPlot.Axis {
  const title = x === 'index' ? 'position of the IO in the run' : 'time of submission';
  return {
    ...axis(colors, small ? undefined : title),
    size: small ? 26 : 30,
    space: small ? 56 : 84,
    incrs: COUNT_STEPS,
    values: (_u, splits) => splits.map((v) => (x === 'index' ? count(v) : exactTime(v))),
  };
}

/** The legend of a run's dots. */
export function runKeys(colors: Palette, windows: Windows<Dots>, ignored: number): Key[] {
  const whole = windows.pieces.at(-1)?.data.outline;
  if (whole === undefined) return [];
  const present = (op: (code: number) => boolean) => whole.op.some(op);
  return [
    { name: 'read', color: colors.read, present: present((op) => op === 0) },
    { name: 'write', color: colors.write, present: present((op) => op === 1) },
    { name: 'trim or flush', color: colors.other.color, present: present((op) => op > 1) },
    { name: `excluded (the first ${count(ignored)})`, color: colors.ignored, present: ignored > 0 },
    { name: 'failed', color: colors.failed, present: whole.errno.some((e) => e !== 0) },
  ]
    .filter((key) => key.present)
    .map(({ name, color }) => ({ name, color }));
}

/** The legend of the running means. */
export const meanKeys = (colors: Palette): Key[] => [
  { name: 'running mean', color: colors.text },
  { name: 'running mean without the start-up', color: colors.average },
];

const latencyOf = ({ outline }: Dots, i: number) => Math.max(1, outline.latency_ns[i] ?? 1);
const offsetOf = ({ outline }: Dots, i: number) => outline.offset_bytes[i] ?? 0;

/** The common parts of both charts of a run. */
function chart(
  scene: RunScene,
  y: (dots: Dots, i: number) => number,
  span: readonly [number, number],
): Pick<ChartSpec, 'data' | 'tip' | 'step' | 'keys'> {
  const ignored = ioIgnore(scene.view.run.reference);
  return {
    data: [[...scene.zoom.whole], [...span]] as uPlot.AlignedData,
    tip: tipOf(scene, y),
    step: stepOf(scene, y),
    keys: (colors) => runKeys(colors, scene.windows, ignored),
  };
}

const scaleOf = (zoom: Zoom): uPlot.Scale => ({
  time: false,
  range: () => [zoom.from, zoom.to],
});

/** Creates the chart of a run's response times. */
export function runChart(scene: RunScene): ChartSpec {
  const { view, windows, x } = scene;
  const latency = view.facts?.latency_ns;
  const whole = windows.pieces.at(-1)?.data.outline;
  const span = scene.span ?? timeSpan(whole?.latency_ns ?? []);
  const levels: Level[] = scene.means
    ? levelsOf(view).filter(([n]) => n !== 'mean')
    : levelsOf(view);
  const position = (index: number) => convert(windows, index, 'index', x);
  const base = chart(scene, latencyOf, span);
  return {
    ...base,
    title: `Response times of ${view.experiment.name}, run ${view.run.id}`,
    label: `Response times of ${counted(windows.total, 'IO')} of ${view.experiment.name} against ${x === 'index' ? 'their position' : 'time'}: from ${time(latency?.min)} to ${time(latency?.max)}, mean ${time(latency?.mean.value)}.`,
    keys: (colors) => [...(base.keys?.(colors) ?? []), ...(scene.means ? meanKeys(colors) : [])],
    options: (colors) => ({
      ...common,
      cursor: POINTER,
      scales: { x: scaleOf(scene.zoom), y: { distr: 3, log: 10, range: () => span } },
      axes: [
        horizontalAxis(colors, scene),
        { ...timeAxis(colors), size: scene.small ? 50 : WIDTH },
      ],
      series: [{}, NOTHING],
      hooks: {
        drawClear: [
          (u) => {
            const marks = { period: x === 'index', names: !scene.small };
            drawBehind(u, view, position, marks, colors);
          },
        ],
        draw: [
          (u) => {
            paint(u, scene, latencyOf, colors);
            circle(u, scene, ({ latency }) => Math.max(1, latency), colors);
            if (scene.means) paintMeans(u, scene, colors);
            if (!scene.small) drawLevels(u, levels, colors);
          },
        ],
      },
    }),
  };
}

/** Creates the chart of a run's addresses. */
export function addressChart(scene: RunScene): ChartSpec {
  const { windows, x, view } = scene;
  const offsets = windows.pieces.at(-1)?.data.outline.offset_bytes ?? [0];
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const offset of offsets) [low, high] = [Math.min(low, offset), Math.max(high, offset)];
  const room = Math.max(4096, (high - low) * 0.03);
  const span = [Math.max(0, low - room), high + room] as const;
  return {
    ...chart(scene, offsetOf, span),
    title: `Addresses of ${view.experiment.name}, run ${view.run.id}`,
    label: `Offsets of the run's IOs against ${x === 'index' ? 'their position' : 'time'}.`,
    options: (colors) => ({
      ...common,
      cursor: POINTER,
      scales: { x: scaleOf(scene.zoom), y: { range: () => [span[0], span[1]] } },
      axes: [
        horizontalAxis(colors, scene),
        {
          ...axis(colors),
          scale: 'y',
          size: WIDTH,
          incrs: BINARY_STEPS,
          values: (_u, splits) => sizeLabels(splits),
        },
      ],
      series: [{}, NOTHING],
      hooks: {
        draw: [
          (u) => {
            paint(u, scene, offsetOf, colors);
            circle(u, scene, ({ offset }) => offset, colors);
          },
        ],
      },
    }),
  };
}

/** Creates the chart of a run's response times without zoom. */
export function stillRun(
  view: RunView,
  whole: Outline,
  options: { span: [number, number]; small?: boolean },
): ChartSpec {
  const windows = new Windows<Dots>(whole.ios, () =>
    Promise.reject(new Error('this chart has no zoom')),
  );
  windows.add(pieceOf(whole, 0, whole.ios, ioIgnore(view.run.reference)));
  const zoom = new Zoom([0, whole.ios], 1);
  const href = (index: number) => ioHref(view.result, view.run.id, index);
  return runChart({ view, windows, zoom, x: 'index', means: false, href, ...options });
}
