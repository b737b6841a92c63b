// The application on several results, in a page of its own and through a server.
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
/** Every screen of this part of the application, and what its heading says. */
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

/** Does the same on the page and through the server. */
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

// Does every screen come up, with its charts, without a complaint?
everywhere('every screen', '#/', async (page) => {
  for (const [hash, name] of SCREENS) {
    await go(page, hash);
    await heading(page, name).waitFor();
    await drawAll(page);
    expect(await page.getByText('Cannot load').count(), hash).toBe(0);
  }
});

// Is there a way by clicks from the shelf down to an experiment, and by the crumbs back up?
everywhere('down and up', '#/', async (page) => {
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
});

describe('the shelf', () => {
  // Does what is asked for narrow it down, stand in the address, and come back with it?
  everywhere('is searched', '#/', async (page) => {
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

  // Are two results chosen and put side by side, and still chosen on the way back?
  everywhere('is chosen from', '#/', async (page) => {
    await page
      .getByRole('checkbox', { name: 'Compare Fixture <b>SSD</b> & Sons, first drive' })
      .first()
      .check();
    await page.getByText('Select one more to compare').waitFor();
    await page.getByRole('checkbox', { name: 'Compare Fixture Newer 2026, newer' }).check();
    await page.getByRole('link', { name: 'Compare 2 drives' }).click();
    await heading(page, 'Comparison of 2 drives').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Compare 2 drives' }).waitFor();
  });

  // Is a damaged result told on itself, with the rest as it was, and is a long shelf paged?
  it('copes with damage and length', () =>
    bench.visit(served.address, async (page) => {
      await page.getByText('manifest.json ends in the middle of line 12').waitFor();
      expect(await page.getByRole('link', { name: 'damaged' }).count()).toBe(0);
      await page.getByText('1–50 of 124').waitFor();
      await page.getByRole('link', { name: 'Next →' }).click();
      await page.getByText('51–100 of 124').waitFor();
      expect(await page.evaluate(() => location.hash)).toBe('#/?offset=50');
    }));

  // Does the address of a result that is damaged or not there say so, and lead back?
  it('leads back from what is not there', () =>
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
  // Are verdicts told with their reasons, to the eye on hover and focus and to a screen reader?
  everywhere('grid', '#/d/newer', async (page) => {
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
  });

  // Does a hint lead to what it rests on?
  everywhere('hints', `#/d/${FIRST}`, async (page) => {
    const hint = page.getByRole('listitem').filter({ hasText: 'Random writes should be limited' });
    await hint.first().getByText('holds', { exact: true }).waitFor();
    await hint.first().getByText('Evidence').click();
    await hint.first().getByRole('link', { name: 'Locality RW' }).first().click();
    await heading(page, 'Locality RW').waitFor();
  });

  // Does a correction stand in the grid and on the experiment, outlive the page, and go again?
  everywhere('corrections', '#/d/newer', async (page) => {
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
    await page.getByText('Edited by hand').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('radio', { name: /verdict of the rule/ }).check();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Edited by hand').waitFor({ state: 'detached' });
  });

  // Can corrections made on a page without a server be brought into the result?
  it('hands marks over', () =>
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
  // Are differences beyond the uncertainty marked, and is each level one click from the next?
  everywhere('levels', BOTH, async (page) => {
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
  });

  // Is it the other way round where the other comes first?
  everywhere('in another order', BOTH, async (page) => {
    await page.getByRole('link', { name: /make A.*to compare with Fixture Newer 2026/ }).click();
    await page.waitForURL(/#\/compare\/newer,first/);
    const table = page.getByRole('region', { name: /^Comparison of key characteristics/ });
    const row = table.getByRole('row', { name: /random writes/ });
    expect(await row.innerText()).toMatch(/≠ ×2\.87\s+\(×2\.67 to ×3\.09\)/);
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

  // Is it said where a page has no room for how results relate?
  it('as far as there is room', async () => {
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
  // Is all of a screen reached by the keyboard, past the frame at once, with the focus in sight?
  everywhere('reach the content', `#/d/${FIRST}`, async (page) => {
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

  // Do shortcuts do what their list says, and nothing once they are turned off or one types?
  everywhere('are listed', `#/d/newer/e/order/SW`, async (page) => {
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
  });
});

// Is every screen free of what axe-core finds, in both themes, with all that opens open?
it.each(['light', 'dark'] as const)('is accessible, %s', (colorScheme) =>
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

// Does no screen scroll sideways on a phone?
everywhere(
  'fits a phone',
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
