import { describe, expect, it } from 'vitest';
import { makeTrace } from '../fixtures/make-trace.mjs';
import { cellsOf, heatMap, mapEnd } from '../src/chart/heat';
import { measureScale, sizeLadder, timeLadder, timeSteps, WINDOW } from '../src/chart/measure';
import { heatColor, palette } from '../src/chart/palette';
import * as charts from '../src/chart/trace';
import { loadPage } from '../src/data/load';
import type { Trace, TraceFacts } from '../src/data/trace.gen';

const trace = makeTrace() as Trace;
const { facts } = trace;

/** The facts with changes. */
const having = (change: Partial<TraceFacts>): TraceFacts => ({ ...facts, ...change });

describe('axes', () => {
  it('label times at clock steps that fit', () => {
    expect(timeSteps(0, 260e9, 9)).toEqual(
      [0, 30, 60, 90, 120, 150, 180, 210, 240].map((s) => s * 1e9),
    );
    expect(timeSteps(0, 302_400e9, 4)).toEqual([0, 1, 2, 3].map((d) => d * 86_400e9));
    expect(timeSteps(0, 1000, 3)).toEqual([0, 500, 1000]);
    for (const most of [1, 2, 3, 10]) {
      expect(timeSteps(0, 7e12, most).length).toBeLessThanOrEqual(most + 1);
    }
  });

  it('label powers of two and round times on log scales', () => {
    expect(sizeLadder(300, 5000, 9)).toEqual([512, 1024, 2048, 4096]);
    expect(sizeLadder(1, 2 ** 30, 4)).toHaveLength(4);
    expect(timeLadder(5e8, 5e12, 9)).toEqual([1e9, 1e10, 6e10, 6e11, 3.6e12]);
    expect(timeLadder(1, 1e16, 1)).toHaveLength(2);
  });

  it('have an extent for any values', () => {
    for (const values of [[], [0], [5], [1, 2], [null, 0, 3]]) {
      for (const log of [false, true]) {
        const { range } = measureScale({ ...WINDOW, log }, values);
        const [low, high] = (range as () => [number, number])();
        expect(high, `${values} ${log}`).toBeGreaterThan(low);
        expect(low > 0).toBe(log);
      }
    }
  });
});

describe('over time', () => {
  it('draws steps as rates up to their ends', () => {
    const { steps, step_ns } = facts.series;
    const [x, reads, writes, trims] = charts.requestsOverTime(facts).data;
    expect([x.length, x[1], x.at(-1)]).toEqual([steps.length + 1, step_ns, steps.length * step_ns]);
    const rate = (n = 0) => (n / step_ns) * 1e9;
    expect(reads?.[0]).toBeCloseTo(rate(steps[0]?.requests.reads), 9);
    expect(reads?.at(-1)).toBe(reads?.at(-2));
    expect(writes?.[3]).toBeCloseTo(rate(steps[3]?.requests.writes), 9);
    expect(trims).toHaveLength(steps.length + 1);
    const none = { ...facts.requests, trims: 0 };
    expect(charts.requestsOverTime(having({ requests: none })).data).toHaveLength(3);
  });

  it('starts the footprint at zero and ends at the total', () => {
    const [x, accessed] = charts.footprintGrowth(facts).data;
    expect([x[0], accessed?.[0]]).toEqual([0, 0]);
    expect(accessed?.at(-1)).toBe(facts.series.steps.at(-1)?.accessed_bytes);
  });

  it('maps the selected accesses over their full range', () => {
    const map = { column_ns: 10, row_bytes: 8, rows: 2, read: [0, 5, 0, 1], written: [0, 3, 0, 0] };
    expect(cellsOf(map, 'all')).toEqual({ bytes: [0, 8, 0, 1], columns: 2, least: 1, most: 8 });
    expect(cellsOf(map, 'written')).toMatchObject({ least: 3, most: 3 });
    expect(cellsOf({ ...map, written: [0, 0, 0, 0] }, 'written').most).toBe(0);
    expect(mapEnd(map)).toBe(20);
    expect(mapEnd({ ...map, rows: 0, read: [], written: [] })).toBe(0);
    expect(heatMap(map, 'read').label).toMatch(/Bytes read by time.*2 columns.*in one cell is 5 B/);
  });

  it.each([false, true])('keeps colours within the ramp, dark: %s', (dark) => {
    const colors = palette(dark);
    const rgb = (hex = '') => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
    expect(heatColor(colors, 0)).toBe(`rgb(${rgb(colors.heat[0]).join(' ')})`);
    expect(heatColor(colors, 0.5)).toBe(`rgb(${rgb(colors.heat[2]).join(' ')})`);
    expect(heatColor(colors, 1)).toBe(`rgb(${rgb(colors.heat[4]).join(' ')})`);
    expect(heatColor(colors, 7)).toBe(heatColor(colors, 1));
  });
});

describe('distributions', () => {
  it('keep empty powers of two and zero', () => {
    expect(charts.octaves([512, 4096])).toEqual([512, 1024, 2048, 4096]);
    expect(charts.octaves([0, 8, 32])).toEqual([0, 8, 16, 32]);
    expect(charts.octaves([0])).toEqual([0]);
    expect(charts.octaves([])).toEqual([]);
  });

  it('stack reads below writes and omit empty bars', () => {
    const [x, all, reads] = charts.sizes(facts).data;
    expect(x).toHaveLength(9); // 512 B to 128 KiB.
    const at = (size: number) => facts.sizes?.histogram.find((b) => b.size_bytes === size);
    const [first, none] = [at(512), at(1024)];
    expect(none).toBeUndefined();
    expect([all?.[0], reads?.[0]]).toEqual([
      (first?.reads ?? 0) + (first?.writes ?? 0),
      first?.reads,
    ]);
    expect([all?.[1], reads?.[1]]).toEqual([null, null]);
  });

  it('give a sampled working set its interval', () => {
    expect(charts.workingSet(facts).data).toHaveLength(4);
    const exact = having({ sampling: { ...facts.sampling, rate: 1 } });
    expect(charts.workingSet(exact).data).toHaveLength(2);
  });

  it('draw writes only where there are any', () => {
    expect(charts.concentration(facts).data).toHaveLength(4);
    expect(charts.concentration(having({ write_concentration: null })).data).toHaveLength(3);
  });
});

it('distinguishes a trace from a result', () => {
  const page = (held: object) =>
    ({ getElementById: () => ({ textContent: JSON.stringify(held) }) }) as unknown as Document;
  expect(loadPage(page(trace))).toEqual({ trace });
  const empty = { measurements: [], simulations: [], probes: [], sweeps: [], comparisons: [] };
  expect(loadPage(page(empty))).toHaveProperty('source');
});
