// A comparison of results of several kinds, on a server.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeShelf } from '../fixtures/make-page.mjs';
import { makeSimulation } from '../fixtures/make-simulation.mjs';
import { serve } from '../fixtures/server.mjs';
import { compareHref } from '../src/route';
import { Bench, overflow, template, violations } from './browser';

let bench: Bench;
let served: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  bench = await Bench.start();
  const simulations = ['a simulation', 'another'].map((id) => ({
    ...{ id, name: id, simulation: makeSimulation() },
  }));
  served = await serve(await template(), makeShelf(), { simulations });
}, 300_000);

afterAll(async () => {
  await bench?.stop();
  await served?.stop();
});

describe('a comparison of several kinds', () => {
  it('is chosen on the shelf, and begins with its conclusions', () =>
    bench.visit(`${served.address}#/`, async (page) => {
      await page.getByRole('checkbox', { name: /, newer$/ }).check();
      await page.getByRole('checkbox', { name: /, a simulation$/ }).check();
      await page.getByRole('link', { name: 'Compare 2 results' }).click();
      await page.getByRole('heading', { name: 'Comparison of 2 results' }).waitFor();
      expect(await page.getByRole('region', { name: 'Conclusions' }).innerText()).toContain(
        'a simulation is 1.8 to 2.1 times faster in random writes than newer.',
      );
      const results = page.getByRole('list', { name: 'Compared results' }).getByRole('listitem');
      expect(await results.allInnerTexts()).toEqual([
        expect.stringContaining('measurement'),
        expect.stringContaining('simulation'),
      ]);
      // Two results need no ranking.
      expect(await page.getByRole('heading', { name: 'Ranking' }).count()).toBe(0);
    }));

  it.each(['light', 'dark'] as const)('is accessible in %s mode, on a phone too', (colorScheme) =>
    bench.visit(
      `${served.address}${compareHref(['newer', 'a simulation', 'another'])}`,
      async (page) => {
        const ranking = page.getByRole('region', { name: /^Ranking/ }).locator('tbody tr');
        await ranking.first().waitFor();
        expect(await ranking.first().innerText()).toContain('another');
        const better = page.getByRole('cell', { name: /better/ });
        expect(await better.count()).toBe(4);
        expect(await violations(page)).toEqual([]);
        expect(await overflow(page)).toBeLessThanOrEqual(0);
      },
      { colorScheme, viewport: { width: 390, height: 844 } },
    ),
  );
});
