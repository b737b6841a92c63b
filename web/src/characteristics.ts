// The row of a drive in uFLIP's Table 3: each cell in the paper's signs and in a sentence.
import type { Characteristics, CheapLimit, Estimate, PauseEffect } from './data/views.gen';
import { bytes, count, exactTime, interval, MISSING, milliseconds, ratio, time } from './format';

/** One cell of the table. */
export interface Cell {
  /** The heading of its column. */
  column: string;
  /** The heading of Table 3 that groups its column. */
  group: string;
  /** The value in the paper's signs. */
  text: string;
  /** The value in a sentence. */
  words: string;
  /** The 95 % interval of the value, or a dash. */
  interval: string;
  /** The micro-benchmark that measured it. */
  benchmark: string;
  /** The baseline that gives the cell its colour. */
  baseline?: 'SR' | 'RR' | 'SW' | 'RW';
}

/** The micro-benchmarks that may give the cost of a basic pattern. The first one that ran it counts. */
const BASIC_FROM = ['preparation', 'granularity', 'alignment', 'parallelism'];

/** The micro-benchmark of a result that a cell's number comes from. */
export function originOf(
  { baseline, benchmark }: Cell,
  model: { experiment(benchmark: string, name: string): object | undefined },
): string {
  if (baseline === undefined) return benchmark;
  return BASIC_FROM.find((name) => model.experiment(name, baseline) !== undefined) ?? benchmark;
}

/** True if a ratio is no difference: its interval includes 1, or it is within 10 % of 1. */
export function isSame({ value, low, high }: Estimate): boolean {
  const covered = low != null && high != null && low <= 1 && high >= 1;
  return covered || Math.abs(value - 1) <= 0.1;
}

/** Returns `=` if there is no difference, else the ratio. */
export function ratioSign(estimate: Estimate | null | undefined): string {
  if (estimate == null) return MISSING;
  return isSame(estimate) ? '=' : ratio(estimate.value);
}

const NOT_MEASURED = 'Not measured: this result has no runs for it.';

const ratioInterval = (e: Estimate | null | undefined) => interval(e?.low, e?.high, ratio);

function basic(
  baseline: 'SR' | 'RR' | 'SW' | 'RW',
  name: string,
  size: string,
  estimate: Estimate | null | undefined,
): Cell {
  return {
    column: baseline,
    group: 'Basic patterns (ms)',
    text: milliseconds(estimate?.value),
    words:
      estimate == null
        ? NOT_MEASURED
        : `A ${name} of ${size} takes ${time(estimate.value)} on average.`,
    interval: interval(estimate?.low, estimate?.high, (ns) => time(ns)),
    benchmark: 'granularity',
    baseline,
  };
}

function compared(
  column: string,
  what: string,
  than: string,
  estimate: Estimate | null | undefined,
): Cell {
  let words = NOT_MEASURED;
  if (estimate != null) {
    words = isSame(estimate)
      ? `${what} cost the same as ${than}.`
      : `${what} cost ${ratio(estimate.value).slice(1)} times as much as ${than}.`;
  }
  return {
    column,
    group: 'Order',
    text: ratioSign(estimate),
    words,
    interval: ratioInterval(estimate),
    benchmark: 'order',
  };
}

function pauseCell(effect: PauseEffect | null | undefined): Cell {
  const cell = { column: 'Pause', group: 'RW', interval: MISSING, benchmark: 'pause' };
  switch (effect?.effect) {
    case undefined:
      return { ...cell, text: MISSING, words: NOT_MEASURED };
    case 'none':
      return {
        ...cell,
        text: 'no effect',
        words: 'Pauses do not make random writes faster: the drive defers no work.',
      };
    case 'as_sequential':
      return {
        ...cell,
        text: exactTime(effect.pause_ns),
        words: `With pauses of ${exactTime(effect.pause_ns)} or more, random writes cost the same as sequential ones.`,
      };
    case 'cheaper':
      return {
        ...cell,
        text: ratio(effect.ratio.value),
        interval: ratioInterval(effect.ratio),
        words: `Pauses reduce the cost of random writes to ${ratio(effect.ratio.value).slice(1)} times their cost without pauses; sequential writes still cost less.`,
      };
  }
}

/** The sentences about a limit: no measured value is cheap, all values are cheap, or values up to a limit are cheap. */
interface LimitWords {
  no: string;
  unlimited: (measured: string) => string;
  upTo: (value: string) => string;
}

function limitCell(
  cell: Pick<Cell, 'column' | 'group' | 'benchmark'>,
  limit: CheapLimit | null | undefined,
  write: (value: number) => string,
  words: LimitWords,
): Cell {
  switch (limit?.limit) {
    case undefined:
      return { ...cell, text: MISSING, words: NOT_MEASURED, interval: MISSING };
    case 'no':
      return { ...cell, text: 'No', words: words.no, interval: MISSING };
    case 'unlimited':
      return {
        ...cell,
        text: `≥ ${write(limit.measured)} (${ratioSign(limit.ratio)})`,
        words: `${words.unlimited(write(limit.measured))}${costWords(limit.ratio)}`,
        interval: ratioInterval(limit.ratio),
      };
    case 'up_to':
      return {
        ...cell,
        text: `${write(limit.value)} (${ratioSign(limit.ratio)})`,
        words: `${words.upTo(write(limit.value))}${costWords(limit.ratio)}`,
        interval: ratioInterval(limit.ratio),
      };
  }
}

/** The end of a limit's sentence: the highest cost within the limit, relative to sequential writes. */
function costWords(estimate: Estimate): string {
  return isSame(estimate)
    ? ': they cost the same as plain sequential writes.'
    : `: they cost up to ${ratio(estimate.value).slice(1)} times as much as plain sequential writes.`;
}

/** The cells of a drive's row, in the order of Table 3. */
export function cells(c: Characteristics): Cell[] {
  const size = c.io_size_bytes == null ? 'unknown size' : bytes(c.io_size_bytes);
  return [
    basic('SR', 'sequential read', size, c.sequential_read_ns),
    basic('RR', 'random read', size, c.random_read_ns),
    basic('SW', 'sequential write', size, c.sequential_write_ns),
    basic('RW', 'random write', size, c.random_write_ns),
    pauseCell(c.pause),
    limitCell({ column: 'Locality', group: 'RW', benchmark: 'locality' }, c.locality, bytes, {
      no: 'Random writes are expensive in every area measured, however small.',
      unlimited: (measured) => `Random writes are cheap in every area measured, up to ${measured}`,
      upTo: (value) => `Keep random writes within ${value}`,
    }),
    limitCell(
      { column: 'Partitioning', group: 'SW', benchmark: 'partitioning' },
      c.partitioning,
      count,
      {
        no: 'Sequential writes are expensive as soon as they alternate between two partitions.',
        unlimited: (measured) =>
          `Sequential writes can alternate between ${measured} partitions, the most measured`,
        upTo: (value) => `Alternate sequential writes between at most ${value} partitions`,
      },
    ),
    compared('Reverse', 'Writes in reverse order', 'sequential ones', c.reverse),
    compared('In-place', 'Writes in place', 'sequential ones', c.in_place),
    compared('Large Incr', 'Writes with gaps of 1 MiB to 8 MiB', 'random ones', c.large_increments),
  ];
}
