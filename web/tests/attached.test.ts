import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { makeLive, serveAttached } from '../fixtures/attached.mjs';
import { published } from '../scripts/published.mjs';
import { Attached } from '../src/data/attached.svelte';
import { Bench, drawAll, inked, overflow, template, violations } from './browser';

const CHARTS = 7;

let bench: Bench;
let served: { address: string; stop: () => Promise<void> };

beforeAll(async () => {
  bench = await Bench.start();
  served = await serveAttached(await template(), 200);
});

afterAll(async () => {
  await bench?.stop();
  await served?.stop();
});

afterEach(() => {
  vi.useRealTimers();
});

const now = (page: Page) => page.getByRole('region', { name: 'Last second' });

it('gives a fixture that obeys the schema', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile(await published('live'));
  validate(makeLive(20, 3));
  expect(validate.errors).toBeNull();
  validate({ ...makeLive(20, 3), samples: [{}] });
  expect(validate.errors).not.toBeNull();
});

it.each(['light', 'dark'] as const)('draws its charts in both themes, %s', (colorScheme) =>
  bench.visit(
    served.address,
    async (page) => {
      await now(page).waitFor();
      expect(await page.title()).toBe('sim:demo?cache.kind=lru · attached · flashscope');
      expect(await drawAll(page)).toBe(CHARTS);
      for (let i = 0; i < CHARTS; i++) {
        expect(await inked(page, i), `chart ${i}`).toBeGreaterThan(0.005);
      }
    },
    { colorScheme },
  ),
);

it('updates numbers and charts, including the value under the pointer', () =>
  bench.visit(served.address, async (page) => {
    await now(page).waitFor();
    const chart = page.getByRole('img', { name: /^Latencies in the last minutes/ });
    await chart.scrollIntoViewIfNeeded();
    await chart.locator('canvas').waitFor();
    const box = await chart.boundingBox();
    if (box === null) throw new Error('the chart has no place');
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const tip = page.getByText(/ ago$/);
    await tip.waitFor();
    const numbers = await now(page).textContent();
    const picture = () =>
      chart.locator('canvas').evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
    const before = await picture();
    await expect.poll(() => now(page).textContent(), { timeout: 20_000 }).not.toBe(numbers);
    await expect.poll(picture).not.toBe(before);
    await tip.waitFor();
  }));

it('describes the drive, its faults and its controls', () =>
  bench.visit(served.address, async (page) => {
    await page.getByRole('heading', { level: 1, name: 'sim:demo?cache.kind=lru' }).waitFor();
    await page.getByText('nbd://127.0.0.1:10809').waitFor();
    await page.getByText('Fixture <b>SSD</b> & Sons · 1 GiB · attached for').waitFor();
    const health = page.getByRole('region', { name: 'Health and wear' });
    expect(await health.textContent()).toMatch(/spare blocks are running out.*103 %/s);
    const rows = page.getByRole('table').getByRole('row');
    expect(await rows.nth(2).textContent()).toMatch(/write\s*456,789\s*1\.74 GiB\s*2\s*200 µs/);
    expect(await rows.count(), 'nothing was trimmed').toBe(4);
  }));

it.each([
  [390, 'light'],
  [390, 'dark'],
  [1400, 'light'],
  [1400, 'dark'],
] as const)('fits %i px, %s', (width, colorScheme) =>
  bench.visit(
    served.address,
    async (page) => {
      await now(page).waitFor();
      await drawAll(page);
      expect(await overflow(page)).toBe(0);
      expect(await violations(page)).toEqual([]);
    },
    { colorScheme, viewport: { width, height: 900 } },
  ),
);

it('reports the end of the program and recovers', async () => {
  const gone = await serveAttached(await template(), 50);
  // Pending requests may fail or succeed when their server ends.
  const expected = /net::ERR_(CONNECTION_(REFUSED|RESET|CLOSED)|EMPTY_RESPONSE)/;
  await bench.visit(
    gone.address,
    async (page) => {
      await now(page).waitFor();
      await gone.stop();
      const alert = page.getByRole('alert');
      await alert.waitFor({ timeout: 20_000 });
      expect(await alert.textContent()).toContain('Is “flashscope attach” still running?');
      expect(await now(page).isVisible()).toBe(true);
    },
    { expected },
  );
});

it('fetches each sample once, keeps five minutes and separates drives', async () => {
  vi.useFakeTimers();
  let [seconds, process] = [350, 1];
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    const live = makeLive(seconds, Number(url.split('=')[1]));
    return new Response(JSON.stringify({ ...live, process }));
  });
  const attached = new Attached();
  const stop = attached.watch();
  const turn = async (milliseconds: number) => {
    await vi.advanceTimersByTimeAsync(milliseconds);
    return attached.samples.map(({ at_s }) => at_s);
  };
  const first = await turn(1);
  expect([first.length, first[0], first.at(-1)]).toEqual([300, 51, 350]);
  seconds = 352;
  const next = await turn(1000);
  expect([next.length, next[0], next.at(-1)]).toEqual([300, 53, 352]);
  [seconds, process] = [5, 2];
  expect(await turn(1000)).toEqual([]);
  expect(await turn(1000)).toEqual([1, 2, 3, 4, 5]);
  stop();
  await turn(5000);
  expect(asked.map((url) => url.split('=')[1])).toEqual(['0', '350', '352', '0']);
});
