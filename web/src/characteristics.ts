// The row of uFLIP's Table 3: what each cell says, in the paper's signs and in plain words.
import type { Bounded, Characteristics, Estimate, PauseEffect } from './data/views.gen';
import { bytes, count, exactTime, interval, MISSING, milliseconds, ratio, time } from './format';

/** One cell of the table. */
export interface Cell {
  /** The head of its column. */
  column: string;
  /** Under which head of Table 3 the column stands. */
  group: string;
  /** What stands in the cell. */
  text: string;
  /** The same in a sentence. */
  words: string;
  /** The 95 % interval behind it, where there is one. */
  interval: string;
  /** The micro-benchmark it comes from. */
  benchmark: string;
  /** The baseline whose colour it has. */
  baseline?: 'SR' | 'RR' | 'SW' | 'RW';
}

/** Whether a ratio is no difference: 1 lies in its interval, or it is within 10 % of 1. */
export function isSame({ value, low, high }: Estimate): boolean {
  const covered = low != null && high != null && low <= 1 && high >= 1;
  return covered || Math.abs(value - 1) <= 0.1;
}

/** `=` where there is no difference, else the ratio. */
export function ratioSign(estimate: Estimate | null | undefined): string {
  if (estimate == null) return MISSING;
  return isSame(estimate) ? '=' : ratio(estimate.value);
}

const NOT_MEASURED = 'Not known: its runs are not in this result.';

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
      : `${what} cost ${ratio(estimate.value).slice(1)} times what ${than} cost.`;
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
        words: 'Random writes cost about the same whatever the pause: nothing is put off.',
      };
    case 'as_sequential':
      return {
        ...cell,
        text: exactTime(effect.pause_ns),
        words: `With pauses of ${exactTime(effect.pause_ns)} or more, random writes cost what sequential ones do.`,
      };
    case 'cheaper':
      return {
        ...cell,
        text: ratio(effect.ratio.value),
        interval: ratioInterval(effect.ratio),
        words: `With pauses, random writes cost ${ratio(effect.ratio.value).slice(1)} times what they cost without, but more than sequential ones.`,
      };
  }
}

/** How a limit reads in words: where nothing is cheap, everywhere, up to a value. */
interface LimitWords {
  no: string;
  unlimited: (measured: string) => string;
  upTo: (value: string) => string;
}

function limitCell(
  cell: Pick<Cell, 'column' | 'group' | 'benchmark'>,
  limit: Bounded | null | undefined,
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
        words: `${words.unlimited(write(limit.measured))}${dearest(limit.ratio)}`,
        interval: ratioInterval(limit.ratio),
      };
    case 'up_to':
      return {
        ...cell,
        text: `${write(limit.value)} (${ratioSign(limit.ratio)})`,
        words: `${words.upTo(write(limit.value))}${dearest(limit.ratio)}`,
        interval: ratioInterval(limit.ratio),
      };
  }
}

function dearest(estimate: Estimate): string {
  return isSame(estimate)
    ? ', at the cost of sequential ones.'
    : `, at up to ${ratio(estimate.value).slice(1)} times the cost of sequential ones.`;
}

/** The cells of the drive's row, in the order of Table 3. */
export function cells(c: Characteristics): Cell[] {
  const size = c.io_size_bytes == null ? 'unknown size' : bytes(c.io_size_bytes);
  return [
    basic('SR', 'sequential read', size, c.sequential_read_ns),
    basic('RR', 'random read', size, c.random_read_ns),
    basic('SW', 'sequential write', size, c.sequential_write_ns),
    basic('RW', 'random write', size, c.random_write_ns),
    pauseCell(c.pause),
    limitCell({ column: 'Locality', group: 'RW', benchmark: 'locality' }, c.locality, bytes, {
      no: 'Random writes are dear however small the area they stay in.',
      unlimited: (measured) => `Random writes are cheap in every area measured, up to ${measured}`,
      upTo: (value) => `Random writes are cheap while they stay within ${value}`,
    }),
    limitCell(
      { column: 'Partitioning', group: 'SW', benchmark: 'partitioning' },
      c.partitioning,
      count,
      {
        no: 'Sequential writes become dear as soon as they go to two places in turns.',
        unlimited: (measured) =>
          `Sequential writes can go to ${measured} partitions (all that was measured) in turns`,
        upTo: (value) => `Sequential writes can go to ${value} partitions in turns`,
      },
    ),
    compared('Reverse', 'Writes in reverse order', 'sequential ones', c.reverse),
    compared('In-place', 'Writes in place', 'sequential ones', c.in_place),
    compared('Large Incr', 'Writes with gaps of 1 MiB to 8 MiB', 'random ones', c.large_increments),
  ];
}
