// The application on several results, in a single page and through a server.
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePage, makeShelf } from '../fixtures/make-page.mjs';
import { serve } from '../fixtures/server.mjs';
import { Bench, drawAll, overflow, template, violations } from './browser';

const FIRST = 'first%20drive';
const BOTH = `#/compare/${FIRST},newer`;
/** Every screen of several results with its heading. */
const SCREENS: [hash: string, heading: string | RegExp][] = [
  ['#/', 'Shelf'],
  [`#/d/${FIRST}`, 'Fixture <b>SSD</b> & Sons'],
  ['#/d/newer', 'Fixture Newer 2026'],
  [`#/d/${FIRST}/b/locality`, 'Locality'],
  [`#/d/${FIRST}/b/preparation`, 'Preparation'],
  [`#/d/${FIRST}/e/locality/RW`, 'Locality RW'],
  [`#/d/newer/e/mix/SR%2FRW`, 'Mix SR/RW'],
  [`#/d/${FIRST}/e/preparation/SR-RW-SR`, 'Preparation SR-RW-SR'],
  [BOTH, 'Comparison of 2 drives'],
  [`${BOTH}/b/order`, 'Order'],
  [`${BOTH}/b/pause`, 'Pause'],
  [`${BOTH}/e/locality/RW`, 'Locality RW'],
  [`${BOTH}/c/locality/RW`, 'Locality RW in colours'],
  [`${BOTH}/r/locality/RW/16777216`, 'Locality RW, TargetSize 16 MiB'],
  [`${BOTH}/r/pause/RW/100000`, 'Pause RW, Pause 100 µs'],
];

let bench: Bench;
let held: ReturnType<typeof makePage>;
let embedded: string;
let served: { address: string; stop: () => Promise<void> };

beforeAll(async () => {
  bench = await Bench.start();
  const shelf = makeShelf();
  held = makePage(shelf);
  embedded = await bench.write('page', held);
  const { simulations } = held;
  served = await serve(await template(), shelf, { simulations, copies: 120 });
}, 300_000);

afterAll(async () => {
  await bench?.stop();
  await served?.stop();
});

/** Declares a test that runs on the page and through the server. */
const everywhere = (
  name: string,
  hash: string,
  what: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
) =>
  it.each(['embedded', 'served'] as const)(`${name}, %s`, (kind) =>
    bench.visit((kind === 'embedded' ? embedded : served.address) + hash, what, options),
  );

async function go(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
}

const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name, exact: typeof name === 'string' });

everywhere('opens every screen with its charts and without complaints', '#/', async (page) => {
  for (const [hash, name] of SCREENS) {
    await go(page, hash);
    await heading(page, name).waitFor();
    await drawAll(page);
    expect(await page.getByText('Cannot load').count(), hash).toBe(0);
  }
});

everywhere(
  'leads by clicks from the shelf to an experiment and back by the breadcrumbs',
  '#/',
  async (page) => {
    await page.getByRole('link', { name: 'Fixture Newer 2026' }).first().click();
    await heading(page, 'Fixture Newer 2026').waitFor();
    await page.getByRole('link', { name: /^Locality RW: interesting/ }).click();
    await heading(page, 'Locality RW').waitFor();
    const crumbs = page.getByRole('navigation', { name: 'Breadcrumbs' });
    expect((await crumbs.innerText()).split(/\s*\n\s*/)).toEqual([
      'Shelf',
      'Fixture Newer 2026',
      'Locality',
      'RW',
    ]);
    await page.getByRole('link', { name: 'Every IO in colours' }).click();
    await heading(page, /in colours/).waitFor();
    for (const name of ['RW', 'Locality', 'Fixture Newer 2026', 'Shelf']) {
      await crumbs.getByRole('link', { name, exact: true }).click();
      await page.waitForFunction((it) => document.title.startsWith(it), name);
    }
    await heading(page, 'Shelf').waitFor();
  },
);

describe('the shelf', () => {
  everywhere('keeps search and filters in the address', '#/', async (page) => {
    await page.getByRole('searchbox').fill('newer');
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('simulation');
    await page.getByText('1 matching result').waitFor();
    expect(await page.evaluate(() => location.hash)).toBe('#/?search=newer&kind=simulation');
    await page.reload();
    await page.getByText('1 matching result').waitFor();
    await page.getByRole('searchbox').fill('nothing like it');
    await page.getByText('No result matches').waitFor();
    await page.getByRole('link', { name: 'Show all results' }).click();
    await page.getByText(/^(3|124) results$/).waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('');
  });

  everywhere('compares two selected results and keeps the selection', '#/', async (page) => {
    await page
      .getByRole('checkbox', { name: 'Compare Fixture <b>SSD</b> & Sons, first drive' })
      .first()
      .check();
    await page.getByText('Select one more to compare').waitFor();
    await page.getByRole('checkbox', { name: 'Compare Fixture Newer 2026, newer' }).check();
    await page.getByRole('link', { name: 'Compare 2 results' }).click();
    await heading(page, 'Comparison of 2 drives').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Compare 2 results' }).waitFor();
  });

  it('shows a damaged result and pages a long shelf', () =>
    bench.visit(served.address, async (page) => {
      await page.getByText('manifest.json ends in the middle of line 12').waitFor();
      expect(await page.getByRole('link', { name: 'damaged' }).count()).toBe(0);
      await page.getByText('1–50 of 124').waitFor();
      await page.getByRole('link', { name: 'Next →' }).click();
      await page.getByText('51–100 of 124').waitFor();
      expect(await page.evaluate(() => location.hash)).toBe('#/?offset=50');
    }));

  it('leads back from damaged and missing results', () =>
    bench.visit(
      `${served.address}#/d/damaged`,
      async (page) => {
        await page.getByText('Result “damaged”: manifest.json ends in').waitFor();
        await page.getByRole('link', { name: 'Back to the shelf' }).click();
        await heading(page, 'Shelf').waitFor();
        await go(page, '#/d/gone/r/3');
        await page.getByText('There is no result “gone” on this shelf').waitFor();
        await go(page, '#/nonsense');
        await heading(page, 'Not found').waitFor();
        await go(page, `#/d/${FIRST}/e/locality/XX`);
        await heading(page, 'Not in this result').waitFor();
        await go(page, `${BOTH}/e/locality/XX`);
        await heading(page, 'Not in these results').waitFor();
      },
      { expected: /Failed to load resource/ },
    ));
});

describe('the summary', () => {
  everywhere(
    'explains verdicts to the pointer, the keyboard and screen readers',
    '#/d/newer',
    async (page) => {
      const cell = page.getByRole('link', {
        name: /^Locality RW: interesting, ×19\. The most expensive value/,
      });
      await cell.hover();
      await page.locator('.tip').getByText('The most expensive value costs 18.7 times').waitFor();
      await page.keyboard.press('Escape');
      expect(await page.locator('.tip').count()).toBe(0);
      await cell.focus();
      await page.locator('.tip').waitFor();
      expect(await page.getByText(/^Pause SR: not performed/).count()).toBe(1);
      expect(await page.getByRole('link', { name: /^Pause SR/ }).count()).toBe(0);
    },
  );

  everywhere('links a hint to its evidence', `#/d/${FIRST}`, async (page) => {
    const hint = page.getByRole('listitem').filter({ hasText: 'Random writes should be limited' });
    await hint.first().getByText('holds', { exact: true }).waitFor();
    await hint.first().getByText('Evidence').click();
    await hint.first().getByRole('link', { name: 'Locality RW' }).first().click();
    await heading(page, 'Locality RW').waitFor();
  });

  everywhere(
    'keeps a correction in grid, experiment and storage until it is withdrawn',
    '#/d/newer',
    async (page) => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('button', { name: /^Order SR: not interesting/ }).click();
      const dialog = page.getByRole('dialog', { name: 'Order, SR' });
      await dialog.getByRole('radio', { name: 'interesting', exact: true }).check();
      await dialog.getByRole('textbox', { name: 'Reason' }).fill('a <b>bend</b> at 8');
      await dialog.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('button', { name: 'Done' }).click();
      const marked = page.getByRole('link', {
        name: /^Order SR: interesting, ×1, edited by hand: a <b>bend<\/b> at 8\. The rule says/,
      });
      await marked.waitFor();
      await page.reload();
      await marked.click();
      await page.getByText(/Edited by hand/).waitFor();
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('radio', { name: /verdict of the rule/ }).check();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Edited by hand').waitFor({ state: 'detached' });
    },
  );

  it('exports corrections of a page without a server', () =>
    bench.visit(`${embedded}#/d/newer/e/order/SR`, async (page) => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('radio', { name: 'interesting', exact: true }).check();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'download marks.json' }).click();
      const path = join(tmpdir(), `flashscope-marks-${process.pid}.json`);
      await (await download).saveAs(path);
      expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
        experiments: [{ micro_benchmark: 'order', experiment: 'SR', interesting: true, note: '' }],
      });
    }));
});

describe('side by side', () => {
  everywhere(
    'marks differences beyond the uncertainty and links the levels',
    BOTH,
    async (page) => {
      const table = page.getByRole('region', { name: /^Comparison of key characteristics/ });
      const row = table.getByRole('row', { name: /random writes/ });
      expect(await row.innerText()).toMatch(/≠ ×0\.35\s+\(×0\.32 to ×0\.37\)/);
      expect(await table.getByRole('row', { name: /in place/ }).innerText()).not.toContain('≠');
      await page.getByRole('link', { name: /^RW ≠ at 16 of 16/ }).click();
      await heading(page, 'Locality RW').waitFor();
      await page.getByRole('link', { name: 'runs at 16 MiB' }).click();
      await heading(page, 'Locality RW, TargetSize 16 MiB').waitFor();
      await page.getByRole('link', { name: '32 MiB →' }).click();
      await heading(page, 'Locality RW, TargetSize 32 MiB').waitFor();
      await page.getByRole('button', { name: 'repeat 2' }).click();
      expect(await drawAll(page)).toBe(2);
    },
  );

  everywhere('swaps the comparison with the order of its results', BOTH, async (page) => {
    await page.getByRole('link', { name: /make A.*to compare with Fixture Newer 2026/ }).click();
    await page.waitForURL(/#\/compare\/newer,first/);
    const table = page.getByRole('region', { name: /^Comparison of key characteristics/ });
    // The earlier comparison is shown until the swapped one has arrived.
    await table
      .getByRole('row', { name: /random writes.*≠ ×2\.87\s+\(×2\.67 to ×3\.09\)/ })
      .waitFor();
    await page.getByRole('link', { name: /^RW ≠ at 16 of 16/ }).waitFor();
    expect(await page.getByText('This page contains no ratios').count()).toBe(0);
    const tabs = page.getByRole('navigation', { name: 'Micro-benchmarks' }).getByRole('link');
    expect((await tabs.allInnerTexts()).slice(0, 4)).toEqual([
      'Summary',
      'Preparation',
      'Granularity',
      'Alignment',
    ]);
  });

  it('reports a comparison that the page has no room for', async () => {
    const address = await bench.write('few', {
      ...held,
      comparisons: held.comparisons.slice(0, 1),
    });
    await bench.visit(`${address}#/compare/newer,${FIRST}`, async (page) => {
      await page.getByText('This page contains no ratios to Fixture Newer 2026').waitFor();
      expect(await page.getByText('≠ ×').count()).toBe(0);
    });
  });
});

describe('keys', () => {
  everywhere('reaches every control of a screen by the keyboard', `#/d/${FIRST}`, async (page) => {
    await page.keyboard.press('Tab');
    const skip = page.getByRole('link', { name: 'Skip to the content' });
    expect(await skip.evaluate((link) => link === document.activeElement)).toBe(true);
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    await page.keyboard.press('Tab');
    const inMain = () => page.evaluate(() => document.activeElement?.closest('main') !== null);
    expect(await inMain()).toBe(true);
    const outline = await page.evaluate(
      () => getComputedStyle(document.activeElement as Element).outlineStyle,
    );
    expect(outline).not.toBe('none');
  });

  everywhere(
    'obeys the listed shortcuts, except while one types or after they are off',
    `#/d/newer/e/order/SW`,
    async (page) => {
      await heading(page, 'Order SW').waitFor();
      await page.keyboard.press('u');
      await heading(page, 'Order').waitFor();
      await page.keyboard.press('/');
      await heading(page, 'Shelf').waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('u?');
      expect(await page.getByRole('searchbox').inputValue()).toBe('u?');
      await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
      await page.getByRole('checkbox', { name: 'Enable single-key shortcuts' }).uncheck();
      await page.getByRole('button', { name: 'Close' }).click();
      await go(page, '#/d/newer/e/order/SW');
      await heading(page, 'Order SW').waitFor();
      await page.keyboard.press('?');
      await page.keyboard.press('u');
      expect(await page.getByRole('dialog').count()).toBe(0);
      await heading(page, 'Order SW').waitFor();
    },
  );
});

it.each(['light', 'dark'] as const)('has no axe-core findings, %s', (colorScheme) =>
  bench.visit(
    `${served.address}#/`,
    async (page) => {
      for (const [hash, name] of SCREENS) {
        await go(page, hash);
        await heading(page, name).waitFor();
        await drawAll(page);
        for (const details of await page.locator('summary').all()) await details.click();
        expect(await violations(page), hash).toEqual([]);
      }
      await go(page, '#/d/newer');
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('button', { name: /^Order SR/ }).click();
      expect(await violations(page), 'a correction').toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
      expect(await violations(page), 'the keys').toEqual([]);
    },
    { colorScheme },
  ),
);

everywhere(
  'never scrolls sideways on a phone',
  '#/',
  async (page) => {
    for (const [hash, name] of SCREENS) {
      await go(page, hash);
      await heading(page, name).waitFor();
      await drawAll(page);
      expect(await overflow(page), hash).toBeLessThanOrEqual(0);
    }
  },
  { viewport: { width: 390, height: 844 } },
);
