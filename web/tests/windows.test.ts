import { describe, expect, it } from 'vitest';
import { convert, dotsOf, pieceOf, windowsOf } from '../src/data/dots';
import type { Source } from '../src/data/source';
import type { Outline } from '../src/data/views.gen';
import { around, type Piece, Windows } from '../src/data/windows.svelte';

/** Waits until every request has its answer. */
const settled = () => new Promise((done) => setTimeout(done, 5));

const piece = (from: number, to: number, step: number): Piece<string> => ({
  from,
  to,
  step,
  data: `${from} ${to}`,
});

it('requests a stable region around the view', () => {
  for (let from = 0; from < 9_990_000; from += 98_765) {
    for (const span of [1, 7, 1000, 65_536, 400_000]) {
      const to = Math.min(10_000_000, from + span);
      const [start, end] = around(from, to, 10_000_000);
      expect(start).toBeLessThanOrEqual(from);
      expect(end).toBeGreaterThanOrEqual(to);
      expect(start).toBeGreaterThanOrEqual(0);
      expect(end).toBeLessThanOrEqual(10_000_000);
      expect(end - start).toBeLessThanOrEqual(Math.max(2, 4 * span));
    }
  }
  expect(around(5000, 6000, 1e7)).toEqual(around(5001, 6001, 1e7));
});

describe('loaded windows', () => {
  it('draws each part once, at its finest', () => {
    const windows = new Windows<string>(1000, () => Promise.reject(new Error('not asked')));
    windows.add(piece(0, 1000, 10));
    windows.add(piece(200, 400, 2));
    windows.add(piece(300, 350, 1));
    const parts = windows.over(100, 500).map(({ from, to, piece }) => [from, to, piece.step]);
    expect(parts).toEqual([
      [100, 200, 10],
      [200, 300, 2],
      [300, 350, 1],
      [350, 400, 2],
      [400, 500, 10],
    ]);
  });

  it('requests only missing data, one region at a time', async () => {
    const asked: string[] = [];
    let open = 0;
    const windows = new Windows<string>(100_000, async (from, to, parts) => {
      expect(++open).toBe(1);
      await settled();
      open -= 1;
      asked.push(`${from} ${to}`);
      return piece(from, to, Math.max(1, (to - from) / parts));
    });
    windows.add(piece(0, 100_000, 100));
    windows.request(0, 100_000, 1000);
    for (let from = 0; from < 100; from++) windows.request(from, from + 2000, 500);
    await new Promise((done) => setTimeout(done, 60));
    windows.request(50, 2050, 500);
    await settled();
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.length).toBeLessThanOrEqual(2);
    expect(windows.over(50, 2050).every(({ piece }) => piece.step <= 8)).toBe(true);
  });

  it('reports failures and keeps loaded data', async () => {
    const windows = new Windows<string>(1000, () => Promise.reject(new Error('gone')));
    windows.add(piece(0, 1000, 10));
    windows.request(0, 100, 100);
    await settled();
    expect(windows.problem).toBe('gone');
    expect(windows.over(0, 100)).toHaveLength(1);
  });
});

/**
 * An outline with every second IO of a run of 1000 IOs, submitted about 100 ns apart, not always in
 * order.
 */
const outline = (from: number, to: number): Outline => {
  const index = Array.from({ length: (to - from) / 2 }, (_, i) => from + 2 * i);
  return {
    run: 1,
    ios: 1000,
    index,
    submitted_ns: index.map((i) => 100 * (i % 4 === 0 ? i + 3 : i)),
    latency_ns: index.map(() => 50),
    offset_bytes: index.map(() => 0),
    op: index.map((i) => i % 3),
    errno: index.map((i) => (i === 500 ? 5 : 0)),
  };
};

describe('dots of a run', () => {
  it('are sorted along both axes by kind', () => {
    const { rows } = dotsOf(outline(0, 1000), 10);
    for (const { at } of Object.values(rows)) {
      expect(at.every((x, i) => i === 0 || x >= (at[i - 1] ?? 0))).toBe(true);
    }
    expect([...rows.index.kind.slice(0, 7)]).toEqual([0, 0, 0, 0, 0, 2, 1]);
    expect(rows.index.kind[250]).toBe(4);
  });

  it('convert between position and time', async () => {
    const source = { outline: async () => outline(0, 1000) } as unknown as Source;
    const windows = windowsOf(source, 'x', 1, outline(0, 1000), 0);
    const time = convert(windows, 601, 'index', 'time');
    expect(Math.abs(time - 60_100)).toBeLessThanOrEqual(300);
    expect(Math.abs(convert(windows, time, 'time', 'index') - 601)).toBeLessThanOrEqual(3);
  });

  it('know when they are complete', () => {
    expect(pieceOf(outline(0, 1000), 0, 1000, 0).step).toBe(4);
    expect(pieceOf(outline(0, 1000), 0, 500, 0).step).toBe(1);
  });
});
