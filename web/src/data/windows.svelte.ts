// A long series, loaded piece by piece at any resolution. Screens draw the loaded pieces at once, and
// request finer ones as they come into view, one at a time.

/** A loaded piece of the series. */
export interface Piece<T> {
  from: number;
  /** The position after the last. */
  to: number;
  /** The number of IOs in each bucket or column; 1 is the full resolution. */
  step: number;
  data: T;
}

/** A part of the view, and the finest piece that covers it. */
export interface Part<T> {
  from: number;
  to: number;
  piece: Piece<T>;
}

/** The number of pieces kept. */
const KEPT = 24;

/** A piece is fine enough if its step is at most this multiple of the requested one. */
const COARSE_ENOUGH = 2;

/** The length of a requested piece, relative to the view. */
const MARGIN = 1.5;

/** The range to load around a view. Views next to each other share a range. */
export function around(from: number, to: number, total: number): [number, number] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(1, (to - from) * MARGIN)));
  if (size >= total) return [0, total];
  const grid = Math.max(1, size / 8);
  const first = Math.floor((from + to - size) / 2 / grid) * grid;
  const start = Math.min(Math.max(0, first), total - size);
  return [start, start + size];
}

/** The loaded pieces of a series of `total` IOs. */
export class Windows<T> {
  /** Increases with every loaded piece. */
  revision = $state(0);
  /** The error of the last load, if it failed. */
  problem = $state<string | null>(null);
  readonly total: number;
  readonly #load: (from: number, to: number, parts: number) => Promise<Piece<T>>;
  #pieces: Piece<T>[] = [];
  #requested = new Set<string>();
  #busy = false;
  #pending: [number, number, number] | null = null;

  constructor(total: number, load: (from: number, to: number, parts: number) => Promise<Piece<T>>) {
    this.total = total;
    this.#load = load;
  }

  /** The loaded pieces, finest first. */
  get pieces(): readonly Piece<T>[] {
    return this.#pieces;
  }

  add(piece: Piece<T>): void {
    const others = this.#pieces.filter(
      (other) => !(covers(piece, other) && piece.step <= other.step),
    );
    this.#pieces = [...others, piece].sort((a, b) => a.step - b.step);
    // The coarsest piece stays: it covers every view.
    if (this.#pieces.length > KEPT) this.#pieces.splice(this.#pieces.length - 2, 1);
    this.revision += 1;
  }

  /** Requests a range in `parts` parts, unless a loaded piece is fine enough. */
  request(from: number, to: number, parts: number): void {
    this.#pending = [Math.max(0, from), Math.min(this.total, to), parts];
    if (!this.#busy) void this.#loadPending();
  }

  /** The parts of a range from left to right, each with the finest piece that covers it. */
  over(from: number, to: number): Part<T>[] {
    let open: [number, number][] = [[from, to]];
    const parts: Part<T>[] = [];
    for (const piece of this.#pieces) {
      const left: [number, number][] = [];
      for (const [a, b] of open) {
        const [low, high] = [Math.max(a, piece.from), Math.min(b, piece.to)];
        if (low >= high) {
          left.push([a, b]);
          continue;
        }
        parts.push({ from: low, to: high, piece });
        if (a < low) left.push([a, low]);
        if (high < b) left.push([high, b]);
      }
      open = left;
      if (open.length === 0) break;
    }
    return parts.sort((a, b) => a.from - b.from);
  }

  #isLoaded(from: number, to: number, step: number): boolean {
    return this.#pieces.some(
      (piece) =>
        piece.from <= from && piece.to >= to && piece.step <= Math.max(1, COARSE_ENOUGH * step),
    );
  }

  async #loadPending(): Promise<void> {
    this.#busy = true;
    let name = '';
    try {
      while (this.#pending !== null) {
        const [from, to, parts] = this.#pending;
        this.#pending = null;
        if (to <= from || this.#isLoaded(from, to, (to - from) / parts)) continue;
        const [start, end] = around(from, to, this.total);
        const more = Math.ceil((parts * (end - start)) / (to - from));
        name = `${start} ${end}`;
        if (this.#requested.has(name)) continue;
        this.#requested.add(name);
        this.add(await this.#load(start, end, more));
        this.problem = null;
      }
    } catch (error) {
      // The next request for this range tries again.
      this.#requested.delete(name);
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.#busy = false;
    }
  }
}

const covers = <T>(piece: Piece<T>, other: Piece<T>) =>
  piece.from <= other.from && piece.to >= other.to;
