// Every page begins with conclusions, and each piece of evidence leads to the section or screen that shows it.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeReport, onePage } from '../fixtures/make-fixture.mjs';
import { makeProbe } from '../fixtures/make-probe.mjs';
import { makeSimulation } from '../fixtures/make-simulation.mjs';
import { makeSweep } from '../fixtures/make-sweep.mjs';
import { makePrediction, makeTwin, makeTwinPrediction } from '../fixtures/make-twin.mjs';
import { stepsOf } from '../fixtures/what-if.mjs';
import { experimentHref } from '../src/route';
import { sectionHref, sectionOf } from '../src/sections';
import { Bench, drawAll, overflow, violations } from './browser';

const EMPTY = { measurements: [], simulations: [], probes: [], sweeps: [], what_ifs: [] };
const ID = 'a result';
const whatIf = stepsOf({ variants: [{ changes: 'workload.trims=0.2' }] }).at(-1);
const PAGES: Record<string, object> = {
  measurement: onePage(makeReport()),
  simulation: { ...EMPTY, simulations: [{ id: ID, name: ID, simulation: makeSimulation() }] },
  probe: { ...EMPTY, probes: [{ id: ID, name: ID, probe: makeProbe() }] },
  sweep: { ...EMPTY, sweeps: [{ id: ID, name: ID, sweep: makeSweep() }] },
  'what-if': { ...EMPTY, what_ifs: [{ id: ID, name: ID, what_if: whatIf }] },
  twin: { ...EMPTY, twins: [{ id: ID, name: ID, twin: makeTwin() }] },
  'twin of a fill sweep': { ...EMPTY, twins: [{ id: ID, name: ID, twin: makeTwin('fill-v1') }] },
  prediction: { ...EMPTY, predictions: [{ id: ID, name: ID, prediction: makePrediction() }] },
  'prediction of a twin': {
    ...EMPTY,
    predictions: [{ id: ID, name: ID, prediction: makeTwinPrediction() }],
  },
};

let bench: Bench;
const addresses = new Map<string, string>();

beforeAll(async () => {
  bench = await Bench.start();
  for (const [kind, page] of Object.entries(PAGES)) {
    addresses.set(kind, await bench.write(`conclusions-${kind}`, page));
  }
}, 300_000);

afterAll(() => bench?.stop());

const conclusions = (page: Page) => page.getByRole('region', { name: 'Conclusions' });

describe.each(Object.keys(PAGES))('the page of a %s', (kind) => {
  const visit = (what: (page: Page) => Promise<void>, options = {}) =>
    bench.visit(addresses.get(kind) ?? '', what, options);

  it('begins with one to three conclusions', () =>
    visit(async (page) => {
      const sentences = conclusions(page).locator(':scope > ul > li > p');
      await sentences.first().waitFor();
      expect(await sentences.count()).toBeLessThanOrEqual(3);
      const order = await page.evaluate(() => {
        const found = document.querySelector('main section[aria-label="Conclusions"]');
        const panel = document.querySelector('main .panel');
        if (found === null || panel === null) return 0;
        return found.compareDocumentPosition(panel) & Node.DOCUMENT_POSITION_FOLLOWING;
      });
      expect(order).toBeGreaterThan(0);
    }));

  it('leads from each piece of evidence to what shows it', () =>
    visit(async (page) => {
      for (const summary of await conclusions(page).locator('summary').all()) {
        if (await summary.isVisible()) await summary.click();
      }
      const links = conclusions(page).locator('details li b + a');
      expect(await links.count()).toBeGreaterThan(0);
      for (const link of await links.all()) {
        const section = sectionOf((await link.getAttribute('href')) ?? '');
        if (section === undefined) {
          expect(await link.getAttribute('href')).toMatch(/\/e\//);
          continue;
        }
        await link.click();
        expect(await page.evaluate(() => document.activeElement?.id)).toBe(`at-${section}`);
      }
    }));

  it.each(['light', 'dark'] as const)('is accessible in %s mode, on a phone too', (colorScheme) =>
    visit(
      async (page) => {
        await conclusions(page).locator('summary').first().click();
        await drawAll(page);
        expect(await violations(page)).toEqual([]);
        expect(await overflow(page)).toBe(0);
      },
      { colorScheme, viewport: { width: 390, height: 800 } },
    ),
  );
});

it('an address names a section, which opens there', () => {
  const href = sectionHref('#/s/a', 'operations');
  expect([href, sectionOf(href), sectionOf('#/s/a')]).toEqual([
    '#/s/a?at=operations',
    'operations',
    undefined,
  ]);
  return bench.visit(
    `${addresses.get('simulation')}${sectionHref(`#/s/${encodeURIComponent(ID)}`, 'operations')}`,
    async (page) => {
      await page.waitForFunction(() => document.activeElement?.id === 'at-operations');
    },
  );
});

describe('IOs per second', () => {
  const visit = (hash: string, what: (page: Page) => Promise<void>) =>
    bench.visit(`${addresses.get('measurement')}${hash}`, what);

  it('have a table by IO size and queue depth, with a switch', () =>
    visit('#/', async (page) => {
      const table = page.getByRole('region', { name: /^Random reads by IO size and queue depth/ });
      await table.scrollIntoViewIfNeeded();
      const heads = await table.locator('thead th').allTextContents();
      expect(heads).toEqual(['IO size', 'depth 1', 'depth 2', 'depth 4', 'depth 8', 'depth 16']);
      const first = table.locator('tbody tr', { hasText: '32 KiB' }).locator('td').first();
      const rate = await first.locator('a').textContent();
      expect(rate).toMatch(/^[\d,]+$/);
      await page.getByRole('button', { name: 'Throughput' }).click();
      expect(await first.locator('a').textContent()).toMatch(/MiB\/s$/);
      expect(await first.locator('a').getAttribute('href')).toMatch(/\/r\/\d+$/);
    }));

  it('are charted wherever concurrency varies, and only there', async () => {
    for (const hash of ['#/b/parallelism', experimentHref('result', 'parallelism', 'RR')]) {
      await visit(hash, async (page) => {
        await page.getByRole('button', { name: 'IOs per second' }).click();
        await page
          .getByRole('heading', { name: 'IOs per second against ParallelDegree' })
          .waitFor();
        await page
          .getByRole('img', { name: /^IOs per second against ParallelDegree/ })
          .first()
          .waitFor();
        expect(await violations(page)).toEqual([]);
      });
    }
    await visit('#/b/granularity', async (page) => {
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.getByRole('button', { name: 'IOs per second' }).count()).toBe(0);
    });
  });

  it('an experiment begins with the conclusions that rest on it', () =>
    visit(experimentHref('result', 'locality', 'RW'), async (page) => {
      const texts = await conclusions(page).locator('li > p').allInnerTexts();
      expect(texts).toEqual([
        'Random writes cost 8.40 times sequential ones: keep them within 8 MiB.',
      ]);
    }));
});
