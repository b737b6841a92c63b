// The charts of an attached drive: the last minutes, up to now.
import type { Op, OpSample, Quantiles, Sample } from '../data/live.gen';
import { axisTimes, count, decimal, exactTime, longTime, short, time } from '../format';
import { timeSpan, timeTicks } from './axes';
import { type Line, lineChart } from './lines';
import { BYTE_RATE, type Measure, REQUEST_RATE, timeSteps } from './measure';
import type { Palette } from './palette';
import type { ChartSpec } from './spec';

/** Nanoseconds in a second. */
const SECOND = 1e9;

/** The minimum length of the time axis, in ns. */
const MIN_AXIS = 60 * SECOND;

/** The maximum length of the time axis, in ns. */
const MAX_AXIS = 300 * SECOND;

const OTHER = (colors: Palette) => colors.other.color;
const COLORS: Record<Op, Line['color']> = {
  read: (colors) => colors.read,
  write: (colors) => colors.write,
  trim: OTHER,
  flush: (colors) => colors.average,
};

const QUEUE: Measure = { write: count };
const AMPLIFICATION: Measure = { write: decimal };
const PERCENT: Measure = { write: (value) => `${short(value)} %` };
const LOG_TIME: Measure = {
  write: time,
  labels: (values) => values.map(exactTime),
  ticks: timeTicks,
  log: true,
};

/** The time axis, which ends at the right with now. */
function before(x: number[]): Measure {
  const span = Math.min(MAX_AXIS, Math.max(MIN_AXIS, -(x[0] ?? 0)));
  return {
    title: 'time before now',
    write: longTime,
    labels: (values) => axisTimes(values.map((at) => -at)),
    ticks: timeSteps,
    range: [-span, 0],
  };
}

/** A chart with a line for each quantity of the samples. */
function overSamples(
  samples: Sample[],
  label: string,
  up: Measure,
  lines: {
    name: string;
    color: Line['color'];
    dash?: boolean;
    of(s: Sample): number | null | undefined;
  }[],
): ChartSpec {
  const now = samples.at(-1)?.at_s ?? 0;
  const x = samples.map(({ at_s }) => (at_s - now) * SECOND);
  const shown = lines.map(
    ({ name, color, dash = false, of }): Line => ({
      name,
      color,
      dash,
      values: samples.map((sample) => of(sample) ?? null),
    }),
  );
  const present = shown.flatMap(({ values }) => values).filter((value) => value !== null);
  return lineChart({
    heading: label,
    label: `${label} in the last minutes, second by second.`,
    x,
    lines: shown,
    across: before(x),
    up: up.log ? { ...up, range: timeSpan(present) } : up,
    title: (at) => (at === 0 ? 'now' : `${longTime(-at)} ago`),
  });
}

/** The operations with at least one request, in the order of the program. */
export function active(samples: Sample[]): Op[] {
  const ops = samples.at(-1)?.ops.map(({ op }) => op) ?? [];
  return ops.filter((_, i) => samples.some((sample) => (sample.ops[i]?.requests_per_s ?? 0) > 0));
}

const of = (sample: Sample, op: Op): OpSample | undefined =>
  sample.ops.find((one) => one.op === op);

/** The chart of requests per second. */
export const requests = (samples: Sample[], ops: Op[]) =>
  overSamples(
    samples,
    'Requests per second',
    REQUEST_RATE,
    ops.map((op) => ({ name: op, color: COLORS[op], of: (s) => of(s, op)?.requests_per_s })),
  );

/** The chart of bytes per second; a flush moves none. */
export const throughputs = (samples: Sample[], ops: Op[]) =>
  overSamples(
    samples,
    'Bytes per second',
    BYTE_RATE,
    ops
      .filter((op) => op !== 'flush')
      .map((op) => ({ name: op, color: COLORS[op], of: (s) => of(s, op)?.bytes_per_s })),
  );

/** The chart of the median and the 99th percentile of each operation's latency. */
export const latencies = (samples: Sample[], ops: Op[]) =>
  overSamples(
    samples,
    'Latencies',
    LOG_TIME,
    ops.flatMap((op) => [
      { name: `${op} p50`, color: COLORS[op], of: (s: Sample) => of(s, op)?.latency?.median_ns },
      {
        name: `${op} p99`,
        color: COLORS[op],
        dash: true,
        of: (s: Sample) => of(s, op)?.latency?.p99_ns,
      },
    ]),
  );

/** The chart of write amplification. */
export const amplification = (samples: Sample[]) =>
  overSamples(samples, 'Write amplification', AMPLIFICATION, [
    { name: 'write amplification', color: COLORS.write, of: (s) => s.write_amplification },
  ]);

/** The chart of requests in flight. */
export const inFlight = (samples: Sample[]) =>
  overSamples(samples, 'Requests in flight', QUEUE, [
    { name: 'in flight', color: OTHER, of: (s) => s.in_flight },
  ]);

/** The chart of free blocks, in percent. */
export const freeBlocks = (samples: Sample[]) =>
  overSamples(samples, 'Free blocks', PERCENT, [
    { name: 'free blocks', color: OTHER, of: (s) => s.free_blocks_percent },
  ]);

/** The chart of the lateness of completions. */
export const lateness = (samples: Sample[]) =>
  overSamples(
    samples,
    'Lateness of completions',
    LOG_TIME,
    (
      [
        ['p50', 'median_ns', false],
        ['p99', 'p99_ns', true],
      ] as [string, keyof Quantiles, boolean][]
    ).map(([name, quantile, dash]) => ({
      name,
      color: OTHER,
      dash,
      of: (s) => s.lateness?.[quantile],
    })),
  );

/** The legend of operations. */
export const opKeys = (colors: Palette, ops: Op[]) =>
  ops.map((op) => ({ name: op, color: COLORS[op](colors) }));
