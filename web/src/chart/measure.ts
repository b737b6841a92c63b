// Measures: the format, the ticks and the range of an axis.
import type uPlot from 'uplot';
import { axisTimes, bytes, distinctLabels, longTime, short } from '../format';
import type { Palette } from './palette';
import { axis } from './spec';

/** The quantity on an axis. */
export interface Measure {
  title?: string;
  write(value: number): string;
  /** The labels of all ticks together, if `write` cannot format each alone. */
  labels?: (values: number[]) => string[];
  /** The ticks, if uPlot's own ticks do not fit. */
  ticks?: (low: number, high: number, most: number) => number[];
  log?: boolean;
  /** The range, if it does not follow from the values. */
  range?: [number, number];
}

const [MINUTE, HOUR, DAY] = [60e9, 3600e9, 86_400e9];

/** The tick steps of a time axis: decimal up to seconds, then minutes, hours and days. */
const TIME_STEPS = [
  ...Array.from({ length: 10 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat(),
  ...[10e9, 15e9, 30e9],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * DAY),
];

const SIZE_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);

/** The ticks of a log axis of times. */
const TIME_LADDER = [
  ...Array.from({ length: 11 }, (_, i) => 10 ** i),
  ...[1, 10].map((n) => n * MINUTE),
  ...[1, 10].map((n) => n * HOUR),
  ...[3, 30, 300].map((n) => n * DAY),
];

/** The multiples of the first step that divides a range into at most `most` parts. */
function multiples(steps: readonly number[], low: number, high: number, most: number): number[] {
  const step = steps.find((s) => (high - low) / s <= Math.max(1, most)) ?? high - low;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first;
  return Array.from({ length: Math.max(0, count) + 1 }, (_, i) => (first + i) * step);
}

/** Every n-th of some ticks: at most `most`, or 2 if `most` is less. */
function sparse(places: number[], most: number): number[] {
  const every = Math.ceil(places.length / Math.max(2, most));
  return places.filter((_, i) => i % every === 0);
}

/** The ticks of a linear axis of times. */
export function timeSteps(low: number, high: number, most: number): number[] {
  return multiples(TIME_STEPS, low, high, most);
}

/** The ticks of a log axis of times. */
export function timeLadder(low: number, high: number, most: number): number[] {
  return sparse(
    TIME_LADDER.filter((time) => time >= low && time <= high),
    most,
  );
}

/** The ticks of a log axis of sizes: powers of two. */
export function sizeLadder(low: number, high: number, most: number): number[] {
  return sparse(
    SIZE_STEPS.filter((size) => size >= low && size <= high),
    most,
  );
}

/** The ticks of a log axis of numbers: powers of ten, and 2 and 5 times these if all fit. */
export function roundNumbers(low: number, high: number, most: number): number[] {
  const decades = Array.from({ length: 40 }, (_, i) => 10 ** (i - 12));
  const ladder = (steps: number[]) =>
    decades
      .flatMap((decade) => steps.map((step) => step * decade))
      .filter((value) => value >= low * 0.999 && value <= high * 1.001);
  const fine = ladder([1, 2, 5]);
  const coarse = fine.length <= most ? fine : ladder([1]);
  const every = Math.max(1, Math.ceil(coarse.length / Math.max(2, most)));
  return coarse.filter((_, i) => i % every === 0);
}

const sizeSteps = (low: number, high: number, most: number) =>
  multiples(SIZE_STEPS, low, high, most);

/** The axis of time since the first request, up to `end`. */
export function sinceStart(end: number): Measure {
  return {
    title: 'time since the first request',
    write: longTime,
    labels: axisTimes,
    ticks: timeSteps,
    range: [0, end || 1],
  };
}

/** Bytes, from 0. */
export const BYTES: Measure = { write: bytes, ticks: sizeSteps };

/** Bytes per second, from 0. */
export const BYTE_RATE: Measure = {
  write: (rate) => `${bytes(rate)}/s`,
  labels: (rates) => distinctLabels(rates, bytes).map((label) => `${label}/s`),
  ticks: sizeSteps,
};

/** Requests per second, from 0. */
export const REQUEST_RATE: Measure = {
  write: (rate) => `${short(rate)}/s`,
  labels: (rates) => distinctLabels(rates, short).map((label) => `${label}/s`),
};

/** Bytes on a log scale. */
export const LOG_BYTES: Measure = { write: bytes, ticks: sizeLadder, log: true };

/** Lengths of time windows on a log scale. */
export const WINDOW: Measure = {
  title: 'length of the window',
  write: longTime,
  labels: (values) => values.flatMap((value) => axisTimes([value])),
  ticks: timeLadder,
  log: true,
};

/** Shares of a whole. */
export const SHARE: Measure = { write: (share) => `${short(100 * share)} %`, range: [0, 1] };

/** The room that a label needs in CSS pixels: across, and upwards. */
const ROOM = { x: 64, y: 26 };

/** The width of vertical axes in CSS pixels; a common width aligns charts. */
export const AXIS_WIDTH = 68;

/** The uPlot axis of a measure. */
export function measureAxis(colors: Palette, measure: Measure, side: 'x' | 'y'): uPlot.Axis {
  const { ticks, write, labels = (values) => distinctLabels(values, write) } = measure;
  const extent = (u: uPlot) => u.bbox[side === 'x' ? 'width' : 'height'] / devicePixelRatio;
  return {
    ...axis(colors, measure.title),
    ...(side === 'x' ? { size: 28 } : { size: AXIS_WIDTH, scale: 'y' }),
    ...(ticks === undefined
      ? {}
      : {
          splits: (u: uPlot, _axis: number, low: number, high: number) =>
            ticks(low, high, extent(u) / ROOM[side]),
          filter: (_u: uPlot, splits: number[]) => splits,
        }),
    values: (_u, splits) => labels(splits),
  };
}

/** The uPlot scale of a measure for some values. */
export function measureScale(measure: Measure, values: (number | null)[]): uPlot.Scale {
  const { log = false, range = spanOf(values, log) } = measure;
  return { ...(log ? { distr: 3, log: 10 } : {}), range: () => range };
}

/** The range of some values: minimum to maximum on a log scale, else 0 to above the maximum. */
function spanOf(values: (number | null)[], log: boolean): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const value of values) {
    if (value === null || value <= 0) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (high === 0) return [log ? 0.5 : 0, 1];
  if (!log) return [0, high * 1.04];
  return low < high ? [low, high] : [low / 2, high * 2];
}
