import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { makeTwin, makeTwinPrediction } from '../fixtures/make-twin.mjs';
import { hasRatios } from '../src/comparison';
import { Embedded, type EmbeddedMeasurement, type Page } from '../src/data/embedded';
import { parseJson } from '../src/data/json';
import { loadPage } from '../src/data/load';
import { Served } from '../src/data/served';
import { SourceError } from '../src/data/source';
import type { Colours, ComparedNumber, Comparison, Outline } from '../src/data/views.gen';
import { cropColours, cropOutline } from '../src/data/window';

const page = (text: string) =>
  ({ getElementById: () => ({ textContent: text }) }) as unknown as Document;

const packed = (value: object) => gzipSync(JSON.stringify(value)).toString('base64');

const outline: Outline = {
  run: 7,
  ios: 100,
  index: [0, 10, 40, 99],
  submitted_ns: [0, 1, 2, 3],
  latency_ns: [5, 6, 7, 8],
  offset_bytes: [0, 512, 1024, 1536],
  op: [0, 1, 0, 1],
  errno: [0, 0, 0, 0],
};

const colours: Colours = {
  micro_benchmark: 'mix',
  experiment: 'SR/RW',
  from: 0,
  to: 12,
  ios_per_column: 2,
  low_ns: 1,
  high_ns: 100,
  rows: [{ run: 7, ios: 12, codes: btoa('\x01\x09\x03\x00\x00\xff') }],
};

function held(id: string, more: Partial<EmbeddedMeasurement> = {}): EmbeddedMeasurement {
  const device = { name: `/dev/${id}`, model: `Model ${id}`, firmware: 'F1', capacity_bytes: 1024 };
  const manifest = { device, micro_benchmarks: [], started: '2026-01-01T00:00:00Z' };
  const facts = { characteristics: {}, runs: [], schema_version: 4 };
  return { id, name: `name of ${id}`, manifest, facts, ...more } as unknown as EmbeddedMeasurement;
}

describe('pages', () => {
  it('keep all 64 bits of seeds', () => {
    const text = '{"seed":18446744073709551615,"name":"\\"seed\\":12345678901234567890"}';
    expect(parseJson(text)).toEqual({
      seed: '18446744073709551615',
      name: '"seed":12345678901234567890',
    });
  });

  it('are recognized by their content', () => {
    expect(() => loadPage(page('/*REPORT*/'))).toThrow('empty template');
    expect(() => loadPage(page('{"manifest":'))).toThrow('damaged');
    expect(() => loadPage(page('{"manifest":{}}'))).toThrow('damaged');
    expect(loadPage(page('{"served":true}'))).toMatchObject({
      source: { served: true, whatIfs: false, submissions: false },
    });
    expect(loadPage(page('{"served":true,"what_ifs":false,"submissions":true}'))).toMatchObject({
      source: { served: true, whatIfs: false, submissions: true },
    });
    const both = {
      measurements: [held('a'), held('b')],
      simulations: [],
      probes: [],
      sweeps: [],
      comparisons: [],
    };
    expect(loadPage(page(JSON.stringify(both)))).toMatchObject({
      source: { served: false, only: undefined },
    });
  });
});

describe('a page of one item', () => {
  const none = { measurements: [], simulations: [], probes: [], sweeps: [], comparisons: [] };
  const one = { id: 'x', name: 'x' };

  it.each([
    ['measurement', { measurements: [held('x')] }],
    ['simulation', { simulations: [one] }],
    ['probe', { probes: [one] }],
    ['sweep', { sweeps: [one] }],
    ['what_if', { what_ifs: [one] }],
    ['twin', { twins: [one] }],
    ['prediction', { predictions: [one] }],
  ])('knows its %s', (kind, items) => {
    expect(new Embedded({ ...none, ...items } as unknown as Page).only).toEqual({ kind, id: 'x' });
  });

  it('has its what-if on the shelf and returns it', async () => {
    const variant = (status: string | null, field: string) => ({
      ...{ status, workload: 'uniform', drive: 'demo' },
      changes: field === '' ? [] : [{ field, value: '1' }],
    });
    const what_if = {
      status: 'complete',
      base: variant('done', ''),
      variants: [variant('done', 'ftl'), variant('impossible', 'ftl')],
    };
    const source = new Embedded({
      ...none,
      what_ifs: [{ ...one, what_if }],
    } as unknown as Page);
    const { items } = await source.shelf({});
    expect(items).toMatchObject([
      {
        kind: 'what_if',
        runs_done: 2,
        runs_planned: 2,
        factors: ['ftl'],
        workload: 'uniform on demo',
      },
    ]);
    expect(await source.whatIf('x')).toBe(what_if);
    await expect(source.whatIf('y')).rejects.toThrow();
  });

  it('has its twin and its prediction on the shelf and returns them', async () => {
    const twin = makeTwin();
    const prediction = makeTwinPrediction();
    const source = new Embedded({
      ...none,
      twins: [{ id: 't', name: 't', twin }],
      predictions: [{ id: 'p', name: 'p', prediction }],
    } as unknown as Page);
    const { items } = await source.shelf({});
    expect(items.map(({ kind }) => kind)).toEqual(['prediction', 'twin']);
    expect(items[1]?.fitted_to).toEqual(twin.sources);
    expect((await source.shelf({ search: 'one.flashscope' })).items.map(({ id }) => id)).toEqual([
      't',
    ]);
    expect(items[0]?.workload).toBe('zipf?exponent=0.9 on a drive of 231 MiB');
    expect(await source.twin('t')).toBe(twin);
    expect(await source.prediction('p')).toBe(prediction);
    await expect(source.twin('p')).rejects.toThrow();
    await expect(source.prediction('t')).rejects.toThrow();
  });

  it('is not one of two kinds', () => {
    const two = { ...none, simulations: [one], probes: [one] } as unknown as Page;
    expect(new Embedded(two).only).toBeUndefined();
    expect(new Embedded(none).only).toBeUndefined();
  });
});

describe('an embedded source', () => {
  const source = new Embedded({
    measurements: [
      held('a', { outlines: packed([outline]), colours: [colours] }),
      held('b', { outlines: 'SGVsbG8=' }),
    ],
    simulations: [],
    probes: [],
    sweeps: [],
    comparisons: [],
  });

  it('crops tiles, compressed or plain', async () => {
    expect((await source.outline('a', 7, 10, 99)).index).toEqual([10, 40]);
    expect((await source.outline('a', 7, 41, 99)).index).toEqual([]);
    expect((await source.colours('a', 'mix', 'SR/RW', 2, 6)).rows[0]?.codes).toBe(btoa('\x09\x03'));
  });

  it('explains missing and damaged data', async () => {
    const refused = async (asked: Promise<unknown>, words: RegExp) => {
      const error = await asked.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(SourceError);
      expect((error as Error).message).toMatch(words);
    };
    await refused(source.measurement('c'), /no result “c”/);
    await refused(source.outline('a', 8), /no IOs of run 8/);
    await refused(source.outline('b', 7), /damaged.*Create the report again/);
    await refused(source.runView('histogram', 'a', 7), /flashscope serve/);
    await refused(source.ios('a', 7, 0, 10), /no single IOs of run 7.*flashscope serve/);
    await refused(source.colours('a', 'mix', 'SW/RW'), /no colour analysis/);
    await refused(source.simulation('a'), /no simulation/);
  });

  /**
   * A comparison of three results with the n-th. Their random writes take 1, 2 and 4 ns; only c has runs of
   * `mix`.
   */
  function beside(n: number): Comparison {
    const results = [0, 1, 2].map((i) => {
      const [value, first] = [2 ** ((n + i) % 3), 2 ** n];
      const own = { value: { value } };
      return i === 0 ? own : { ...own, ratio: { value: value / first } };
    });
    const mixed = [0, 1, 2].map((i) => ((n + i) % 3 === 2 ? { value: { value: 9 } } : {}));
    const experiment = (name: string, of: ComparedNumber[]) => ({
      micro_benchmark: name,
      experiment: 'RW',
      values: [{ value: 7, results: of }],
    });
    const text = (result: number) => `${result} beside ${n}`;
    return {
      schema_version: 1,
      results: [0, 1, 2].map((i) => ({
        name: 'abc'[(n + i) % 3] as string,
        kind: 'measurement' as const,
        drive: 'sim:demo',
      })),
      conclusions: [1, 2].map((result) => ({ result, text: text((n + result) % 3), evidence: [] })),
      ranking: [0, 1, 2].map((result) => ({ result, place: 1, speed: { value: 1 } })),
      workloads: [
        { name: 'random writes', quantities: [{ quantity: 'latency_ns.mean', results }] },
      ],
      differing_conditions: ['The drives began in different states.'],
      characteristics: [{ name: 'random_write_ns', results }],
      experiments: [experiment('order', results), experiment('mix', mixed)],
    };
  }

  const three = (comparisons: Page['comparisons']) =>
    new Embedded({
      measurements: [held('a'), held('b'), held('c')],
      simulations: [],
      probes: [],
      sweeps: [],
      comparisons,
    });

  it('compares selected results with the first of them', async () => {
    const page = three([beside(0), packed(beside(1)), beside(2)]);
    const found = async (ids: string[]) => {
      const { characteristics, experiments } = await page.comparison(ids);
      expect(experiments[0]?.values[0]?.results).toEqual(characteristics[0]?.results);
      const numbers = characteristics[0]?.results.map(({ value, ratio }) => [
        value?.value,
        ratio?.value,
      ]);
      return [numbers, experiments.map((e) => e.micro_benchmark)];
    };
    expect(await found(['a'])).toEqual([[[1, undefined]], ['order']]);
    expect(await found(['b', 'a'])).toEqual([
      [
        [2, undefined],
        [1, 0.5],
      ],
      ['order'],
    ]);
    expect(await found(['c', 'b', 'a'])).toEqual([
      [
        [4, undefined],
        [2, 0.5],
        [1, 0.25],
      ],
      ['order', 'mix'],
    ]);
  });

  it('keeps the conclusions about the selected results', async () => {
    const page = three([beside(0), beside(1), beside(2)]);
    const whole = await page.comparison(['b', 'c', 'a']);
    expect(whole.conclusions.map(({ result, text }) => [result, text])).toEqual([
      [1, '2 beside 1'],
      [2, '0 beside 1'],
    ]);
    expect([whole.ranking.length, whole.differing_conditions.length]).toEqual([3, 1]);
    const part = await page.comparison(['b', 'a']);
    expect(part.results.map(({ name }) => name)).toEqual(['b', 'a']);
    expect(part.conclusions.map(({ result, text }) => [result, text])).toEqual([[1, '0 beside 1']]);
    expect([part.ranking, part.differing_conditions]).toEqual([[], []]);
    expect(part.workloads[0]?.quantities[0]?.results.length).toBe(2);
    expect((await page.comparison(['b'])).workloads).toEqual([]);
  });

  it('keeps the numbers where relations do not fit', async () => {
    const page = three([beside(0)]);
    expect(hasRatios(await page.comparison(['a', 'c']))).toBe(true);
    const turned = await page.comparison(['c', 'a']);
    expect(hasRatios(turned)).toBe(false);
    expect(turned.characteristics[0]?.results).toEqual([
      { value: { value: 4 } },
      { value: { value: 1 } },
    ]);
    await expect(three([]).comparison(['a'])).rejects.toThrow('no comparison');
  });

  it('searches its shelf as a server does', async () => {
    const found = async (query: object) => (await source.shelf(query)).items.map(({ id }) => id);
    expect(await found({})).toEqual(['a', 'b']);
    expect(await found({ search: 'MODEL b' })).toEqual(['b']);
    expect(await found({ sort: '-name' })).toEqual(['b', 'a']);
    expect(await found({ capacity_min: 2000 })).toEqual([]);
    expect(await found({ kind: 'simulation' })).toEqual([]);
    expect(await source.shelf({ offset: 1, limit: 1 })).toMatchObject({
      total: 2,
      items: [{ id: 'b' }],
    });
  });
});

it('keeps the slowest value of each column', () => {
  const { rows, ...shown } = cropColours(colours, 3, 12, 3);
  expect(shown).toMatchObject({ from: 2, to: 12, ios_per_column: 4 });
  expect(rows).toEqual([{ run: 7, ios: 12, codes: btoa('\x09\x00\xff') }]);
  expect(cropColours(colours)).toBe(colours);
  expect(cropOutline(outline)).toBe(outline);
});

describe('a server', () => {
  /** Replaces the network; returns the list of requests, which grows. */
  function answering(answers: Record<string, () => Response>): string[] {
    const asked: string[] = [];
    vi.stubGlobal('fetch', async (input: RequestInfo | URL, options?: RequestInit) => {
      options?.signal?.throwIfAborted();
      asked.push(`${options?.method ?? 'GET'} ${String(input)}`);
      const answer = answers[String(input)];
      if (answer === undefined) throw new TypeError('refused');
      return answer();
    });
    return asked;
  }

  it('receives each request once where the answer is constant', async () => {
    const measured = '/api/results/a%2Fb';
    const asked = answering({
      [measured]: () => new Response('{"id":"a/b","marks":{"experiments":[]}}'),
      [`${measured}/marks`]: () => new Response(null, { status: 204 }),
      [`${measured}/runs/7/outline?from=0&to=9`]: () => new Response('{"run":7}'),
      '/api/shelf?search=x': () => new Response('{"total":0,"items":[]}'),
      '/api/comparison?ids=a%2Fb,c': () => new Response('{}'),
    });
    const source = new Served();
    await source.measurement('a/b');
    expect(await source.measurement('a/b')).toMatchObject({ id: 'a/b' });
    await source.outline('a/b', 7, 0, 9);
    await source.shelf({ search: 'x' });
    await source.shelf({ search: 'x' });
    await source.comparison(['a/b', 'c']);
    expect(asked).toHaveLength(5);
    const marks = {
      experiments: [{ micro_benchmark: 'mix', experiment: 'RW', interesting: true }],
    };
    await source.setMarks('a/b', marks);
    expect(asked.at(-1)).toBe(`PUT ${measured}/marks`);
    expect((await source.measurement('a/b')).marks).toEqual(marks);
  });

  it('has its refusals, absence and malformed answers explained', async () => {
    answering({
      '/api/results/a': () => new Response('{"error":"no such result"}', { status: 404 }),
      '/api/results/b': () => new Response('<html>', { status: 502, statusText: 'Bad Gateway' }),
      '/api/results/c': () => new Response('<html>'),
    });
    const source = new Served();
    await expect(source.measurement('a')).rejects.toThrow('no such result');
    await expect(source.measurement('b')).rejects.toThrow('502 Bad Gateway');
    await expect(source.measurement('c')).rejects.toThrow('damaged');
    await expect(source.measurement('d')).rejects.toThrow('does not respond');
  });

  it('loses requests that nobody waits for', async () => {
    const asked = answering({ '/api/results/a': () => new Response('{}') });
    const source = new Served();
    await expect(source.measurement('a', AbortSignal.abort())).rejects.toThrow('aborted');
    await source.measurement('a');
    expect(asked).toHaveLength(1);
  });
});
