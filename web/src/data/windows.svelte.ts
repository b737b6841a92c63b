// What was loaded of something long, at whatever fineness: what there is is shown at once, and finer
// stretches are asked for as they come into view, one at a time.

/** A stretch as it was loaded. */
export interface Piece<T> {
  from: number;
  /** The position after the last. */
  to: number;
  /** How many IOs one thing shown stands for; 1 where nothing is finer. */
  step: number;
  data: T;
}

/** A part of what is in view, and the finest piece that holds it. */
export interface Part<T> {
  from: number;
  to: number;
  piece: Piece<T>;
}

/** Pieces that are kept. */
const KEPT = 24;

/** A piece does if it is so many times as coarse as wanted. */
const COARSE_ENOUGH = 2;

/** How much is asked for, relative to what is in view. */
const MARGIN = 1.5;

/** A stretch to ask for around what is in view: the same one for windows beside each other. */
export function around(from: number, to: number, total: number): [number, number] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(1, (to - from) * MARGIN)));
  if (size >= total) return [0, total];
  const grid = Math.max(1, size / 8);
  const first = Math.floor((from + to - size) / 2 / grid) * grid;
  const start = Math.min(Math.max(0, first), total - size);
  return [start, start + size];
}

/** Pieces of something of so many IOs. */
export class Windows<T> {
  /** Changes with what there is. */
  revision = $state(0);
  /** Why a stretch could not be loaded. */
  problem = $state<string | null>(null);
  readonly total: number;
  readonly #load: (from: number, to: number, parts: number) => Promise<Piece<T>>;
  #pieces: Piece<T>[] = [];
  #asked = new Set<string>();
  #busy = false;
  #wish: [number, number, number] | null = null;

  constructor(total: number, load: (from: number, to: number, parts: number) => Promise<Piece<T>>) {
    this.total = total;
    this.#load = load;
  }

  /** All that was loaded, the finest first. */
  get pieces(): readonly Piece<T>[] {
    return this.#pieces;
  }

  add(piece: Piece<T>): void {
    const others = this.#pieces.filter(
      (other) => !(covers(piece, other) && piece.step <= other.step),
    );
    this.#pieces = [...others, piece].sort((a, b) => a.step - b.step);
    // The coarsest stays, so that there is always something to show.
    if (this.#pieces.length > KEPT) this.#pieces.splice(this.#pieces.length - 2, 1);
    this.revision += 1;
  }

  /** Asks for a stretch in so many parts, unless what is there does. */
  want(from: number, to: number, parts: number): void {
    this.#wish = [Math.max(0, from), Math.min(this.total, to), parts];
    if (!this.#busy) void this.#fulfil();
  }

  /** What there is of a stretch, each part of it as fine as there is, from left to right. */
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

  #does(from: number, to: number, step: number): boolean {
    return this.#pieces.some(
      (piece) =>
        piece.from <= from && piece.to >= to && piece.step <= Math.max(1, COARSE_ENOUGH * step),
    );
  }

  async #fulfil(): Promise<void> {
    this.#busy = true;
    let name = '';
    try {
      while (this.#wish !== null) {
        const [from, to, parts] = this.#wish;
        this.#wish = null;
        if (to <= from || this.#does(from, to, (to - from) / parts)) continue;
        const [start, end] = around(from, to, this.total);
        const asked = Math.ceil((parts * (end - start)) / (to - from));
        name = `${start} ${end}`;
        if (this.#asked.has(name)) continue;
        this.#asked.add(name);
        this.add(await this.#load(start, end, asked));
        this.problem = null;
      }
    } catch (error) {
      // It may be had when it comes into view again.
      this.#asked.delete(name);
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.#busy = false;
    }
  }
}

const covers = <T>(piece: Piece<T>, other: Piece<T>) =>
  piece.from <= other.from && piece.to >= other.to;
