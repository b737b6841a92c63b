// The positions of dies, blocks and pages in the picture of the flash.

/** The dimensions of a drive. */
export interface Dimensions {
  dies: number;
  blocksPerDie: number;
  pagesPerBlock: number;
}

/** A die: its corner and its size in pixels of the picture. */
export interface DiePlace {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The layout of a picture, in its own pixels. */
export interface FlashLayout extends Dimensions {
  width: number;
  height: number;
  /** The distance between two pages, and the side of a page. */
  pitch: number;
  cell: number;
  /** The pages in a row of a block, and its rows. */
  columns: number;
  rows: number;
  /** The distance between two blocks. */
  blockWidth: number;
  blockHeight: number;
  /** The blocks in a row of a die. */
  across: number;
  places: DiePlace[];
  /** The position of the first page of each block. */
  blockX: Int32Array;
  blockY: Int32Array;
}

/** The maximum distance between two pages, in CSS pixels. */
const MAX_PITCH = 18;

/** The gap between blocks, in which the frame of a block is drawn. */
const gapOf = (pitch: number) => (pitch > 2 ? Math.max(3, Math.round(pitch / 2)) : 2);

/** The height of the label of a die, relative to `scale`. */
export const LABEL = 20;

/** The gap between dies, relative to `scale`. */
const DIE_GAP = 14;

/** The minimum side of a page in CSS pixels, even if the picture exceeds the requested height. */
const MIN_SIDE = 2;

/**
 * Lays out the flash in a picture of this width, with pages as large as fit into `height`. Pages
 * are at least two CSS pixels wide if a block then fits into the width, and the picture of a large
 * drive may be higher than `height`. `scale` is the number of picture pixels per CSS pixel.
 */
export function layOut(of: Dimensions, width: number, height: number, scale: number): FlashLayout {
  const least = Math.max(1, Math.round(MIN_SIDE * scale));
  for (let pitch = Math.round(MAX_PITCH * scale); pitch >= 1; pitch--) {
    const layout = withPitch(of, width, scale, pitch);
    if (layout !== undefined && (layout.height <= height || pitch <= least)) return layout;
  }
  throw new Error(`a picture of ${width} pixels is too narrow for a block`);
}

/** The lowest layout with this distance between two pages, if a block fits into the width. */
function withPitch(
  of: Dimensions,
  width: number,
  scale: number,
  pitch: number,
): FlashLayout | undefined {
  const columns = 2 ** Math.ceil(Math.log2(of.pagesPerBlock) / 2);
  const rows = Math.ceil(of.pagesPerBlock / columns);
  const label = Math.round(LABEL * scale);
  const dieGap = Math.round(DIE_GAP * scale);
  const gap = gapOf(pitch);
  const [blockWidth, blockHeight] = [columns * pitch + gap, rows * pitch + gap];
  let best: FlashLayout | undefined;
  for (let dieColumns = of.dies; dieColumns >= 1; dieColumns--) {
    const dieWidth = Math.floor((width - (dieColumns - 1) * dieGap) / dieColumns);
    const across = Math.floor((dieWidth - gap) / blockWidth);
    if (across < 1) continue;
    const down = Math.ceil(of.blocksPerDie / across);
    // Spreads the blocks evenly over the rows.
    const even = Math.ceil(of.blocksPerDie / down);
    const dieHeight = label + down * blockHeight + gap;
    const dieRows = Math.ceil(of.dies / dieColumns);
    const used = dieRows * dieHeight + (dieRows - 1) * dieGap;
    if (best !== undefined && best.height <= used) continue;
    const places = Array.from({ length: of.dies }, (_, die) => ({
      x: (die % dieColumns) * (dieWidth + dieGap),
      y: Math.floor(die / dieColumns) * (dieHeight + dieGap),
      width: even * blockWidth + gap,
      height: dieHeight,
    }));
    const size = { blockWidth, blockHeight, width, height: used };
    best = withBlocks({ ...of, ...size, pitch, columns, rows, across: even, places }, label, gap);
  }
  return best;
}

function withBlocks(
  layout: Omit<FlashLayout, 'cell' | 'blockX' | 'blockY'>,
  label: number,
  gap: number,
): FlashLayout {
  const { dies, blocksPerDie, across, blockWidth, blockHeight, places, pitch } = layout;
  const blockX = new Int32Array(dies * blocksPerDie);
  const blockY = new Int32Array(dies * blocksPerDie);
  for (let block = 0; block < blockX.length; block++) {
    const within = block % blocksPerDie;
    const { x = 0, y = 0 } = places[Math.floor(block / blocksPerDie)] ?? {};
    blockX[block] = x + gap + (within % across) * blockWidth;
    blockY[block] = y + label + gap + Math.floor(within / across) * blockHeight;
  }
  return { ...layout, cell: pitch > 3 ? pitch - 1 : pitch, blockX, blockY };
}

/** The block and the page at a position of the picture, if there is one. */
export function pageAt(
  layout: FlashLayout,
  x: number,
  y: number,
): { block: number; page: number } | undefined {
  const { blockX, blockY, columns, rows, pitch, pagesPerBlock } = layout;
  for (let block = 0; block < blockX.length; block++) {
    const column = Math.floor((x - (blockX[block] ?? 0)) / pitch);
    const row = Math.floor((y - (blockY[block] ?? 0)) / pitch);
    const page = row * columns + column;
    if (column >= 0 && column < columns && row >= 0 && row < rows && page < pagesPerBlock) {
      return { block, page };
    }
  }
  return undefined;
}
