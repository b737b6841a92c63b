// Sketches of reference patterns: the addresses of the first IOs over time. They are not to scale: they
// exaggerate the differences between the values of an experiment.
import { patternsOf } from '../data/model';
import type { Address, Pattern, Reference } from '../data/views.gen';

/** An IO of a sketch; positions and sizes are shares of its width and height, from the lower left. */
export interface DrawnIo {
  x: number;
  y: number;
  width: number;
  height: number;
  write: boolean;
}

/** The sketch of a pattern. */
export interface Schematic {
  ios: DrawnIo[];
  /** The heights of alignment boundaries; empty unless the pattern shifts its IOs. */
  boundaries: number[];
}

/** The smallest and largest parameters over the values of an experiment. */
export interface Extremes {
  target: [least: number, most: number];
  size: [least: number, most: number];
  pause: [least: number, most: number];
  burst: [least: number, most: number];
}

/** The number of IOs in a sketch. */
const IOS = 24;

/** The maximum number of processes that a sketch shows; partitions may be twice as many. */
const PARTS = 6;

const pauseOf = ({ timing }: Pattern) => (timing.function === 'consecutive' ? 0 : timing.pause_ns);

/** The extremes over some references. */
export function extremesOf(references: Reference[]): Extremes {
  const patterns = references.flatMap(patternsOf);
  const span = (pick: (pattern: Pattern) => number): [number, number] => {
    const all = patterns.map(pick);
    return [Math.min(...all), Math.max(...all)];
  };
  return {
    target: span((p) => p.target_size_bytes),
    size: span((p) => p.io_size_bytes),
    pause: span(pauseOf),
    burst: span(({ timing }) => (timing.function === 'burst' ? timing.burst : 1)),
  };
}

/** The position of a value between two on a log scale, from 0 to 1; 1 if both are equal. */
function share(value: number, [least, most]: [number, number]): number {
  if (most <= least || value <= 0) return most <= least ? 1 : 0;
  const low = Math.max(least, 1);
  return Math.min(1, Math.max(0, Math.log(value / low) / Math.log(most / low)));
}

/** Pseudo-random numbers from 0 to 1, a fixed one for each index. */
function scattered(i: number): number {
  const x = Math.sin((i + 1) * 12.9898) * 43_758.5453;
  return x - Math.floor(x);
}

/** The address of the i-th of `count` IOs in a target space of `slots` IOs, from 0 to 1. */
function placeOf(address: Address, i: number, count: number, slots: number): number {
  switch (address.function) {
    case 'sequential':
      return (i % slots) / count;
    case 'random':
      return scattered(i) * (1 - 1 / count);
    case 'ordered':
      if (address.incr === 0) return 0.45;
      return address.incr < 0 ? (count - 1 - i) / count : i / count;
    case 'partitioned': {
      const parts = Math.min(address.partitions, 2 * PARTS);
      const each = Math.ceil(count / parts);
      return ((i % parts) + Math.floor(i / parts) / each) / parts;
    }
  }
}

/** The height of an IO in the sketch. */
function heightOf({ address, io_size_bytes }: Pattern, extremes: Extremes): number {
  const [least, most] = extremes.size;
  const size = least === most ? 1 : 0.35 + 1.4 * share(io_size_bytes, extremes.size);
  const apart = address.function === 'ordered' ? Math.abs(address.incr) : 1;
  return Math.max(0.016, (size / IOS) * (apart > 1 ? 1 / Math.min(apart, 3) : 1));
}

/** The i-th IO of a pattern, within a horizontal band of the sketch. */
function placed(
  pattern: Pattern,
  i: number,
  count: number,
  extremes: Extremes,
  [from, to]: [number, number] = [0, 1],
): Omit<DrawnIo, 'x' | 'width'> {
  const area = 0.1 + 0.9 * share(pattern.target_size_bytes, extremes.target);
  const shift = pattern.io_shift_bytes / pattern.io_size_bytes;
  const moved = shift === 0 ? 0 : Math.max(0.25, Math.min(0.75, shift)) / count;
  // Sequential IOs wrap around at the end of the target space.
  const slots = Math.max(1, Math.floor(pattern.target_size_bytes / pattern.io_size_bytes));
  const place = placeOf(pattern.address, i, count, slots);
  const y = from + (place * area + moved) * (to - from) * 0.97;
  const height = Math.max(0.02, heightOf(pattern, extremes) * Math.sqrt(to - from));
  return { y: Math.min(y, 1 - height), height, write: pattern.op === 'write' };
}

/** The pause after each IO, in widths of an IO. */
function waits({ timing }: Pattern, extremes: Extremes): (i: number) => number {
  if (timing.function === 'consecutive') return () => 0;
  if (timing.function === 'pause') {
    const gap = 0.4 + 2.2 * share(timing.pause_ns, extremes.pause);
    return () => gap;
  }
  const burst = Math.round(3 + 8 * share(timing.burst, extremes.burst));
  return (i) => ((i + 1) % burst === 0 ? 3 : 0);
}

/** Places IOs one after the other in time, with a pause after each. */
function inTurns(
  count: number,
  ioAt: (i: number) => Omit<DrawnIo, 'x' | 'width'>,
  wait: (i: number) => number = () => 0,
): DrawnIo[] {
  let now = 0;
  const starts = Array.from({ length: count }, (_, i) => {
    const start = now;
    now += 1 + wait(i);
    return start;
  });
  return starts.map((start, i) => ({ ...ioAt(i), x: start / now, width: 0.82 / now }));
}

function parallel(pattern: Pattern, degree: number, extremes: Extremes): DrawnIo[] {
  const processes = Math.min(degree, PARTS);
  const each = Math.ceil(IOS / 2);
  return Array.from({ length: processes }, (_, process) =>
    inTurns(each, (i) => {
      const band: [number, number] = [process / processes, (process + 1) / processes];
      return placed(
        pattern,
        i + process * each * Number(pattern.address.function === 'random'),
        each,
        extremes,
        band,
      );
    }),
  ).flat();
}

function mixed(first: Pattern, second: Pattern, ratio: number, extremes: Extremes): DrawnIo[] {
  const turn = Math.min(ratio, PARTS + 1) + 1;
  const seconds = Math.floor(IOS / turn);
  return inTurns(IOS, (i) => {
    const before = Math.floor(i / turn);
    return (i + 1) % turn === 0
      ? placed(second, before, Math.max(4, seconds), extremes, [0.54, 1])
      : placed(first, i - before, IOS - seconds, extremes, [0, 0.46]);
  });
}

function inSequence(patterns: Pattern[], extremes: Extremes): DrawnIo[] {
  const each = Math.floor(IOS / Math.max(1, patterns.length));
  return inTurns(each * patterns.length, (i) => {
    const pattern = patterns[Math.floor(i / each)] as Pattern;
    return placed(pattern, i % each, each, extremes);
  });
}

/** Sketches a reference pattern. Uniform writes, jobs and traces have no sketch. */
export function schematic(reference: Reference, extremes: Extremes): Schematic | undefined {
  switch (reference.kind) {
    case 'basic': {
      const { pattern } = reference;
      const aligned = pattern.io_shift_bytes > 0;
      return {
        ios: inTurns(IOS, (i) => placed(pattern, i, IOS, extremes), waits(pattern, extremes)),
        boundaries: aligned ? Array.from({ length: IOS + 1 }, (_, i) => (i / IOS) * 0.97) : [],
      };
    }
    case 'parallel':
      return { ios: parallel(reference.pattern, reference.degree, extremes), boundaries: [] };
    case 'mixed': {
      const { first, second, ratio } = reference;
      return { ios: mixed(first, second, ratio, extremes), boundaries: [] };
    }
    case 'sequence':
      return { ios: inSequence(reference.patterns, extremes), boundaries: [] };
    case 'blend': {
      const { pattern, reads_percent } = reference;
      const write = (i: number) => scattered(i + 100) * 100 >= reads_percent;
      const ioAt = (i: number) => ({ ...placed(pattern, i, IOS, extremes), write: write(i) });
      return { ios: inTurns(IOS, ioAt), boundaries: [] };
    }
    case 'uniform':
    case 'jobs':
    case 'trace':
      return undefined;
  }
}
