// The IOs of a run as they are drawn: loaded in stretches, sorted along either axis.
import type { Source } from './source';
import type { Outline } from './views.gen';
import { type Piece, Windows } from './windows.svelte';

/** What the horizontal axis counts. */
export type Horizontal = 'index' | 'time';

/** What a dot is, by its colour. */
export const KINDS = ['ignored', 'read', 'write', 'other', 'failed'] as const;
export type Kind = (typeof KINDS)[number];

/** IOs of a run, in the order of one axis. */
export interface Row {
  /** Where each lies on the axis, rising. */
  at: Float64Array;
  /** Which of the outline's it is. */
  order: Uint32Array;
  kind: Uint8Array;
}

/** A stretch of a run. */
export interface Dots {
  outline: Outline;
  rows: Record<Horizontal, Row>;
}

/** Puts an outline in the order of both axes; the first `ignored` IOs are a kind of their own. */
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

/** The first of rising numbers that is not below a place. */
export function firstAt(numbers: Float64Array, place: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A stretch, as what one dot stands for says how fine it is. */
export function pieceOf(outline: Outline, from: number, to: number, ignored: number): Piece<Dots> {
  const shown = outline.index.length;
  // Two IOs are shown of each stretch.
  const step = shown >= to - from ? 1 : (2 * (to - from)) / Math.max(1, shown);
  return { from, to, step, data: dotsOf(outline, ignored) };
}

/** Stretches that a server gives at most at once. */
const MOST = 2000;

/** A run, loaded as it comes into view. */
export function windowsOf(
  source: Source,
  id: string,
  run: number,
  whole: Outline,
  ignored: number,
): Windows<Dots> {
  const windows = new Windows<Dots>(whole.ios, async (from, to, parts) => {
    const stretches = Math.max(2, Math.min(MOST, Math.ceil(parts)));
    return pieceOf(await source.outline(id, run, from, to, stretches), from, to, ignored);
  });
  windows.add(pieceOf(whole, 0, whole.ios, ignored));
  return windows;
}

/** Where a place on one axis lies on the other, by the finest that is known around it. */
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

/** A mean that is told at some IOs: where each lies along an axis, and the mean up to there. */
export interface Line {
  at: number[];
  mean: (number | null)[];
}

/** The running means of a run along an axis, by its outline: of all IOs, and without the start-up. */
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
