// The IOs of a run: response times, or addresses, against time or position.
import type uPlot from 'uplot';
import { ioIgnore, type RunView } from '../data/model';
import type { Outline } from '../data/views.gen';
import { bytes, count, exactTime, parameter, time } from '../format';
import { timeSpan } from './axes';
import { drawBehind, drawLevels, levelsOf } from './marks';
import type { Palette } from './palette';
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
        ...(options.small ? {} : { draw: [(u) => drawLevels(u, levelsOf(view), colors)] }),
      },
    }),
    ...(options.small ? {} : { tip: ioTip(view, outline, order) }),
  };
}

/** What lies behind the IOs. */
function background(
  u: uPlot,
  view: RunView,
  outline: Outline,
  options: ScatterOptions,
  colors: Palette,
): void {
  const at = (index: number) => {
    if (options.x === 'index' || index === 0) return index;
    const next = outline.index.findIndex((shown) => shown >= index);
    return next < 0 ? Number.POSITIVE_INFINITY : (outline.submitted_ns[next] ?? 0);
  };
  drawBehind(u, view, at, { period: options.x === 'index', names: !options.small }, colors);
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
