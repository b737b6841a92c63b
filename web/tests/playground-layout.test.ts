// The layout of the flash in its picture.
import { describe, expect, it } from 'vitest';
import { type FlashLayout, layOut, pageAt } from '../src/playground/layout';

const DRIVES = [
  { dies: 4, blocksPerDie: 64, pagesPerBlock: 32 },
  { dies: 16, blocksPerDie: 98, pagesPerBlock: 64 },
  { dies: 1, blocksPerDie: 256, pagesPerBlock: 32 },
  { dies: 3, blocksPerDie: 7, pagesPerBlock: 5 },
];
const SIZES = [
  [840, 500, 1],
  [1680, 1000, 2],
  [310, 440, 1],
  [930, 1320, 3],
] as const;

/** Every layout of a drive for a screen. */
function* layouts(): Generator<FlashLayout> {
  for (const of of DRIVES) for (const [w, h, scale] of SIZES) yield layOut(of, w, h, scale);
}

describe('the layout', () => {
  it('has a place of its own for every page, within its die', () => {
    for (const layout of layouts()) {
      const { blockX, blockY, columns, pitch, cell, pagesPerBlock, blocksPerDie } = layout;
      const taken = new Set<number>();
      for (let block = 0; block < blockX.length; block++) {
        const die = layout.places[Math.floor(block / blocksPerDie)];
        for (let page = 0; page < pagesPerBlock; page++) {
          const x = (blockX[block] ?? 0) + (page % columns) * pitch;
          const y = (blockY[block] ?? 0) + Math.floor(page / columns) * pitch;
          expect(die !== undefined && x >= die.x && x + cell <= die.x + die.width).toBe(true);
          expect(die !== undefined && y + cell <= die.y + die.height).toBe(true);
          expect(x + cell <= layout.width && y + cell <= layout.height).toBe(true);
          taken.add(y * layout.width + x);
        }
      }
      expect(taken.size).toBe(blockX.length * pagesPerBlock);
    }
  });

  it('finds the page at a place', () => {
    for (const layout of layouts()) {
      const { blockX, blockY, columns, pitch } = layout;
      const [block, page] = [blockX.length - 1, layout.pagesPerBlock - 1];
      const x = (blockX[block] ?? 0) + (page % columns) * pitch;
      const y = (blockY[block] ?? 0) + Math.floor(page / columns) * pitch;
      expect(pageAt(layout, x, y)).toEqual({ block, page });
      expect(pageAt(layout, 0, 0)).toBeUndefined();
    }
  });

  it('keeps within the height, unless pages would be smaller than two pixels', () => {
    for (const of of DRIVES) {
      for (const [width, height, scale] of SIZES) {
        const layout = layOut(of, width, height, scale);
        expect(layout.height <= height || layout.pitch <= 2 * scale).toBe(true);
      }
    }
  });

  it('refuses a picture that is too narrow for a block', () => {
    expect(() => layOut({ dies: 1, blocksPerDie: 4, pagesPerBlock: 64 }, 6, 500, 1)).toThrow(
      'narrow',
    );
  });
});
