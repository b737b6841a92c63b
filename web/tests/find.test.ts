// The search for IOs, in a page and on a server.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePage, makeShelf } from '../fixtures/make-page.mjs';
import { serve } from '../fixtures/server.mjs';
import { findHref, parseRoute, runHref } from '../src/route';
import { Bench, drawAll, inked, overflow, template, violations } from './browser';

let bench: Bench;
let served: Awaited<ReturnType<typeof serve>>;
const addresses: Record<string, string> = {};
const ID = 'newer';

beforeAll(async () => {
  bench = await Bench.start();
  const shelf = makeShelf();
  served = await serve(await template(), shelf);
  addresses['a file'] = await bench.write('find', makePage(shelf));
  addresses['a server'] = served.address;
}, 300_000);

afterAll(async () => {
  await bench?.stop();
  await served?.stop();
});

it('addresses keep the expression', () => {
  const where = 'experiment = "a & b" and latency > 10 ms';
  expect(parseRoute(findHref('x', where))).toEqual({ page: 'find', id: 'x', where });
  expect(parseRoute(findHref('x'))).toEqual({ page: 'find', id: 'x', where: '' });
  expect(parseRoute(runHref('x', 3, 5, 9, where))).toEqual({
    ...{ page: 'run', id: 'x', run: 3, from: 5, to: 9, where },
  });
  expect(parseRoute(runHref('x', 3, undefined, undefined, where))).toEqual({
    ...{ page: 'run', id: 'x', run: 3, where },
  });
});

describe.each(['a file', 'a server'])('the search on the page of %s', (where) => {
  const visit = (hash: string, what: (page: Page) => Promise<void>, options = {}) =>
    bench.visit(`${addresses[where]}${hash}`, what, options);
  const ask = async (page: Page, text: string) => {
    await page.getByRole('searchbox', { name: 'Expression' }).fill(text);
    await page.getByRole('button', { name: 'Find', exact: true }).click();
  };
  const rows = (page: Page, name: string) =>
    page.getByRole('region', { name: new RegExp(`^${name}`) }).locator('tbody tr');

  it('leads from the summary to the IOs that match, and to their run', () =>
    visit(`#/d/${ID}`, async (page) => {
      await page.getByRole('link', { name: 'Find IOs' }).click();
      await ask(page, 'latency > 1 ms');
      await rows(page, 'IOs that match').first().waitFor();
      expect(await page.getByRole('status').allInnerTexts()).toContainEqual(
        expect.stringMatching(/IOs? of [0-9,]+ match(es)? latency > 1 ms/),
      );
      const counts = await rows(page, 'IOs that match')
        .locator('td:nth-child(4)')
        .evaluateAll((cells) => cells.map((cell) => Number((cell as HTMLElement).dataset.value)));
      expect(counts.length).toBeGreaterThan(0);
      expect(counts).toEqual(counts.toSorted((a, b) => b - a));
      expect(counts.every((ns) => ns > 1e6)).toBe(true);
      await rows(page, 'Runs with').getByRole('link').first().click();
      await page.getByText('circled in the charts').waitFor();
      await drawAll(page);
      const circled = await inked(page, 0);
      await page.getByRole('link', { name: 'show no circles' }).click();
      await page.getByText('circled in the charts').waitFor({ state: 'detached' });
      await drawAll(page);
      expect(circled).not.toBe(await inked(page, 0));
    }));

  it('points at a mistake', () =>
    visit(
      findHref(ID, 'op = read and latncy > 1 ms'),
      async (page) => {
        const alert = page.getByRole('alert');
        await alert.waitFor();
        expect(await alert.innerText()).toContain('did you mean `latency`?');
        expect(await alert.locator('mark').innerText()).toBe('latncy');
        expect(await violations(page)).toEqual([]);
      },
      // A browser logs every refused request.
      { expected: /400/ },
    ));

  it.each(['light', 'dark'] as const)('is accessible in %s mode, on a phone too', (colorScheme) =>
    visit(
      findHref(ID, 'latency > 1 ms'),
      async (page) => {
        await rows(page, 'IOs that match').first().waitFor();
        await page.getByText('Fields and operators').click();
        expect(await violations(page)).toEqual([]);
        expect(await overflow(page)).toBeLessThanOrEqual(0);
      },
      { colorScheme, viewport: { width: 390, height: 844 } },
    ),
  );
});

it('no key number overflows its tile at 1280 px', () =>
  bench.visit(`${addresses['a file']}#/d/${ID}`, async (page) => {
    const values = page.locator('.tile .value');
    await values.first().waitFor();
    // The longest text of a limit.
    await values.nth(5).evaluate((value) => {
      value.textContent = '≥ 64 MiB (×1.4)';
    });
    const over = await values.evaluateAll((all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent),
    );
    expect(over).toEqual([]);
  }));
