// The book of the papers: its data and its page in a browser.
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePapers } from '../fixtures/make-papers.mjs';
import { figureChart } from '../src/chart/figure';
import { fade, palette } from '../src/chart/palette';
import { loadPage } from '../src/data/load';
import {
  chaptersOf,
  claimsOf,
  differenceText,
  offBy,
  tallyOf,
  toleranceText,
  withUnit,
} from '../src/data/papers';
import type { Figure, Number as Measured, Reproductions } from '../src/data/reproduction.gen';
import { contentsHref, errataHref, paperItemHref, parseBookRoute } from '../src/route';
import { Bench, drawAll, inked, overflow, violations } from './browser';

const papers = makePapers() as Reproductions;
const TABLE = '#/agrawal-table3';

let bench: Bench;
let address: string;

beforeAll(async () => {
  bench = await Bench.start();
  address = await bench.write('papers', papers);
});

afterAll(() => bench?.stop());

describe('the contents', () => {
  it('sort items and errata by paper', () => {
    const chapters = chaptersOf(papers).map(({ paper, entries, errata }) => [
      paper,
      entries.map(({ id, standing }) => `${id} ${standing}`),
      errata.length,
    ]);
    expect(chapters).toEqual([
      ['uflip', [], 1],
      ['agrawal', ['agrawal-table3 print-wrong'], 1],
      ['boboila', ['boboila-figure2 not-reproduced', 'boboila-figure3 missing'], 0],
    ]);
    expect(tallyOf(['not-reproduced', 'as-printed', 'as-printed'])).toEqual([
      ['as-printed', 2],
      ['not-reproduced', 1],
    ]);
  });

  it('give each screen its address', () => {
    expect(parseBookRoute(contentsHref())).toEqual({ page: 'contents' });
    expect(parseBookRoute('')).toEqual({ page: 'contents' });
    expect(parseBookRoute(paperItemHref('a b'))).toEqual({ page: 'item', id: 'a b' });
    expect(parseBookRoute(errataHref())).toEqual({ page: 'errata' });
    expect(parseBookRoute('#/', 'one')).toEqual({ page: 'item', id: 'one' });
    expect(parseBookRoute('#/a/b').page).toBe('unknown');
  });

  it('accept only a book', () => {
    const page = { getElementById: () => ({ textContent: JSON.stringify(papers) }) };
    expect(loadPage(page as unknown as Document)).toEqual({ papers });
  });
});

describe('claims', () => {
  it('separate numbers from statements and print each reason once', () => {
    const { numbers, statements, notes } = claimsOf(papers.items[0]?.claims ?? []);
    expect(notes).toEqual(['the run is longer', 'of another drive']);
    expect(numbers.map(({ what, note }) => [what, note])).toEqual([
      ['sequential read', undefined],
      ['random write', 1],
      ['segments', 1],
    ]);
    expect(statements.map(({ note }) => note)).toEqual([2]);
  });

  it('state how far a number may differ, including a printed 0', () => {
    const number = (
      published: number,
      found: number,
      tolerance: Measured['tolerance'],
    ): Measured => ({
      what: 'x',
      unit: '',
      published,
      found,
      tolerance,
    });
    const [share, absolute] = [{ share: 0.01 }, { absolute: 2 }];
    expect(differenceText(number(100, 99, share))).toBe('−1 %');
    expect(differenceText(number(130, 130.6, share))).toBe('+0.462 %');
    expect([0, 3].map((found) => differenceText(number(0, found, absolute)))).toEqual(['0', '+3']);
    expect([share, absolute].map((t) => toleranceText(number(100, 99, t)))).toEqual(['1 %', '±2']);
    expect(offBy(number(100, 99, share))).toBeCloseTo(-1, 9);
    expect(offBy(number(100, 103, absolute))).toBeCloseTo(1.5, 9);
    expect(offBy(number(0, 0, share))).toBeUndefined();
    expect([withUnit(61_255.7, '1/s'), withUnit(130, 'us')]).toEqual(['61,256 1/s', '130 µs']);
  });
});

describe('figures', () => {
  const [bars, curves] = (papers.items[0]?.figures ?? []) as [Figure, Figure];

  it('give printed and found series matching keys', () => {
    const keys = figureChart(bars).keys?.(palette(false)) ?? [];
    expect(keys.map(({ name }) => name)).toEqual([
      'greedy',
      'migrating',
      'a level, printed',
      'printed',
    ]);
    expect(keys[3]?.sign).toEqual({ shape: 'diamond', hollow: true });
    expect(new Set(keys.map(({ color }) => color)).size).toBe(4);
  });

  it('fit every point and label it', () => {
    expect(figureChart(bars).data[0]).toEqual([-0.5, 2.5]);
    const [x, y] = figureChart(curves).data as unknown as [number[], number[]];
    expect([x[0], y[0]].every((low) => (low ?? 0) > 0)).toBe(true);
    expect(x[0]).toBeLessThan(1);
    expect(x[1]).toBeGreaterThan(2 ** (39 / 4));
    expect(y[1]).toBeGreaterThan(1);
    const one = { ...curves, series: [{ ...curves.series[0], points: [[3, 0.2]] }] } as Figure;
    for (const range of figureChart(one).data as unknown as [number, number][]) {
      expect(range[0]).toBeLessThan(range[1]);
    }
  });
});

describe('in a browser', () => {
  it('links items, errata and their state', () =>
    bench.visit(address, async (page) => {
      expect(await page.title()).toBe('Reproduced papers · flashscope');
      await page.getByText('1 of 3 items did not run').waitFor();
      expect(await page.getByRole('link', { name: /Figure 3/ }).count()).toBe(0);
      await page.getByRole('link', { name: /Table 3.*print is wrong/ }).click();
      await page.getByRole('heading', { level: 1, name: 'Table 3' }).waitFor();
      await page.keyboard.press('ArrowRight');
      await page.getByRole('heading', { level: 1, name: 'Figure 2' }).waitFor();
      await page.keyboard.press('u');
      await page.getByRole('link', { name: '2 errata' }).click();
      await page.getByText('An IO cannot wait for the one after it.').waitFor();
      await page.getByRole('link', { name: 'See Table 3.' }).click();
      await page.getByRole('heading', { level: 1, name: 'Table 3' }).waitFor();
    }));

  it('shows an item with its differences, erratum and command', () =>
    bench.visit(`${address}${TABLE}`, async (page) => {
      const numbers = page.getByRole('region', { name: 'Numbers', exact: true });
      const row = numbers.getByRole('row', { name: /random write/ });
      expect((await row.textContent())?.replaceAll(/\s+/g, ' ')).toMatch(
        /433 µs ?500 µs ?\+15\.5 % ?1 % ?print is wrong ?, note ?1/,
      );
      await page.getByText('it is <fast>').waitFor();
      const why = page.getByRole('region', { name: 'Reasons for differences' });
      expect(await why.getByRole('listitem').allTextContents()).toEqual([
        'the run is longer',
        'of another drive',
      ]);
      await page.getByRole('region', { name: 'Errata' }).getByText('328.9 us').waitFor();
      await page.getByText('flashscope reproduce agrawal-table3 --set writes=7').waitFor();
    }));

  it.each(['light', 'dark'] as const)('draws figures in both themes, %s', (colorScheme) =>
    bench.visit(
      `${address}${TABLE}`,
      async (page) => {
        expect(await drawAll(page)).toBe(2);
        for (const chart of [0, 1]) expect(await inked(page, chart)).toBeGreaterThan(0.01);
      },
      { colorScheme },
    ),
  );

  it('reads figures aloud by arrow keys', () =>
    bench.visit(`${address}${TABLE}`, async (page) => {
      const figure = page.getByRole('img', { name: /^Blocks by their lifetime/ });
      await figure.locator('canvas').waitFor();
      await figure.focus();
      const spoken = () => page.locator('.plot [aria-live]').first().textContent();
      const heard: (string | null)[] = [];
      for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown']) {
        await page.keyboard.press(key);
        heard.push(await spoken());
      }
      expect(heard.slice(0, 2)).toEqual([
        'greedy, lifetime below 40 %, blocks (%) 10',
        'greedy, lifetime 40 to 80 %, blocks (%) 20',
      ]);
      expect(heard[2]).toMatch(/^migrating, lifetime/);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Table 3');
    }));

  it('saves figures with a legend and hollow printed points', () =>
    bench.visit(`${address}${TABLE}`, async (page) => {
      const plot = page.locator('.plot').first();
      await plot.locator('canvas').waitFor();
      await plot.locator('summary').click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        plot.getByRole('button', { name: 'SVG' }).click(),
      ]);
      const svg = await readFile(await download.path(), 'utf8');
      expect(svg).toContain('>greedy</text>');
      expect(svg).toMatch(/<path transform="translate\([^)]*\)" d="M[^"]*Z" fill="none"/);
      // Bars of the second series: the bar below 0 begins where the bar above 0 ends.
      const bars =
        new RegExp(`<path d="([^"]*)" fill="${fade('#c03f00', 0.85)}"`).exec(svg)?.[1] ?? '';
      const [below = [], above = []] = [...bars.matchAll(/M[\d.]+ ([\d.]+)h[\d.]+v([\d.]+)/g)].map(
        ([, top, height]) => [Number(top), Number(height)],
      );
      expect(below[0]).toBeCloseTo((above[0] ?? 0) + (above[1] ?? 0), 0);
      expect(below[1]).toBeGreaterThan(0);
    }));

  const phone = { viewport: { width: 360, height: 740 } };
  const SCREENS = ['', TABLE, '#/errata', '#/nothing'];

  it.each(SCREENS)('fits a phone, %s', (hash) =>
    bench.visit(
      `${address}${hash}`,
      async (page: Page) => {
        await drawAll(page);
        expect(await overflow(page)).toBeLessThanOrEqual(0);
      },
      phone,
    ),
  );

  it.each(SCREENS.flatMap((hash) => ['light', 'dark'].map((scheme) => [hash, scheme] as const)))(
    'is accessible, %s %s',
    (hash, scheme) =>
      bench.visit(`${address}${hash}`, async (page) => expect(await violations(page)).toEqual([]), {
        colorScheme: scheme as 'light' | 'dark',
      }),
  );
});

it('opens a page of one item on that item', async () => {
  const one = { ...papers, items: papers.items.slice(0, 1), missing: [] };
  await bench.visit(await bench.write('one', one), async (page) => {
    await page.getByRole('heading', { level: 1, name: 'Table 3' }).waitFor();
    expect(await page.getByRole('navigation', { name: 'Previous and next item' }).count()).toBe(0);
  });
});
