// The IOs of a run: response times, or addresses, against time or position.
import type uPlot from 'uplot';
import { ioIgnore, periodOf, type RunView, type Stretch, stretches } from '../data/model';
import type { Outline } from '../data/views.gen';
import { bytes, count, exactTime, parameter, time } from '../format';
import { timeSpan } from './axes';
import { fade, type Palette } from './palette';
import { axis, type ChartSpec, common, type Tip, timeAxis } from './spec';

/** What the horizontal axis counts. */
export type Horizontal = 'index' | 'time';

/** How a scatter plot is drawn. */
export interface ScatterOptions {
  x: Horizontal;
  /** The span of response times, where several plots share it. */
  span?: [number, number];
  /** Without axis titles, lines and tips. */
  small?: boolean;
}

/** The operations by their codes in the records. */
const OPS = ['read', 'write', 'trim', 'flush'];

/** Of the vertical axes, the same so that the plots of a run stand in line. */
const WIDTH = 62;

const BINARY_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** The columns of a plot, with the IOs in the order of the horizontal axis. */
function columns(outline: Outline, x: Horizontal, y: number[], ignore: number) {
  const xs = x === 'index' ? outline.index : outline.submitted_ns;
  const order = xs.map((_, i) => i).sort((a, b) => (xs[a] ?? 0) - (xs[b] ?? 0));
  const isIgnored = (i: number) => (outline.index[i] ?? 0) < ignore;
  const isFailed = (i: number) => outline.errno[i] !== 0;
  const only = (keep: (i: number) => boolean) =>
    order.map((i) => (keep(i) ? (y[i] ?? null) : null));
  return {
    order,
    data: [
      order.map((i) => xs[i] ?? 0),
      only((i) => !isFailed(i) && isIgnored(i)),
      only((i) => !isFailed(i) && !isIgnored(i) && outline.op[i] === 0),
      only((i) => !isFailed(i) && !isIgnored(i) && outline.op[i] === 1),
      only((i) => !isFailed(i) && !isIgnored(i) && (outline.op[i] ?? 0) > 1),
      only(isFailed),
    ] as uPlot.AlignedData,
  };
}

function dots(colors: Palette, size: number): uPlot.Series[] {
  const dot = (color: string, size: number): uPlot.Series => ({
    stroke: color,
    paths: () => null,
    points: { show: true, size, width: 0, fill: color },
  });
  const shown = [colors.ignored, colors.read, colors.write, colors.other.color];
  return [{}, ...shown.map((color) => dot(color, size)), dot(colors.failed, 2.5 * size)];
}

function horizontalAxis(colors: Palette, { x, small }: ScatterOptions): uPlot.Axis {
  const title = x === 'index' ? 'position of the IO in the run' : 'time of submission';
  return {
    ...axis(colors, small ? undefined : title),
    size: small ? 26 : 30,
    space: small ? 56 : 72,
    values: (_u, splits) => splits.map((v) => (x === 'index' ? count(v) : exactTime(v))),
  };
}

/** The IO nearest to a place of the plot, where one is near. */
function nearestIo(
  u: uPlot,
  left: number,
  top: number,
): { k: number; left: number; top: number } | null {
  let best: { k: number; left: number; top: number } | null = null;
  let least = 20 ** 2;
  const [xs, ...ys] = u.data;
  for (const [k, x] of xs.entries()) {
    const y = ys.map((column) => column[k]).find((v) => v != null);
    if (y == null) continue;
    const at = { k, left: u.valToPos(x, 'x'), top: u.valToPos(y, 'y') };
    const distance = (at.left - left) ** 2 + (at.top - top) ** 2;
    if (distance < least) [best, least] = [at, distance];
  }
  return best;
}

function ioTip(view: RunView, outline: Outline, order: number[]) {
  const ignore = ioIgnore(view.run.reference);
  return (u: uPlot, left: number, top: number): Tip | null => {
    const near = nearestIo(u, left, top);
    const i = near === null ? undefined : order[near.k];
    if (near === null || i === undefined) return null;
    const index = outline.index[i] ?? 0;
    return {
      left: near.left,
      top: near.top,
      title: `${OPS[outline.op[i] ?? 0]} ${count(index)}${index < ignore ? ', left out' : ''}${outline.errno[i] !== 0 ? `, failed with errno ${outline.errno[i]}` : ''}`,
      rows: [
        ['response time', time(outline.latency_ns[i])],
        ['submitted at', time(outline.submitted_ns[i])],
        ['offset', count(outline.offset_bytes[i])],
      ],
    };
  };
}

/** From 0 on, whatever the first IO shown, until the reader zooms in. */
const fromZero: uPlot.Scale = {
  time: false,
  range: (u, low, high) => [low === u.data[0][0] ? 0 : low, Math.max(high, low + 1)],
};

const cursor: uPlot.Cursor = { points: { show: false }, drag: { x: true, y: false } };

/** Response times of the IOs of a run. */
export function responseScatter(
  view: RunView,
  outline: Outline,
  options: ScatterOptions,
): ChartSpec {
  const ignore = ioIgnore(view.run.reference);
  const { order, data } = columns(
    outline,
    options.x,
    outline.latency_ns.map((ns) => Math.max(1, ns)),
    ignore,
  );
  const latency = view.facts?.latency_ns;
  const span = options.span ?? timeSpan(outline.latency_ns);
  const shown =
    outline.index.length < outline.ios
      ? `${count(outline.index.length)} of ${count(outline.ios)}`
      : count(outline.ios);
  return {
    label: `Response times of ${shown} IOs of ${view.experiment.name} against ${options.x === 'index' ? 'their position' : 'time'}: from ${time(latency?.min)} to ${time(latency?.max)}, mean ${time(latency?.mean.value)}.`,
    data,
    options: (colors) => ({
      ...common,
      cursor: options.small ? { show: false } : cursor,
      scales: { x: fromZero, y: { distr: 3, log: 10, range: () => span } },
      axes: [
        horizontalAxis(colors, options),
        { ...timeAxis(colors), size: options.small ? 50 : WIDTH },
      ],
      series: dots(colors, options.small ? 2.5 : 4),
      hooks: {
        drawClear: [(u) => background(u, view, outline, options, colors)],
        ...(options.small ? {} : { draw: [(u) => levels(u, view, colors)] }),
      },
    }),
    ...(options.small ? {} : { tip: ioTip(view, outline, order) }),
  };
}

/** Lines for the period of a run are drawn where they are at least so far apart, in CSS pixels. */
const LEAST_PERIOD = 5;

/** What lies behind the IOs: what stands out of the run, and its period. */
function background(
  u: uPlot,
  view: RunView,
  outline: Outline,
  options: ScatterOptions,
  colors: Palette,
): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const found = stretches(view);
  const start = found.find(({ kind }) => kind === 'start-up')?.to ?? 0;
  if (options.x === 'index') periodLines(u, start, view, colors);
  for (const stretch of found) shade(u, stretch, outline, options, colors);
  ctx.restore();
}

function periodLines(u: uPlot, start: number, view: RunView, colors: Palette): void {
  const { ctx, bbox } = u;
  const period = periodOf(view);
  const [low, high] = [u.scales.x?.min ?? 0, u.scales.x?.max ?? 0];
  if (
    period === undefined ||
    (period / (high - low)) * bbox.width < LEAST_PERIOD * devicePixelRatio
  )
    return;
  ctx.strokeStyle = fade(colors.text, 0.45);
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  const first = start + Math.max(0, Math.ceil((low - start) / period)) * period;
  for (let at = first; at <= high; at += period) {
    const x = u.valToPos(at, 'x', true);
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

function shade(
  u: uPlot,
  { kind, name, from, to }: Stretch,
  outline: Outline,
  { x, small }: ScatterOptions,
  colors: Palette,
): void {
  const { ctx, bbox } = u;
  const place = (index: number) => {
    if (x === 'index') return u.valToPos(index, 'x', true);
    const next = outline.index.findIndex((shown) => shown >= index);
    return next < 0
      ? bbox.left + bbox.width
      : u.valToPos(index === 0 ? 0 : (outline.submitted_ns[next] ?? 0), 'x', true);
  };
  const [left, right] = [place(from), place(to)];
  const color = kind === 'affected' ? colors.write : colors.ignored;
  ctx.fillStyle = fade(color, 0.2);
  ctx.fillRect(left, bbox.top, Math.max(right - left, devicePixelRatio), bbox.height);
  ctx.fillStyle = fade(color, 0.8);
  for (const edge of from > 0 ? [left, right] : [right]) {
    ctx.fillRect(edge, bbox.top, devicePixelRatio, bbox.height);
  }
  if (small || right < bbox.left || left > bbox.left + bbox.width) return;
  ctx.font = `600 ${10.5 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.fillStyle = colors.text;
  const inside = right - left > ctx.measureText(name).width + 10 * devicePixelRatio;
  const at = inside ? Math.max(left, bbox.left) : right;
  ctx.fillText(name, at + 5 * devicePixelRatio, bbox.top + 13 * devicePixelRatio);
}

/** Lines at the mean, the median and the 99th percentile. */
function levels(u: uPlot, view: RunView, colors: Palette): void {
  const latency = view.facts?.latency_ns;
  if (latency === undefined) return;
  const { ctx, bbox } = u;
  const lines: [string, number, number[]][] = [
    ['p50', latency.p50, [2, 3]],
    ['mean', latency.mean.value, []],
    ['p99', latency.p99, [6, 3]],
  ];
  ctx.save();
  ctx.font = `600 ${10.5 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'right';
  let last = Number.POSITIVE_INFINITY;
  for (const [name, ns, dash] of lines.sort((a, b) => a[1] - b[1])) {
    const y = u.valToPos(Math.max(1, ns), 'y', true);
    ctx.strokeStyle = colors.text;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash(dash.map((n) => n * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    // A label that would lie on the one below goes above it.
    const label = Math.min(y - 5 * devicePixelRatio, last - 15 * devicePixelRatio);
    const words = `${name} ${time(ns)}`;
    const [pad, height] = [4 * devicePixelRatio, 13 * devicePixelRatio];
    const right = bbox.left + bbox.width - 6 * devicePixelRatio;
    const width = ctx.measureText(words).width;
    ctx.fillStyle = fade(colors.surface, 0.88);
    ctx.fillRect(
      right - width - pad,
      label - height + 3 * devicePixelRatio,
      width + 2 * pad,
      height,
    );
    ctx.fillStyle = colors.text;
    ctx.fillText(words, right, label);
    last = label;
  }
  ctx.restore();
}

/** Addresses of the IOs of a run. */
export function addressScatter(
  view: RunView,
  outline: Outline,
  options: ScatterOptions,
): ChartSpec {
  const ignore = ioIgnore(view.run.reference);
  const { order, data } = columns(outline, options.x, outline.offset_bytes, ignore);
  return {
    label: `Offsets of the same IOs against ${options.x === 'index' ? 'their position' : 'time'}.`,
    data,
    options: (colors) => ({
      ...common,
      cursor,
      scales: { x: fromZero, y: {} },
      axes: [
        horizontalAxis(colors, options),
        {
          ...axis(colors),
          scale: 'y',
          size: WIDTH,
          incrs: BINARY_STEPS,
          values: (_u, splits) => splits.map((v) => parameter(v, 'bytes')),
        },
      ],
      series: dots(colors, 3.5),
    }),
    tip: ioTip(view, outline, order),
  };
}

/** How much of the drive an address plot covers, in words. */
export function covered(outline: Outline): string {
  const offsets = outline.offset_bytes;
  if (offsets.length === 0) return '';
  const [low, high] = offsets.reduce(
    ([a, b], o) => [Math.min(a, o), Math.max(b, o)],
    [offsets[0] ?? 0, 0],
  );
  return `${bytes(low)} to ${bytes(high)}`;
}
