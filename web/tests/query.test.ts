// The search for IOs in the page: the module (crates/query), and the IOs that a page contains.
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { queryModule } from '../fixtures/make-fixture.mjs';
import { COLUMNS } from '../src/data/columns.gen';
import { search } from '../src/data/matches';
import { FIELDS, QueryModule } from '../src/data/query';
import { SourceError } from '../src/data/source';
import type { Ios, Manifest } from '../src/data/views.gen';

let query: QueryModule;
beforeAll(async () => {
  const packed = queryModule();
  if (packed === '') throw new Error('the search is missing: run `make playground`');
  query = await QueryModule.start(new Uint8Array(gunzipSync(Buffer.from(packed, 'base64'))));
});

/** An IO that was a write of 20 ms at 12 KiB. */
const row = (change: Record<string, number> = {}) => ({
  run: 5,
  position: 7,
  values: COLUMNS.map(({ name }) => {
    const known: Record<string, number> = { latency_ns: 20e6, offset_bytes: 12_288, op: 1 };
    return { ...known, ...change }[name] ?? 0;
  }),
});

it('is small', () => {
  // A page of a full demo has 10 MB; the search must add little to it.
  expect(queryModule().length).toBeLessThan(52_000);
});

describe('the module', () => {
  it('takes expressions in their canonical form', () => {
    expect(query.parse('latency>10ms AND not (op=read)')).toBe('latency > 10 ms and not op = read');
    expect(query.matches(row())).toBe(true);
    expect(query.matches(row({ op: 0 }))).toBe(false);
    expect(query.matches(row({ latency_ns: 10e6 }))).toBe(false);
  });

  it('compares numbers beyond 2⁵³ and names in other alphabets', () => {
    query.parse('offset > 8191 TiB and experiment = "é ü"');
    query.name('granularity', 'é ü');
    expect(query.matches(row({ offset_bytes: 2 ** 53 }))).toBe(true);
    query.name('granularity', 'RW');
    expect(query.matches(row({ offset_bytes: 2 ** 53 }))).toBe(false);
  });

  it('names the place of an error', () => {
    for (const [text, place] of [
      ['op = read and latncy > 1 ms', [14, 20]],
      ['“ > 1 ms', [0, 1]],
      ['latency > ', [10, 10]],
    ] as const) {
      const error = (() => {
        try {
          query.parse(text);
        } catch (reason) {
          return reason;
        }
        return undefined;
      })();
      expect(error).toBeInstanceOf(SourceError);
      expect((error as SourceError).place, text).toEqual(place);
    }
  });

  it('knows every field that the page lists', () => {
    for (const [name] of FIELDS) expect(query.parse(`${name} = ${name}`), name).toContain(name);
  });
});

describe('a search of the IOs in a page', () => {
  const run = (id: number) => ({ id, value: 4096, progress: { status: 'done', ios: 100 } });
  const manifest = {
    micro_benchmarks: [
      { name: 'order', experiments: [{ name: 'SW', runs: [run(1), run(2)] }] },
      { name: 'locality', experiments: [{ name: 'RW', runs: [run(3)] }] },
    ],
  } as unknown as Manifest;
  const part = (id: number, from: number, latencies: number[]): Ios =>
    ({
      run: id,
      ios: 100,
      from,
      ...Object.fromEntries(COLUMNS.map(({ name }) => [name, latencies.map(() => 1)])),
      latency_ns: latencies,
      activities: [],
    }) as unknown as Ios;
  // The parts of run 1 overlap in position 11.
  const parts = [part(1, 10, [3e6, 5e6]), part(1, 11, [5e6, 1e6]), part(3, 0, [9e6])];

  it('counts each IO once, and those that the page lacks', () => {
    const found = search(query, 'latency > 2 ms', 10, manifest, parts);
    expect(found).toMatchObject({ ios: 300, matched: 3, excluded: 0, unread: 296 });
    expect(found.runs.map(({ run: id, matched }) => [id, matched])).toEqual([
      [1, 2],
      [3, 1],
    ]);
    expect(found.slowest).toMatchObject({
      run: [3, 1, 1],
      position: [0, 11, 10],
      latency_ns: [9e6, 5e6, 3e6],
    });
    expect(search(query, 'latency > 2 ms', 1, manifest, parts).slowest.run).toEqual([3]);
  });

  it('excludes runs as a whole', () => {
    const found = search(query, 'micro_benchmark = locality and op = write', 10, manifest, parts);
    expect(found).toMatchObject({ matched: 1, excluded: 200, unread: 99 });
    expect(search(query, 'run = 7', 10, manifest, parts)).toMatchObject({ matched: 0, unread: 0 });
  });
});
