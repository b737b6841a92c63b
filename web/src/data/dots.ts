// The IOs of a run as dots: loaded in pieces, sorted along either axis.
import type { Source } from './source';
import type { Outline } from './views.gen';
import { type Piece, Windows } from './windows.svelte';

/** The quantity on the horizontal axis. */
export type Horizontal = 'index' | 'time';

/** The kinds of dots; each has its colour. */
export const KINDS = ['ignored', 'read', 'write', 'other', 'failed'] as const;
export type Kind = (typeof KINDS)[number];

/** IOs of a run, sorted along one axis. */
export interface Row {
  /** The position of each IO on the axis, ascending. */
  at: Float64Array;
  /** The index of each IO in the outline. */
  order: Uint32Array;
  /** The kind of each IO, an index into `KINDS`. */
  kind: Uint8Array;
}

/** A piece of a run, sorted along both axes. */
export interface Dots {
  outline: Outline;
  rows: Record<Horizontal, Row>;
}

/** Sorts an outline along both axes. The first `ignored` IOs are of the kind `ignored`. */
export function dotsOf(outline: Outline, ignored: number): Dots {
  const { index, submitted_ns, op, errno } = outline;
  const kindOf = (i: number): number => {
    if (errno[i] !== 0) return 4;
    if ((index[i] ?? 0) < ignored) return 0;
    return 1 + Math.min(2, op[i] ?? 0);
  };
  const row = (xs: number[]): Row => {
    const order = Uint32Array.from(xs.keys());
    order.sort((a, b) => (xs[a] ?? 0) - (xs[b] ?? 0));
    return {
      at: Float64Array.from(order, (i) => xs[i] ?? 0),
      order,
      kind: Uint8Array.from(order, kindOf),
    };
  };
  return { outline, rows: { index: row(index), time: row(submitted_ns) } };
}

/** The index of the first of ascending numbers that is not below `place`. */
export function firstAt(numbers: Float64Array, place: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The piece of a run that an outline holds, with its resolution: the number of IOs in a bucket. */
export function pieceOf(outline: Outline, from: number, to: number, ignored: number): Piece<Dots> {
  const shown = outline.index.length;
  // An outline has two IOs of each bucket: the fastest and the slowest.
  const step = shown >= to - from ? 1 : (2 * (to - from)) / Math.max(1, shown);
  return { from, to, step, data: dotsOf(outline, ignored) };
}

/** The maximum number of buckets in a response of a server. */
const MAX_BUCKETS = 2000;

/** The windows of a run, which load a piece when it comes into view. */
export function windowsOf(
  source: Source,
  id: string,
  run: number,
  whole: Outline,
  ignored: number,
): Windows<Dots> {
  const windows = new Windows<Dots>(whole.ios, async (from, to, parts) => {
    const buckets = Math.max(2, Math.min(MAX_BUCKETS, Math.ceil(parts)));
    return pieceOf(await source.outline(id, run, from, to, buckets), from, to, ignored);
  });
  windows.add(pieceOf(whole, 0, whole.ios, ignored));
  return windows;
}

/** Converts a position from one axis to the other, by the finest piece loaded around it. */
export function convert(
  windows: Windows<Dots>,
  place: number,
  from: Horizontal,
  to: Horizontal,
): number {
  if (from === to) return place;
  for (const { data } of windows.pieces) {
    const { at, order } = data.rows[from];
    const [first, last] = [at[0] ?? 0, at.at(-1) ?? 0];
    const finest = data === windows.pieces.at(-1)?.data;
    if (!finest && (place < first || place > last)) continue;
    const other = to === 'index' ? data.outline.index : data.outline.submitted_ns;
    const value = (i: number) => other[order[i] ?? 0] ?? 0;
    const next = Math.min(Math.max(1, firstAt(at, place)), Math.max(1, at.length - 1));
    const [a, b] = [at[next - 1] ?? 0, at[next] ?? 0];
    const share = b > a ? (place - a) / (b - a) : 0;
    return value(next - 1) + Math.max(0, share) * (value(next) - value(next - 1));
  }
  return place;
}

/** A running mean at some IOs: their positions on an axis, and the mean of all IOs up to each. */
export interface Line {
  at: number[];
  mean: (number | null)[];
}

/** The running means of a run along an axis: over all IOs, and over those after the start-up. */
export function meansOf({ outline }: Dots, x: Horizontal): { all: Line; late: Line } | undefined {
  const means = outline.running_means;
  if (means == null) return undefined;
  const { index, submitted_ns } = outline;
  const shown = Float64Array.from(index);
  const placeOf = (position: number): number =>
    x === 'index'
      ? position
      : (submitted_ns[Math.min(firstAt(shown, position), index.length - 1)] ?? 0);
  const at = means.index.map(placeOf);
  return { all: { at, mean: means.all_ns }, late: { at, mean: means.after_start_up_ns } };
}
