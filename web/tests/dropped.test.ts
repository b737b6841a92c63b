// Files that are dropped on a page, or chosen there, open in it.

import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeReport, onePage } from '../fixtures/make-fixture.mjs';
import { makeProbe } from '../fixtures/make-probe.mjs';
import { makeSimulation } from '../fixtures/make-simulation.mjs';
import { makeSweep } from '../fixtures/make-sweep.mjs';
import { makePrediction, makeTwin, makeTwinPrediction } from '../fixtures/make-twin.mjs';
import { serve } from '../fixtures/server.mjs';
import { stepsOf } from '../fixtures/what-if.mjs';
import { DropSource } from '../src/data/dropped';
import { Embedded } from '../src/data/embedded';
import type { Simulation } from '../src/data/simulation.gen';
import { Bench, drawAll, overflow, template, violations } from './browser';

const EMPTY = { measurements: [], simulations: [], probes: [], sweeps: [], comparisons: [] };
const whatIf = stepsOf({ variants: [{ changes: 'workload.trims=0.2' }] }).at(-1);
const { manifest, facts } = makeReport();

let bench: Bench;
let address: string;
let served: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  bench = await Bench.start();
  address = await bench.write('drop', onePage(makeReport()));
  served = await serve(await template(), [], {});
}, 300_000);

afterAll(async () => {
  await bench?.stop();
  await served?.stop();
});

type Files = Record<string, unknown>;
const text = (content: unknown) =>
  typeof content === 'string' ? content : JSON.stringify(content);

/** Drops files on the page, as a browser does. */
async function drop(page: Page, files: Files) {
  const contents = Object.entries(files).map(([name, content]) => [name, text(content)] as const);
  await page.evaluate((all) => {
    const dataTransfer = new DataTransfer();
    for (const [name, content] of all) dataTransfer.items.add(new File([content], name));
    for (const type of ['dragover', 'drop']) {
      document.body.dispatchEvent(
        new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }),
      );
    }
  }, contents);
}

/** The documents, each as the files that hold it. */
const DOCUMENTS: [kind: string, files: Files][] = [
  ['simulation', { 'a run.json': makeSimulation() }],
  ['probe', { 'probe.json': makeProbe() }],
  ['sweep', { 'sweep.json': makeSweep().sweep }],
  ['what-if', { 'what-if.json': whatIf }],
  ['twin', { 'drive.twin.json': makeTwin() }],
  ['prediction', { 'prediction.json': makePrediction() }],
  ['prediction of a twin', { 'expected.json': makeTwinPrediction() }],
  ['report', { 'drive.json': makeReport() }],
  ['result', { 'manifest.json': manifest, 'facts.json': facts }],
];

describe.each(['a file', 'a server'])('on the page of %s', (where) => {
  const visit = (what: (page: Page) => Promise<void>, options = {}) =>
    bench.visit(where === 'a file' ? address : served.address, what, options);

  it.each(DOCUMENTS)('a dropped %s opens', (kind, files) =>
    visit(async (page) => {
      await page.getByLabel('Drop a result, a trace, a profile or a CSV on this page').waitFor();
      await drop(page, files);
      await page.waitForFunction(() =>
        /^#\/(s|p|w|what-if|twin|prediction|d)\//.test(location.hash),
      );
      await page.getByRole('region', { name: 'Conclusions' }).waitFor();
      expect(await page.getByRole('alert').count(), kind).toBe(0);
    }),
  );

  it('says what it cannot open, and where it opens', () =>
    visit(async (page) => {
      await page.getByLabel('Drop a result, a trace, a profile or a CSV on this page').waitFor();
      await drop(page, {
        'drive.toml': 'ftl = "page-mop"',
        'records.parquet': 'PAR1',
        'trace.csv.zst': '1,2,3',
        'notes.txt': 'once upon a time',
        'odd.csv': 'a,b\n1\n',
        'other.json': { a: 1 },
        'broken.json': '{',
        'manifest.json': manifest,
      });
      const alert = page.getByRole('alert');
      await alert.waitFor();
      const words = await alert.innerText();
      for (const expected of [
        'The playground cannot show drive.toml: ',
        'page-map',
        'The page cannot read records.parquet. Records open with',
        'The page cannot read trace.csv.zst. Decompress it first',
        'notes.txt is not a trace that flashscope reads',
        'As a table, it has 2 columns, and 1 fields in row 1.',
        'other.json is JSON, but no result that this page shows.',
        'broken.json is no document of flashscope',
        'manifest.json needs facts.json of the same folder',
      ]) {
        expect(words).toContain(expected);
      }
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Dismiss' }).click();
      expect(await alert.count()).toBe(0);
    }));
});

describe('other files', () => {
  /** Drops a file of the project. */
  const dropFile = async (page: Page, path: string) => {
    const bytes = await readFile(new URL(`../../${path}`, import.meta.url));
    const name = path.split('/').at(-1) as string;
    await page.getByLabel('Drop a result, a trace, a profile or a CSV on this page').waitFor();
    await page.evaluate(
      ([name, base64]) => {
        const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([bytes], name));
        document.body.dispatchEvent(
          new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }),
        );
      },
      [name, bytes.toString('base64')] as const,
    );
  };

  it.each([
    ['testdata/traces/msr.csv', 'msr'],
    ['testdata/traces/blktrace.v7.blktrace', 'blktrace'],
    ['docs/examples/web.csv.gz', 'msr'],
  ])('the trace %s shows its statistics', (path, format) =>
    bench.visit(address, async (page) => {
      await dropFile(page, path);
      await page.getByText(new RegExp(`^${format} · [\\d,]+ requests? in`)).waitFor();
      expect(await page.title()).toContain(path.split('/').at(-1));
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(await violations(page)).toEqual([]);
    }),
  );

  it('a profile opens the playground with that drive', () =>
    bench.visit(address, async (page) => {
      await dropFile(page, 'profiles/agrawal-2008.toml');
      await page.getByRole('heading', { name: 'Inside a flash drive' }).waitFor();
      await page.getByText('16,384 of its 8,388,608 pages').waitFor();
      expect(await page.getByLabel('Model').inputValue()).toBe('dropped agrawal-2008.toml');
      await page.locator('.corner').first().waitFor();
      await page.getByText("--drive 'agrawal-2008.toml?flash.").waitFor({ state: 'attached' });
      expect(await page.getByRole('alert').count()).toBe(0);
    }));

  it.each(['light', 'dark'] as const)('a CSV shows its rows and curves, %s', (colorScheme) =>
    bench.visit(
      address,
      async (page) => {
        await drop(page, { 'depths.csv': 'depth,iops,drive\n1,9000,a\n4,30000,a\n16,90000,a\n' });
        await page.getByRole('heading', { name: 'depths.csv (dropped)', level: 1 }).waitFor();
        await page.getByText('3 rows of 3 columns.').waitFor();
        expect(await page.getByRole('combobox').inputValue()).toBe('0');
        expect(await page.getByRole('checkbox', { name: 'iops' }).isChecked()).toBe(true);
        await drawAll(page);
        expect(await page.locator('tbody tr').count()).toBe(3);
        expect(await overflow(page)).toBe(0);
        expect(await violations(page)).toEqual([]);
      },
      { colorScheme, viewport: { width: 390, height: 800 } },
    ),
  );
});

it('files can be chosen without a pointer', () =>
  bench.visit(address, async (page) => {
    const chooser = page.waitForEvent('filechooser');
    await page.getByLabel('Drop a result, a trace, a profile or a CSV on this page').click();
    const buffer = Buffer.from(JSON.stringify(makeSimulation()));
    const file = { name: 'chosen.json', mimeType: 'application/json', buffer };
    await (await chooser).setFiles(file);
    await page.getByRole('heading', { name: 'chosen (dropped)', level: 1 }).waitFor();
  }));

it.each(['light', 'dark'] as const)('fits a phone and is accessible, %s', (colorScheme) =>
  bench.visit(
    address,
    async (page) => {
      await drop(page, { 'a.parquet': '' });
      await page.getByRole('alert').waitFor();
      expect(await overflow(page)).toBe(0);
      expect(await violations(page)).toEqual([]);
    },
    { colorScheme, viewport: { width: 390, height: 800 } },
  ),
);

describe('dropped documents', () => {
  const json = (name: string, content: unknown, path = '') => {
    const file = new File([text(content)], name);
    Object.defineProperty(file, 'webkitRelativePath', { value: path });
    return file;
  };
  const source = () => new DropSource(new Embedded(EMPTY));

  it('with the same name stay apart', async () => {
    const dropped = source();
    const [first, second] = [makeSimulation(), { ...makeSimulation(), ios: 7 }];
    const { opened } = await dropped.take([json('a.json', first), json('a.json', second)]);
    expect(opened.map(({ id }) => id)).toEqual(['a (dropped)', 'a (dropped 2)']);
    expect((await dropped.simulation('a (dropped 2)')) satisfies Simulation).toHaveProperty(
      'ios',
      7,
    );
  });

  it('have the names of their folders, and the facts of the same folder', async () => {
    const dropped = source();
    const other = { ...facts, runs: [] };
    const { opened, problems } = await dropped.take([
      json('facts.json', other, 'b.flashscope/facts.json'),
      json('manifest.json', manifest, 'a.flashscope/manifest.json'),
      json('facts.json', facts, 'a.flashscope/facts.json'),
    ]);
    expect([opened, problems]).toEqual([[{ kind: 'measurement', id: 'a (dropped)' }], []]);
    expect((await dropped.measurement('a (dropped)')).facts.runs.length).toBe(facts.runs.length);
  });

  it('are not compared with others', async () => {
    const dropped = source();
    await dropped.take([json('drive.json', makeReport())]);
    expect(() => dropped.comparison(['drive (dropped)', 'x'])).toThrow('compare results with');
  });
});
