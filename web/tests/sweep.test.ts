// The screen of a sweep, in a page and from a server.

import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeSweep } from '../fixtures/make-sweep.mjs';
import { serve } from '../fixtures/server.mjs';
import { bySize, levelText, ordered, writer } from '../src/data/sweep';
import type { ExploredSweep } from '../src/data/views.gen';
import { parseRoute, sweepHref } from '../src/route';
import { Bench, drawAll, inked, overflow, template, violations } from './browser';

const ID = 'trade offs';
const HASH = sweepHref(ID);
let bench: Bench;
let embedded: string;
let drawn: string;
let served: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  const of = (sweep: object) => [{ id: ID, name: ID, sweep }];
  const page = { measurements: [], simulations: [], probes: [] };
  bench = await Bench.start();
  embedded = await bench.write('sweep', { ...page, sweeps: of(makeSweep()) });
  const unfinished = makeSweep({ drawn: true, status: 'unfinished' });
  drawn = await bench.write('drawn', { ...page, sweeps: of(unfinished) });
  served = await serve(await template(), [], { sweeps: of(makeSweep()) });
}, 300_000);

afterAll(async () => {
  await bench?.stop();
  await served?.stop();
});

/** The address of the screen. */
const address = (kind: 'embedded' | 'served') =>
  (kind === 'embedded' ? embedded : served.address) + HASH;

/** The cells of a table, row by row, without its headings. */
const cells = (page: Page, name: string) =>
  page
    .getByRole('region', { name: new RegExp(`^${name}, scrollable table`) })
    .locator('tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) => [...row.children].map((cell) => (cell.textContent ?? '').trim())),
    );

/** Checks the parts of the screen that every source shows. */
async function isShown(page: Page) {
  await page.getByRole('heading', { name: ID, level: 1 }).waitFor();
  const effects = await cells(page, 'Effects on write_amplification');
  expect(effects.map(([change, does]) => [change, does])).toEqual([
    ['over_provisioning: 0.1 → 0.3', 'lowers'],
    ['cleaning.policy: greedy → fifo', 'raises'],
    ['workload.reads: 0 → 0.5', 'not significant'],
  ]);
  const skipped = await cells(page, 'Skipped points');
  expect(skipped.map(([points, as]) => [points, as])).toEqual([
    ['2', 'impossible'],
    ['1', 'failed'],
  ]);
  expect(await page.getByText('# <not> a tag').count()).toBe(1);
}

describe('a sweep', () => {
  it.each(['embedded', 'served'] as const)('shows counts, effects and skipped points, %s', (kind) =>
    bench.visit(address(kind), async (page) => {
      await isShown(page);
      expect(await page.getByText('mean difference over all pairs').count()).toBe(1);
      expect(await page.getByText('This sweep is not finished').count()).toBe(0);
      await page.getByRole('button', { name: 'ios_per_second', exact: true }).first().click();
      const [[change] = []] = await cells(page, 'Effects on ios_per_second');
      expect(change).toBe('over_provisioning: 0.1 → 0.3');
    }),
  );

  it('names the regression and its progress', () =>
    bench.visit(drawn + HASH, async (page) => {
      await page.getByText('a regression over 24 points').waitFor();
      await page.getByText('87.6 % of the variance').waitFor();
      await page.getByText('This sweep is not finished').waitFor();
    }));

  it('shows the front for any two objectives', () =>
    bench.visit(address('embedded'), async (page) => {
      expect(await drawAll(page)).toBe(1);
      expect(await inked(page, 0)).toBeGreaterThan(0.005);
      const first = (await cells(page, 'Pareto front'))[0] ?? [];
      const chart = page.getByRole('img', { name: /24 points by write_amplification/ });
      await chart.focus();
      await page.keyboard.press('ArrowRight');
      const said = page.locator('[aria-live]').filter({ hasText: 'on the front' });
      await said.waitFor();
      expect(await said.textContent()).toMatch(/cleaning\.policy greedy.*over_provisioning 0\.3/);
      expect(first).toContain('greedy');
      await page.getByRole('combobox', { name: 'Horizontal' }).selectOption('ios_per_second');
      await page.getByRole('img', { name: /by ios_per_second and ios_per_second/ }).waitFor();
    }));

  it('sorts its points and saves them in full', () =>
    bench.visit(address('embedded'), async (page) => {
      const heading = page.getByRole('columnheader', { name: 'over_provisioning' }).last();
      const spare = async () => (await cells(page, 'Points')).map((row) => row[3]);
      await heading.getByRole('button').click();
      expect((await spare())[0]).toBe('0.1');
      expect(await heading.getAttribute('aria-sort')).toBe('ascending');
      await heading.getByRole('button').click();
      expect((await spare())[0]).toBe('0.3');
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Save the table Points as CSV' }).click(),
      ]);
      const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
      expect(lines.length).toBe(25);
      expect(lines[0]).toMatch(/^point,front,cleaning\.policy,over_provisioning/);
    }));

  it.each(['light', 'dark'] as const)('is accessible, %s', (colorScheme) =>
    bench.visit(
      address('embedded'),
      async (page) => {
        await drawAll(page);
        expect(await violations(page)).toEqual([]);
      },
      { colorScheme },
    ),
  );

  it.each([320, 420, 760])('fits, %i pixels wide', (width) =>
    bench.visit(
      address('embedded'),
      async (page) => {
        await drawAll(page);
        expect(await overflow(page)).toBeLessThanOrEqual(0);
      },
      { viewport: { width, height: 800 } },
    ),
  );

  it('is the first screen of a page that contains nothing else', () =>
    bench.visit(`${embedded}#/`, async (page) => {
      await isShown(page);
      expect(await page.getByRole('navigation', { name: 'Breadcrumbs' }).count()).toBe(0);
    }));

  it('is on the shelf with its factors and leads to its screen', () =>
    bench.visit(`${served.address}#/`, async (page) => {
      await page.getByRole('combobox', { name: 'Kind' }).selectOption('sweep');
      await page.getByText('1 matching result').waitFor();
      await page.getByText('72 of 72 simulations').waitFor();
      await page.getByText('varies cleaning.policy, over_provisioning').waitFor();
      await page.getByRole('link', { name: ID }).click();
      await isShown(page);
    }));
});

describe('the words of a sweep', () => {
  const explored = makeSweep() as unknown as ExploredSweep;

  it('write numbers by their names', () => {
    expect(writer('latency_ns.p99')(1500)).toBe('1.50 µs');
    expect(writer('drive.capacity_bytes')(1024)).toBe('1 KiB');
    expect(writer('bytes_written')(2048)).toBe('2 KiB');
    expect(writer('write_amplification')(1.234)).toBe('1.23');
    expect([0.123456, 'greedy', null, undefined].map(levelText)).toEqual([
      '0.1235',
      'greedy',
      '–',
      '–',
    ]);
  });

  it('order significant effects first and missing values last', () => {
    const { effects } = explored.sweep;
    expect(bySize(effects, 'write_amplification').map(({ sign }) => sign)).toEqual([-1, 1, 0]);
    for (const down of [false, true]) {
      const last = ordered(explored, { column: 2, down }).at(-1);
      expect(last?.levels[2]).toBe(null);
    }
    const rates = ordered(explored, { column: 4, down: true }).map(
      ({ values }) => values[1]?.value,
    );
    expect(rates).toEqual(rates.toSorted((a, b) => (b ?? 0) - (a ?? 0)));
  });

  it('survive its address', () => {
    expect(parseRoute(sweepHref('a/b ?c'))).toEqual({ page: 'sweep', id: 'a/b ?c' });
    expect(parseRoute('#/w/a/b')).toMatchObject({ page: 'unknown' });
  });
});
