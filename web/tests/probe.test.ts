// The screen of a probe, in a page and from a server.
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeProbe } from '../fixtures/make-probe.mjs';
import { serve } from '../fixtures/server.mjs';
import { answerText, byReason, runsText, sureness } from '../src/data/probe';
import type { StatedFinding } from '../src/data/probe.gen';
import { parseRoute, probeHref } from '../src/route';
import { Bench, drawAll, inked, overflow, template, violations } from './browser';

const ID = 'a stick';
const HASH = probeHref(ID);
let bench: Bench;
let embedded: string;
let served: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  const probes = [{ id: ID, name: ID, probe: makeProbe() }];
  bench = await Bench.start();
  embedded = await bench.write('probe', { measurements: [], simulations: [], probes, sweeps: [] });
  served = await serve(await template(), [], { probes });
}, 300_000);

afterAll(async () => {
  await bench?.stop();
  await served?.stop();
});

/** The address of the screen. */
const address = (kind: 'embedded' | 'served') =>
  (kind === 'embedded' ? embedded : served.address) + HASH;

/** Checks the parts of the screen that every source shows. */
async function isShown(page: Page) {
  await page.getByRole('heading', { name: ID, level: 1 }).waitFor();
  await page.getByText('Interrupted by the user').waitFor();
  const row = page.getByRole('row', { name: /^Segment/ });
  expect(await row.innerText()).toMatch(/256 KiB\s+97\.0 %\s+every 64th write is slow\s+2, 3/);
  expect(await page.getByRole('row', { name: /^Write buffer/ }).innerText()).toContain('none');
  const why = page.getByText('no measurement shows it');
  expect(await why.count()).toBe(1);
  await page.getByText('Over-provisioning, Reach of the map').waitFor();
  expect(await page.getByText('contradicts Write buffer: no write is cheaper').count()).toBe(1);
  expect(await page.getByText('ftl = "bast"').count()).toBe(1);
}

describe('a probe', () => {
  it.each(['embedded', 'served'] as const)('shows findings, evidence and gaps, %s', (kind) =>
    bench.visit(address(kind), isShown),
  );

  it('groups runs by experiment', () =>
    bench.visit(address('embedded'), async (page) => {
      const experiments = page.getByRole('region', { name: /^Experiments/ });
      const row = experiments.getByRole('row', { name: /^medium/ });
      expect(await row.innerText()).toMatch(/found Medium\s+short reads\s+1\s+400\s+0 B\s+300 ms/);
      const runs = page.getByRole('region', { name: /^Runs/ });
      expect(await runs.isVisible()).toBe(false);
      await page.getByText('All runs', { exact: true }).click();
      expect(await runs.getByRole('row').count()).toBe(4);
    }));

  it('saves the profile unchanged', () =>
    bench.visit(address('embedded'), async (page) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Save the profile' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('twin.toml');
      expect(await readFile(await download.path(), 'utf8')).toBe(makeProbe().profile);
    }));

  it.each(['light', 'dark'] as const)('is drawn and accessible, %s', (colorScheme) =>
    bench.visit(
      address('embedded'),
      async (page) => {
        expect(await drawAll(page)).toBe(2);
        await page.getByText('Segment: 256 KiB; Cost of a merge: 120 ms').waitFor();
        for (let i = 0; i < 2; i++) {
          expect(await inked(page, i), `picture ${i}`).toBeGreaterThan(0.005);
        }
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

  it('is listed on the shelf', () =>
    bench.visit(`${served.address}#/`, async (page) => {
      await page.getByRole('combobox', { name: 'Kind' }).selectOption('probe');
      await page.getByText('1 matching result').waitFor();
      expect(await page.getByRole('listitem').getByText('3 runs').count()).toBe(1);
      await page.getByRole('link', { name: 'Fixture USB <1 GB>' }).click();
      await isShown(page);
    }));
});

describe('the words of a probe', () => {
  it('state answers with unit and interval', () => {
    const { findings } = makeProbe() as unknown as { findings: StatedFinding[] };
    const told = findings.map(({ finding, unit }) => answerText(finding.answer, unit));
    expect(told).toEqual([
      'flash',
      '256 KiB',
      '4',
      '120 ms (118 ms to 123 ms)',
      'none',
      'unknown',
      'unknown',
    ]);
    expect(byReason(findings)).toEqual([
      ['no measurement shows it', ['Over-provisioning', 'Reach of the map']],
    ]);
    expect([0.5, 0.97, 0.9995].map(sureness)).toEqual(['50.0 %', '97.0 %', '> 99.8 %']);
    expect([[], [4, 3], [7, 1, 2, 3, 9, 8, 5]].map(runsText)).toEqual([
      '',
      '3, 4',
      '1 to 3, 5, 7 to 9',
    ]);
    expect(runsText([1, 3, 5, 7, 9, 10])).toBe('6 of 1 to 10');
  });

  it('survive its address', () => {
    expect(parseRoute(probeHref('a/b ?c#d,e%2F&f=é'))).toEqual({
      page: 'probe',
      id: 'a/b ?c#d,e%2F&f=é',
    });
    expect(parseRoute('#/p/a/b')).toMatchObject({ page: 'unknown' });
  });
});
