// Paints the flash: a rectangle of pixels for each page, and a frame around blocks that are being emptied. Only
// changed pages are painted again.
import { between, channels, type FlashColors, pointColor } from '../chart/palette';
import type { FlashLayout } from './layout';
import type { Picture } from './module';
import { PAGE_STATES, TOUCHES } from './module';

/** The steps from the colour of a command to the colour of the state. */
const STEPS = 16;

/** The picture of the flash on a canvas. */
export class Painter {
  readonly #context: CanvasRenderingContext2D;
  #layout: FlashLayout | undefined;
  #image: ImageData | undefined;
  #pixels = new Uint32Array(0);
  /** The colours by state, then by command, then by step: the last step is the state alone. */
  #colors = new Uint32Array(0);
  #background = 0;
  #frame = 0;
  /** The painted state, and the command and its step. */
  #state = new Uint8Array(0);
  #touch = new Uint8Array(0);
  #step = new Uint8Array(0);
  #framed = new Uint8Array(0);
  /** The pages whose last command is still visible. */
  #glowing: number[] = [];
  /** The rows of pixels to show again. */
  #top = Number.POSITIVE_INFINITY;
  #bottom = 0;

  constructor(canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('the browser has no canvas');
    this.#context = context;
  }

  /** Prepares for a layout and colours. The next picture is painted as a whole. */
  prepare(layout: FlashLayout, colors: FlashColors): void {
    const { canvas } = this.#context;
    [canvas.width, canvas.height] = [layout.width, layout.height];
    const image = new ImageData(layout.width, layout.height);
    [this.#layout, this.#image] = [layout, image];
    this.#pixels = new Uint32Array(image.data.buffer);
    const pages = layout.dies * layout.blocksPerDie * layout.pagesPerBlock;
    this.#state = new Uint8Array(pages).fill(0xff);
    this.#touch = new Uint8Array(pages);
    this.#step = new Uint8Array(pages).fill(STEPS);
    this.#framed = new Uint8Array(layout.blockX.length);
    this.#glowing = [];
    this.#background = pointColor(channels(colors.die));
    this.#frame = pointColor(channels(colors.frame));
    this.#colors = new Uint32Array(PAGE_STATES.length * TOUCHES.length * (STEPS + 1));
    let at = 0;
    for (const state of PAGE_STATES) {
      for (const touch of TOUCHES) {
        const from = colors.touches[touch] ?? colors.states[state];
        for (let step = 0; step <= STEPS; step++) {
          this.#colors[at++] = pointColor(between([from, colors.states[state]], step / STEPS));
        }
      }
    }
    // The room between the dies stays transparent.
    for (const { x, y, width, height } of layout.places)
      this.#fill(x, y, width, height, this.#background);
  }

  /** Shows a picture. Commands since the last picture glow if `glow` is true. */
  show(picture: Picture, glow: boolean): void {
    const layout = this.#layout;
    if (layout === undefined || picture.pages.length !== this.#state.length) return;
    const { pages } = picture;
    for (let page = 0; page < pages.length; page++) {
      const byte = pages[page] ?? 0;
      const state = byte & 0xf;
      const touch = byte >> 4;
      if (touch !== 0 && glow) {
        if (this.#step[page] === STEPS) this.#glowing.push(page);
        this.#touch[page] = touch;
        this.#step[page] = 0;
      } else if (state === this.#state[page]) continue;
      this.#state[page] = state;
      this.#paint(layout, page);
    }
    for (let block = 0; block < this.#framed.length; block++) {
      if (picture.emptied[block] !== this.#framed[block]) {
        this.#framed[block] = picture.emptied[block] ?? 0;
        this.#paintFrame(layout, block);
      }
    }
  }

  /** Lets the commands fade by some steps of 16, and puts the changes on the canvas. */
  fade(steps: number): void {
    const layout = this.#layout;
    if (layout === undefined || this.#image === undefined) return;
    if (steps > 0) {
      const glowing = this.#glowing;
      let kept = 0;
      for (const page of glowing) {
        const step = Math.min(STEPS, (this.#step[page] ?? 0) + steps);
        this.#step[page] = step;
        this.#paint(layout, page);
        if (step < STEPS) glowing[kept++] = page;
      }
      glowing.length = kept;
    }
    if (this.#bottom <= this.#top) return;
    const height = this.#bottom - this.#top;
    this.#context.putImageData(this.#image, 0, 0, 0, this.#top, layout.width, height);
    [this.#top, this.#bottom] = [Number.POSITIVE_INFINITY, 0];
  }

  /** True while any command is still visible. */
  get isGlowing(): boolean {
    return this.#glowing.length > 0;
  }

  #paint(layout: FlashLayout, page: number): void {
    const { pagesPerBlock, columns, pitch, cell, blockX, blockY } = layout;
    const block = Math.floor(page / pagesPerBlock);
    const within = page - block * pagesPerBlock;
    const x = (blockX[block] ?? 0) + (within % columns) * pitch;
    const y = (blockY[block] ?? 0) + Math.floor(within / columns) * pitch;
    const state = this.#state[page] ?? 0;
    const touch = this.#touch[page] ?? 0;
    const step = this.#step[page] ?? STEPS;
    const color = this.#colors[(state * TOUCHES.length + touch) * (STEPS + 1) + step] ?? 0;
    this.#fill(x, y, cell, cell, color);
  }

  /** Paints or removes the frame around a block. */
  #paintFrame(layout: FlashLayout, block: number): void {
    const { blockX, blockY, columns, rows, pitch, cell } = layout;
    const thick = Math.max(1, Math.min(3, Math.floor((layout.blockWidth - columns * pitch) / 2)));
    const color = this.#framed[block] === 1 ? this.#frame : this.#background;
    const [x, y] = [(blockX[block] ?? 0) - thick, (blockY[block] ?? 0) - thick];
    const width = (columns - 1) * pitch + cell + 2 * thick;
    const height = (rows - 1) * pitch + cell + 2 * thick;
    this.#fill(x, y, width, thick, color);
    this.#fill(x, y + height - thick, width, thick, color);
    this.#fill(x, y, thick, height, color);
    this.#fill(x + width - thick, y, thick, height, color);
  }

  #fill(x: number, y: number, width: number, height: number, color: number): void {
    const across = this.#layout?.width ?? 0;
    const pixels = this.#pixels;
    for (let row = y; row < y + height; row++) {
      pixels.fill(color, row * across + x, row * across + x + width);
    }
    this.#top = Math.min(this.#top, y);
    this.#bottom = Math.max(this.#bottom, y + height);
  }
}
