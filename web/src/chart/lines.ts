// Lines against time, length of a window, or share: what the pictures of a trace are made of.
import type uPlot from 'uplot';
import { axisTime, bytes } from '../format';
import { timeTicks } from './axes';
import { fade, type Palette } from './palette';
import { axis, type ChartSpec, common, type Tip } from './spec';

/** A line of a chart. */
export interface Line {
  name: string;
  values: (number | null)[];
  color(colors: Palette): string;
  dash?: boolean;
  /** Filled down to the axis. */
  area?: boolean;
  /** Between which values the true ones lie. */
  interval?: { low: number[]; high: number[] };
}

/** What an axis counts. */
export interface Measure {
  title?: string;
  write(value: number): string;
  /** What is labelled, where the usual steps do not do. */
  ticks?: (low: number, high: number, most: number) => number[];
  log?: boolean;
  /** From where to where, where that does not follow from the values. */
  range?: [number, number];
}

/** Steps of a time axis: of seconds decimal, above that as clocks and calendars have them. */
const TIME_STEPS = [
  ...Array.from({ length: 11 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat(),
  ...[15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200].map(
    (s) => s * 1e9,
  ),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * 86_400e9),
].sort((a, b) => a - b);

/** Whole steps of a list, of which at most so many fit. */
function steps(list: readonly number[], low: number, high: number, most: number): number[] {
  const step = list.find((s) => (high - low) / s <= Math.max(1, most)) ?? high - low;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first;
  return Array.from({ length: Math.max(0, count) + 1 }, (_, i) => (first + i) * step);
}

/** Powers of two, of which at most so many fit. */
export function sizeTicks(low: number, high: number, most: number): number[] {
  const [from, to] = [Math.ceil(Math.log2(low) - 1e-9), Math.floor(Math.log2(high) + 1e-9)];
  const every = [1, 2, 5, 10, 20].find((n) => (to - from) / n < Math.max(2, most)) ?? 20;
  const first = Math.ceil(from / every) * every;
  const count = Math.floor((to - first) / every);
  return Array.from({ length: Math.max(0, count) + 1 }, (_, i) => 2 ** (first + i * every));
}

/** Multiples of 1, 2, 4, … of a power of 1024, so that sizes are labelled in full. */
function sizeSteps(low: number, high: number, most: number): number[] {
  const list = Array.from({ length: 60 }, (_, i) => 2 ** i);
  return steps(list, low, high, most);
}

/** Time since the first request. */
export const SINCE_START: Measure = {
  title: 'time since the first request',
  write: axisTime,
  ticks: (low, high, most) => steps(TIME_STEPS, low, high, most),
};

/** Bytes, from nothing on. */
export const BYTES: Measure = { write: bytes, ticks: sizeSteps };

/** Bytes on a log scale. */
export const LOG_BYTES: Measure = { write: bytes, ticks: sizeTicks, log: true };

/** Times on a log scale. */
export const LOG_TIME: Measure = { write: axisTime, ticks: timeTicks, log: true };

/** An axis of a measure. */
export function measureAxis(colors: Palette, measure: Measure, side: 'x' | 'y'): uPlot.Axis {
  const { ticks } = measure;
  const across = side === 'x';
  return {
    ...axis(colors, measure.title),
    ...(across ? { size: 28 } : { size: 62, scale: 'y' }),
    ...(ticks === undefined
      ? {}
      : {
          splits: (u: uPlot, _axis: number, low: number, high: number) => {
            const { width, height } = u.bbox;
            return ticks(low, high, (across ? width / 84 : height / 28) / devicePixelRatio);
          },
          filter: (_u: uPlot, splits: number[]) => splits,
        }),
    values: (_u, splits) => splits.map(measure.write),
  };
}

/** The scale of a measure over some values. */
export function measureScale(measure: Measure, values: (number | null)[]): uPlot.Scale {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const value of values) {
    if (value === null || (measure.log && value <= 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!(low < high)) [low, high] = high > 0 ? [high / 2, high * 2] : [measure.log ? 0.5 : 0, 1];
  const found: [number, number] = measure.log ? [low, high] : [0, high * 1.04];
  return { ...(measure.log ? { distr: 3, log: 10 } : {}), range: () => measure.range ?? found };
}

/** What is drawn of a line: on a log scale nothing has no place. */
const drawn = (measure: Measure, values: (number | null)[]) =>
  measure.log ? values.map((value) => (value !== null && value > 0 ? value : null)) : values;

function series(colors: Palette, line: Line): uPlot.Series[] {
  const color = line.color(colors);
  const main: uPlot.Series = {
    stroke: color,
    width: 1.75,
    points: { show: false },
    ...(line.dash ? { dash: [6, 4] } : {}),
    ...(line.area ? { fill: fade(color, 0.18) } : {}),
  };
  const edge: uPlot.Series = { stroke: fade(color, 0.4), width: 1, points: { show: false } };
  return line.interval === undefined ? [main] : [main, edge, edge];
}

/** Lines over the same places. */
export function lines(
  label: string,
  x: number[],
  all: Line[],
  across: Measure,
  up: Measure,
  title: (x: number, index: number) => string,
): ChartSpec {
  const columns = all.flatMap(({ values, interval }) =>
    interval === undefined ? [values] : [values, interval.low, interval.high],
  );
  const tip = (u: uPlot, left: number): Tip | null => {
    const index = nearestIndex(x, u.posToVal(left, 'x'), across.log ?? false);
    const at = x[index];
    if (at === undefined) return null;
    const rows = all.map(({ name, values }): [string, string] => {
      const value = values[index];
      return [name, value == null ? '–' : up.write(value)];
    });
    return { left: u.valToPos(at, 'x'), top: 8, title: title(at, index), rows };
  };
  return {
    label,
    data: [x, ...columns.map((column) => drawn(up, column))] as uPlot.AlignedData,
    options: (colors) => {
      const shown = all.map((line) => series(colors, line));
      let next = 1;
      const bands = all.flatMap((line, i): uPlot.Band[] => {
        const first = next;
        next += shown[i]?.length ?? 0;
        if (line.interval === undefined) return [];
        return [{ series: [first + 2, first + 1], fill: fade(line.color(colors), 0.15) }];
      });
      return {
        ...common,
        cursor: { points: { show: false }, drag: { x: false, y: false }, y: false },
        scales: {
          x: { time: false, ...measureScale(across, x) },
          y: measureScale(up, columns.flat()),
        },
        axes: [measureAxis(colors, across, 'x'), measureAxis(colors, up, 'y')],
        series: [{}, ...shown.flat()],
        bands,
      };
    },
    tip,
  };
}

/** The place that is nearest, on a log scale by ratio. */
function nearestIndex(x: number[], at: number, log: boolean): number {
  const distance = (value: number) => (log ? Math.abs(Math.log(value / at)) : Math.abs(value - at));
  return x.reduce((best, value, i) => (distance(value) < distance(x[best] ?? value) ? i : best), 0);
}
