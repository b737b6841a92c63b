import { describe, expect, it } from 'vitest';
import { scaleRamp, shareOf } from '../src/chart/cells';
import { decode, timeOf } from '../src/chart/colours';
import { palette, SLOWNESS } from '../src/chart/palette';
import { comparison } from '../src/chart/response';
import { causesOf, wearLayout } from '../src/chart/simulation';
import { heights } from '../src/chart/stack';
import { during, rowsOf } from '../src/data/neighbours';
import type { Activity, Ios, MicroBenchmark } from '../src/data/views.gen';
import { bytes, inView, percentile } from '../src/format';
import { overlapWords } from '../src/words';

it('decodes the response times behind colour codes', () => {
  const codes = btoa(String.fromCharCode(0, 1, 128, 255));
  const { data } = decode({
    micro_benchmark: 'granularity',
    experiment: 'RW',
    from: 0,
    to: 4,
    ios_per_column: 1,
    low_ns: 1e5,
    high_ns: 1e7,
    rows: [{ run: 3, ios: 4, codes }],
  });
  const times = [...(data.rows.get(3) ?? [])].map((code) => timeOf(code, data));
  expect(times[0]).toBeUndefined();
  expect(times[1]).toBeCloseTo(1e5);
  expect(times[2]).toBeCloseTo(1e6, -1);
  expect(times[3]).toBeCloseTo(1e7);
});

/** The relative luminance of a colour, as WCAG defines it. */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((i) => {
    const channel = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

it('grows lighter from fast to slow', () => {
  const lightness = SLOWNESS.map(luminance);
  expect(lightness.every((value, i) => i === 0 || value > (lightness[i - 1] ?? 1))).toBe(true);
});

it('gives bars readable labels', () => {
  for (const dark of [false, true]) {
    const colors = palette(dark);
    for (const color of Object.values(colors.causes)) {
      const [a, b] = [luminance(color), luminance(colors.onActivity)];
      expect((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), color).toBeGreaterThan(4.5);
    }
  }
});

describe('stacks', () => {
  it('stack each part on those below and skip missing values', () => {
    const part = (...values: (number | null)[]) => ({ name: '', color: () => '', values });
    expect(heights([part(1, null, 1), part(2, 3, 0), part(0, 1)])).toEqual([
      [1, null, 1],
      [3, null, 1],
      [3, null, 1],
    ]);
  });

  it('have the host at the bottom, and what is not known on top', () => {
    const causes = causesOf({ unheard: 0, mapping: 0, host: 0, cleaning: 0 });
    expect(causes).toEqual(['host', 'cleaning', 'mapping', 'unheard']);
  });
});

it('gives each block its own cell in the wear map', () => {
  const unit = (unit: number, cells: number) => ({
    unit,
    first_block: 1000 * unit,
    blocks: cells,
    erases: Array.from({ length: cells }, () => 0),
    erases_since_new: [],
  });
  const layout = wearLayout({ blocks_per_cell: 1, units: [unit(0, 300), unit(1, 129)] });
  expect(layout).toEqual({ lines: 6, first: [0, 4], across: 128 });
  expect(wearLayout({ blocks_per_cell: 1, units: [unit(0, 64), unit(1, 64)] }).lines).toBe(2);
});

it('gives the ticks of a colour scale distinct labels', () => {
  const scale = { name: '', low: 658 * 2 ** 20, high: 658 * 2 ** 20 + 4096, write: bytes };
  const labels = scaleRamp(scale, ['#000000', '#ffffff']).ticks.map(({ label }) => label);
  expect(labels).toHaveLength(5);
  expect(new Set(labels).size).toBe(5);
  const rough = { name: '', low: 0, high: 1, write: () => 'some' };
  expect(scaleRamp(rough, ['#000000', '#ffffff']).ticks).toHaveLength(1);
});

it('finds the place of a number on a scale', () => {
  const scale = { name: '', low: 1, high: 100, write: String };
  expect(shareOf({ ...scale, log: true }, 10)).toBeCloseTo(0.5);
  expect(shareOf(scale, 50.5)).toBeCloseTo(0.5);
  expect(shareOf({ ...scale, high: 1 }, 1)).toBe(1);
});

const ios = (submitted: number[], latency: number[]): Ios => {
  const same = (value: number) => submitted.map(() => value);
  return {
    run: 1,
    ios: 100,
    from: 10,
    submitted_ns: submitted,
    latency_ns: latency,
    offset_bytes: same(0),
    length_bytes: same(4096),
    op: same(1),
    stream: same(0),
    errno: same(0),
    late_ns: same(0),
    activities: [],
  };
};

const merge: Activity = {
  kind: 'full merge',
  start_ns: 20,
  end_ns: 12_320_000,
  unit: 3,
  block: 1207,
  pages_read: 64,
  pages_programmed: 64,
  blocks_erased: 2,
};

it('draws dashed lines above solid ones, which show through their gaps', () => {
  const benchmark = { title: 'Order', parameter: 'Incr', unit: 'count' } as MicroBenchmark;
  const experiments = ['SR', 'RR', 'SW', 'RW'].map((name) => ({ name, values: [] }));
  const spec = comparison(benchmark, experiments, [1, 10], false);
  const dashed = spec.options(palette(false)).series.map(({ dash }) => dash !== undefined);
  expect(dashed).toEqual([false, false, false, true, true]);
  expect(spec.keys?.(palette(false)).map(({ name }) => name)).toEqual([
    'SR (sequential reads)',
    'RR (random reads)',
    'SW (sequential writes)',
    'RW (random writes)',
  ]);
});

describe('IOs beside each other', () => {
  it('put concurrent IOs on different lanes', () => {
    const rows = rowsOf(ios([0, 10, 20, 60, 100], [50, 100, 30, 20, 5]), 10, 15);
    expect(rows.map(({ index, lane }) => [index, lane])).toEqual([
      [10, 0],
      [11, 1],
      [12, 2],
      [13, 0],
      [14, 0],
    ]);
    expect(rowsOf(ios([0, 10, 20], [1, 1, 1]), 11, 12).map(({ index }) => index)).toEqual([11]);
  });

  it('list the activities of an IO, longest first', () => {
    const [io] = rowsOf(ios([0], [12_900_000]), 10, 11);
    if (io === undefined) throw new Error('the IO is missing');
    const short = { ...merge, kind: 'cleaning', start_ns: 5, end_ns: 10 };
    const after = { ...merge, start_ns: 13_000_000, end_ns: 14_000_000 };
    const found = during(io, [short, merge, after]);
    expect(found.map(({ activity }) => activity.kind)).toEqual(['full merge', 'cleaning']);
    expect(found.map((meanwhile) => overlapWords(io, meanwhile))[0]).toBe(
      'During this write the drive did a full merge of block 1207: 64 pages read, 64 programmed, 2 blocks erased. It took 12.3 ms of the 12.9 ms of the write.',
    );
    const long = during(io, [{ ...merge, end_ns: 25_800_000 }])[0];
    expect(long && overlapWords(io, long)).toMatch(
      /of the 12\.9 ms of the write, and 25\.8 ms in all\.$/,
    );
  });
});

it('names the first and last IO in view', () => {
  expect(inView(0, 5120, 5120)).toBe('all 5,120 IOs');
  expect(inView(1200.4, 2399.2, 5120)).toBe('IOs 1,200 to 2,399 of 5,120');
  expect([0, 50, 99.9, 100].map(percentile)).toEqual(['min', 'p50', 'p99.9', 'max']);
});
