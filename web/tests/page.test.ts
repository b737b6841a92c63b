import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeReport } from '../fixtures/make-fixture.mjs';
import { Bench, drawAll, inked, overflow, template, violations } from './browser';

const report = makeReport();
const run = (benchmark: string, experiment: string, value: number): number =>
  report.manifest.micro_benchmarks
    .find((b) => b.name === benchmark)
    ?.experiments.find((e) => e.name === experiment)
    ?.runs.find((r: { value: number }) => r.value === value).id;

const FAILED = run('alignment', 'RW', 8192);
const SKIPPED = run('locality', 'RW', 2 ** 31);
const ROUTES = [
  '#/',
  ...report.manifest.micro_benchmarks.map((b) => `#/b/${b.name}`),
  `#/r/${run('granularity', 'RW', 32_768)}`,
  `#/r/${run('mix', 'SR/RW', 4)}`,
  `#/r/${run('parallelism', 'SW', 16)}`,
  `#/r/${run('preparation', 'SR-RW-SR', 20_480)}`,
  `#/r/${FAILED}`,
  `#/r/${SKIPPED}`,
  '#/b/nothing',
];

let bench: Bench;
let address: string;

beforeAll(async () => {
  bench = await Bench.start();
  address = await bench.write('fixture');
});

afterAll(() => bench?.stop());

function withPage(
  what: (page: Page) => Promise<void>,
  options: BrowserContextOptions & { hash?: string; address?: string } = {},
): Promise<void> {
  const { hash = '#/', address: other = address, ...context } = options;
  return bench.visit(other + hash, what, context);
}

async function go(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await page.waitForFunction(() => document.querySelector('main h1') !== null);
}

// Is the built page one file, with one place for the report and nothing to fetch?
it('is self-contained', async () => {
  const html = await template();
  expect(html.split('/*REPORT*/')).toHaveLength(2);
  expect(html).toContain('<script id="report" type="application/json">/*REPORT*/</script>');
  expect(html).not.toMatch(/<(script|link|img)[^>]+(src|href)="(?!data:)/);
  expect(html).not.toMatch(/@import|url\((?!["']?data:)/);
});

// Does every screen render its charts without a complaint or a request?
it('renders every screen', () =>
  withPage(async (page) => {
    for (const hash of ROUTES) {
      await go(page, hash);
      const charts = await drawAll(page);
      const none = hash === `#/r/${SKIPPED}` || hash === '#/b/nothing';
      expect(charts > 0, hash).toBe(!none);
      for (let i = 0; i < charts; i++) {
        expect(await inked(page, i), `${hash}, chart ${i}`).toBeGreaterThan(0.005);
      }
    }
  }));

// Can one go from the overview to a run and back, by clicks and by keys alone?
describe('ways', () => {
  it('by clicks', () =>
    withPage(async (page) => {
      await page.getByRole('link', { name: /Granularity What does an IO cost/ }).click();
      await page.getByRole('heading', { level: 1, name: 'Granularity' }).waitFor();
      await page.getByRole('link', { name: '32 KiB' }).first().click();
      await page.getByRole('heading', { level: 1, name: 'SR, IOSize 32 KiB' }).waitFor();
      await page.getByRole('link', { name: /48 KiB/ }).click();
      await page.getByRole('heading', { level: 1, name: 'SR, IOSize 48 KiB' }).waitFor();
      await page.goBack();
      await page.goBack();
      await page.getByRole('heading', { level: 1, name: 'Granularity' }).waitFor();
    }));

  it('by keys', () =>
    withPage(async (page) => {
      await page.getByRole('link', { name: /Locality How do IOs/ }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Locality' }).waitFor();
      await page.getByRole('link', { name: '8 MiB' }).first().focus();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'SR, TargetSize 8 MiB' }).waitFor();
    }));

  // Does the pointer on a chart show the numbers of the run, and a click lead to it?
  it('through a chart', () =>
    withPage(
      async (page) => {
        const chart = page.locator('.experiments .plot').nth(3);
        await chart.scrollIntoViewIfNeeded();
        const over = chart.locator('.u-over');
        const { width, height } = (await over.boundingBox()) ?? { width: 0, height: 0 };
        await over.hover({ position: { x: width / 2, y: height / 2 } });
        const tip = await chart.locator('.tip').textContent();
        for (const name of ['mean', '95 % interval', 'min', 'p99', 'max', 'throughput']) {
          expect(tip).toContain(name);
        }
        await over.click({ position: { x: width / 2, y: height / 2 } });
        await page.getByRole('heading', { level: 1, name: /^RW, IOSize/ }).waitFor();
      },
      { hash: '#/b/granularity' },
    ));
});

// Are failed, skipped and shortened runs shown as what they are?
describe('honesty', () => {
  it('failed', () =>
    withPage(
      async (page) => {
        const main = page.locator('main');
        await main
          .getByText('failed: Input/output error (errno 5) at offset 734,035,968')
          .waitFor();
        await go(page, '#/b/alignment');
        await main.getByText('failed: Input/output error (errno 5)').waitFor();
      },
      { hash: `#/r/${FAILED}` },
    ));

  it('skipped', () =>
    withPage(
      async (page) => {
        const text = await page.locator('main').textContent();
        expect(text).toContain('skipped: TargetSize = 2 GiB');
        expect(text).toContain('There are no IOs of this run to show');
        expect(text).toMatch(/Mean\s*–/);
      },
      { hash: `#/r/${SKIPPED}` },
    ));

  it('outlined, by position and by time', () =>
    withPage(
      async (page) => {
        await page.getByText('of 5,120 IOs: the fastest and the slowest').waitFor();
        await page.getByRole('button', { name: 'by time' }).click();
        const label = page.getByRole('img', { name: /Response times of .* against time/ });
        await label.locator('canvas').waitFor();
      },
      { hash: ROUTES[11] ?? '' },
    ));
});

// Does no screen scroll sideways on a phone, at the smallest width and with a tip open?
it('fits a phone', () =>
  withPage(
    async (page) => {
      for (const hash of ROUTES) {
        await go(page, hash);
        const charts = await drawAll(page);
        expect(await overflow(page), hash).toBeLessThanOrEqual(0);
        if (charts > 0 && hash.startsWith('#/b/')) {
          await page.locator('.plot').first().scrollIntoViewIfNeeded();
          const plot = page.locator('.u-over').first();
          const { width } = (await plot.boundingBox()) ?? { width: 0 };
          for (const x of [2, width / 2, width - 4]) {
            await plot.hover({ position: { x, y: 40 } });
            expect(await overflow(page), `${hash} with a tip`).toBeLessThanOrEqual(0);
          }
        }
      }
    },
    { viewport: { width: 360, height: 740 } },
  ));

// Is every kind of screen free of what axe-core finds, contrast included, in both themes?
it.each(['light', 'dark'] as const)('is accessible, %s', (colorScheme) =>
  withPage(
    async (page) => {
      expect(await page.locator('html').getAttribute('data-theme')).toBe(colorScheme);
      for (const hash of ['#/', '#/b/alignment', '#/b/preparation', `#/r/${FAILED}`]) {
        await go(page, hash);
        for (const details of await page.locator('summary').all()) await details.click();
        expect(await violations(page), hash).toEqual([]);
      }
    },
    { colorScheme },
  ),
);

// Does the button change the theme, and the charts with it?
it('changes its theme', () =>
  withPage(async (page) => {
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const chart = () =>
      page
        .locator('.plot canvas')
        .first()
        .evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
    const [before, picture] = [await background(), await chart()];
    await page.getByRole('button', { name: 'Dark colours' }).click();
    await page.getByRole('button', { name: 'Light colours' }).waitFor();
    expect(await background()).not.toBe(before);
    expect(await chart()).not.toBe(picture);
  }));

// Does the page cope with a result that is not whole?
describe('robustness', () => {
  type Made = ReturnType<typeof makeReport>;
  const changed = (change: (made: Made) => unknown): Made => {
    const copy = structuredClone(report);
    change(copy);
    return copy;
  };
  const CASES: [string, Made, string][] = [
    [
      'without micro-benchmarks',
      changed((r) => {
        r.manifest.micro_benchmarks = [];
        r.facts = { schema_version: 1, characteristics: {} as never, runs: [] };
        r.outlines = [];
        Object.assign(r.manifest, { status: 'failed', finished: null });
      }),
      'stopped by an error',
    ],
    [
      'without facts',
      changed((r) => {
        r.facts.runs = [];
        r.outlines = [];
        r.facts.characteristics = {} as never;
        Object.assign(r.manifest, { status: 'running', finished: null });
      }),
      'not finished',
    ],
    [
      'of one interrupted run',
      changed((r) => {
        const granularity = r.manifest.micro_benchmarks[1];
        if (granularity === undefined) throw new Error('the fixture has ten sections');
        granularity.experiments = granularity.experiments.slice(0, 1);
        granularity.experiments[0].runs = granularity.experiments[0].runs.slice(0, 1);
        granularity.experiments[0].runs[0].progress = { status: 'interrupted', ios: 20 };
        r.manifest.micro_benchmarks = [granularity];
        r.facts.runs = r.facts.runs.filter((f) => f.run === granularity.experiments[0].runs[0].id);
        for (const { latency_ns } of r.facts.runs) latency_ns.mean = { value: 9 } as never;
        r.manifest.status = 'interrupted';
      }),
      'interrupted by the user',
    ],
  ];

  it.each(CASES)('a result %s', async (name, made, words) => {
    const other = await bench.write(name, made);
    await withPage(
      async (page) => {
        await page.getByText(words).first().waitFor();
        // A scale without data would be made up.
        const sections = made.manifest.micro_benchmarks.length;
        const unmeasured = made.facts.runs.length === 0 ? Math.max(0, sections - 1) : 0;
        expect(await page.getByText('None of its runs has any IO').count()).toBe(unmeasured);
        for (const benchmark of made.manifest.micro_benchmarks) {
          await go(page, `#/b/${benchmark.name}`);
          await drawAll(page);
          await go(page, `#/r/${benchmark.experiments[0].runs[0].id}`);
          await drawAll(page);
        }
        await go(page, '#/');
        await drawAll(page);
      },
      { address: other },
    );
  });

  // Is a name shown as it stands, even where it looks like a part of the page?
  it('a drive with a hostile name', async () => {
    const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)> $& "`;
    const made = changed((r) => {
      Object.assign(r.manifest.device, { name: hostile, model: null });
    });
    await withPage(
      async (page) => {
        expect(await page.locator('h1').textContent()).toBe(hostile);
        expect(await page.locator('img').count()).toBe(0);
      },
      { address: await bench.write('hostile', made) },
    );
  });

  // Does the empty form say that it is empty?
  it('no result at all', async () => {
    const { pathToFileURL } = await import('node:url');
    const path = new URL('../dist/report.html', import.meta.url).pathname;
    await withPage(
      async (page) => {
        await page.getByText('no result was put into it').waitFor();
      },
      { address: pathToFileURL(path).href },
    );
  });
});
