import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeTrace } from '../fixtures/make-trace.mjs';
import { Bench, drawAll, inked, overflow, violations } from './browser';

const CHARTS = 10;

let bench: Bench;
let address: string;

beforeAll(async () => {
  bench = await Bench.start();
  address = await bench.write('trace', makeTrace());
});

afterAll(() => bench?.stop());

/** The canvas of a chart, as a data URL. */
const picture = (page: Page, label: RegExp) =>
  page
    .getByRole('img', { name: label })
    .locator('canvas')
    .evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());

it.each(['light', 'dark'] as const)('draws its charts in both themes, %s', (colorScheme) =>
  bench.visit(
    address,
    async (page) => {
      expect(await page.title()).toBe('hm & co_0.csv.gz, hm_1.csv.gz · trace · flashscope');
      expect(await drawAll(page)).toBe(CHARTS);
      for (let i = 0; i < CHARTS; i++) {
        expect(await inked(page, i), `chart ${i}`).toBeGreaterThan(0.005);
      }
    },
    { colorScheme },
  ),
);

it('shows warnings before numbers', () =>
  bench.visit(address, async (page) => {
    const heads = await page.getByRole('heading', { level: 2 }).allTextContents();
    expect(heads.slice(0, 2)).toEqual(['Warnings', 'Numbers']);
    const doubts = page.getByRole('region', { name: 'Warnings' });
    expect(await doubts.getByRole('listitem').allTextContents()).toEqual([
      'the time goes backwards at 3 of 4000 requests',
      'LBA mod 8 is 7 in 100 % of accesses',
      '12 unreadable lines skipped',
      '3 requests have an earlier time than a request before them',
    ]);
  }));

it('states the sample and its intervals', () =>
  bench.visit(address, async (page) => {
    const numbers = page.getByRole('region', { name: 'Numbers' });
    expect(await numbers.textContent()).toMatch(
      /Footprint\s*[\d.]+ MiB \([\d.]+ MiB to [\d.]+ MiB\)/,
    );
    await numbers.getByText('rest on a sample of 10.0 % of the pages').waitFor();
    const hot = page.getByRole('region', { name: 'Hottest pages' }).getByRole('cell').first();
    expect(await hot.textContent()).toMatch(/^\s*[\d.]+ %\s+[\d.]+ to [\d.]+\s*$/);
  }));

it('switches the map between reads and writes', () =>
  bench.visit(address, async (page) => {
    const map = page.getByRole('img', { name: /by time and address/ });
    await map.scrollIntoViewIfNeeded();
    await map.locator('canvas').waitFor();
    const scale = page.getByText('on a log scale');
    const seen = new Set<string>();
    for (const [button, words] of [
      ['all', /^Bytes read and written by/],
      ['read', /^Bytes read by/],
      ['written', /^Bytes written by/],
    ] as const) {
      await page.getByRole('button', { name: button, exact: true }).click();
      await page.getByRole('button', { name: button, pressed: true }).waitFor();
      seen.add(`${await picture(page, words)} ${await scale.textContent()}`);
    }
    expect(seen.size).toBe(3);
    // The first column, at the bottom, is the busiest.
    const over = map.locator('.u-over');
    const { height } = (await over.boundingBox()) ?? { height: 0 };
    await over.hover({ position: { x: 3, y: height - 2 } });
    const tip = await page.locator('.tip').textContent();
    expect(tip).toMatch(
      /0 ns to 34\.4 s.*from address\s*0 B.*to below\s*16 MiB.*written\s*[\d.]+ [KM]iB/,
    );
  }));

it('shows the step under the pointer', () =>
  bench.visit(address, async (page) => {
    const over = page.getByRole('img', { name: /^Requests per second/ }).locator('.u-over');
    await over.hover({ position: { x: 2, y: 40 } });
    const tip = await page.locator('.tip').textContent();
    expect(tip).toMatch(/0 ns to 17\.2 s\s*reads\s*[\d.]+\/s\s*writes\s*[\d.]+\/s\s*trims/);
  }));

it('never scrolls sideways on a phone', () =>
  bench.visit(
    address,
    async (page) => {
      await drawAll(page);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      for (const plot of await page.locator('.u-over').all()) {
        const { width } = (await plot.boundingBox()) ?? { width: 0 };
        for (const x of [2, width - 4]) {
          await plot.hover({ position: { x, y: 40 } });
          expect(await overflow(page)).toBeLessThanOrEqual(0);
        }
      }
    },
    { viewport: { width: 360, height: 740 } },
  ));

it.each(['light', 'dark'] as const)('has no axe-core findings, %s', (colorScheme) =>
  bench.visit(address, async (page) => expect(await violations(page)).toEqual([]), { colorScheme }),
);

it('prints every chart in light colours', () =>
  bench.visit(
    address,
    async (page) => {
      const theme = () => page.locator('html').getAttribute('data-theme');
      expect(await page.locator('.plot canvas').count()).toBeLessThan(CHARTS);
      await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
      expect([await theme(), await page.locator('.plot canvas').count()]).toEqual([
        'light',
        CHARTS,
      ]);
      await page.evaluate(() => dispatchEvent(new Event('afterprint')));
      expect(await theme()).toBe('dark');
    },
    { colorScheme: 'dark' },
  ));

it('saves a line chart with its title and its legend', () =>
  bench.visit(address, async (page) => {
    const plot = page.locator('.plot').first();
    await plot.locator('canvas').waitFor();
    await plot.locator('summary').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      plot.getByRole('button', { name: 'SVG' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('Requests-per-second.svg');
    const svg = await readFile(await download.path(), 'utf8');
    expect(svg).toContain('<title>Requests per second</title>');
    for (const name of ['reads', 'writes', 'trims']) expect(svg).toContain(`>${name}</text>`);
  }));

describe('robustness', () => {
  const { facts, ...rest } = makeTrace();
  const none = { total: 0, reads: 0, writes: 0, trims: 0, flushes: 0 };
  const CASES: [string, object, string, number][] = [
    [
      'without requests',
      {
        ...facts,
        doubts: [{ kind: 'empty', text: 'there is no request' }],
        requests: none,
        sizes: null,
        read_share: null,
        time: { start_ns: 0, span_ns: 0, backwards: 0, longest_backwards_ns: 0 },
        volumes: [],
        series: { step_ns: 1024, steps: [] },
      },
      'there is no request',
      0,
    ],
    [
      'at one time, of writes alone',
      {
        ...facts,
        series: { ...facts.series, steps: facts.series.steps.slice(0, 1) },
        heat_map: { column_ns: 1024, row_bytes: 4096, rows: 2, read: [0, 0], written: [0, 512] },
        inter_arrival: { ...facts.inter_arrival, histogram: [{ from_ns: 0, count: 3 }] },
        burstiness: [],
        working_set: [],
        latency: [],
      },
      'All requests are within one step',
      6,
    ],
  ];

  it.each(CASES)('a trace %s', async (name, changed, words, charts) => {
    await bench.visit(await bench.write(name, { ...rest, facts: changed }), async (page) => {
      await page.getByText(words).waitFor();
      expect(await drawAll(page)).toBe(charts);
      if (charts === 0) return;
      await page.getByRole('button', { name: 'read', exact: true }).click();
      await page.getByText('The trace has no bytes read.').waitFor();
    });
  });

  it('shows an interrupted reading and hostile names', async () => {
    const hostile = `</script><img src=x onerror=alert(2)> $& "`;
    const made = { ...rest, facts, status: 'interrupted', inputs: [hostile] };
    await bench.visit(await bench.write('hostile-trace', made), async (page) => {
      await page.getByText('interrupted: the numbers cover the part read before').waitFor();
      expect(await page.locator('h1').textContent()).toBe(hostile.split('/').at(-1));
      await page.getByRole('rowheader', { name: 'hm_<b>0</b>' }).waitFor();
      expect(await page.locator('img').count()).toBe(0);
    });
  });
});
