// The window of a zoomable axis, which all charts of a screen share.

/** A range of an axis. */
export type Window = readonly [from: number, to: number];

/** The zoom factor of one step. */
const STEP = 2;

/** The distance of one scrolling step, as a share of the window. */
const STRIDE = 0.25;

/** The window of an axis that can be zoomed and scrolled. */
export class Zoom {
  /** The whole axis. */
  readonly whole: Window;
  /** The minimum length of the window. */
  readonly least: number;
  #window = $state.raw<Window>([0, 1]);

  constructor(whole: Window, least: number, window: Window = whole) {
    this.whole = whole[1] > whole[0] ? whole : [whole[0], whole[0] + 1];
    this.least = Math.min(least, this.whole[1] - this.whole[0]);
    this.show(...window);
  }

  get from(): number {
    return this.#window[0];
  }

  get to(): number {
    return this.#window[1];
  }

  get span(): number {
    return this.to - this.from;
  }

  get isWhole(): boolean {
    return this.from <= this.whole[0] && this.to >= this.whole[1];
  }

  /** Brings a range into view, widened to `least` and moved to lie within the whole. */
  show(from: number, to: number): void {
    const [start, end] = this.whole;
    const [low, high] = [Math.min(from, to), Math.max(from, to)];
    if (!Number.isFinite(low) || !Number.isFinite(high)) return;
    const span = Math.min(end - start, Math.max(this.least, high - low));
    const middle = (low + high) / 2;
    const first = Math.min(end - span, Math.max(start, middle - span / 2));
    if (first !== this.from || first + span !== this.to) this.#window = [first, first + span];
  }

  /** Zooms by a factor, in if it is above 1. The position `about` stays where it is. */
  by(factor: number, about = (this.from + this.to) / 2): void {
    const span = Math.max(this.least, this.span / factor);
    const share = (about - this.from) / this.span;
    const from = about - share * span;
    this.show(from, from + span);
  }

  in(): void {
    this.by(STEP);
  }

  out(): void {
    this.by(1 / STEP);
  }

  /** Scrolls by a distance on the axis, up to the ends of the whole. */
  move(distance: number): void {
    const room = distance < 0 ? this.whole[0] - this.from : this.whole[1] - this.to;
    const way = distance < 0 ? Math.max(distance, room) : Math.min(distance, room);
    this.show(this.from + way, this.to + way);
  }

  back(): void {
    this.move(-STRIDE * this.span);
  }

  on(): void {
    this.move(STRIDE * this.span);
  }

  reset(): void {
    this.show(...this.whole);
  }
}
