import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeReport, onePage } from '../fixtures/make-fixture.mjs';
import { Bench, drawAll, inked, overflow, template, violations } from './browser';

const report = makeReport();
const run = (benchmark: string, experiment: string, value: number, repeat = 1): number =>
  report.manifest.micro_benchmarks
    .find((b) => b.name === benchmark)
    ?.experiments.find((e) => e.name === experiment)
    ?.runs.find(
      (r: { value: number; repeat?: number }) => r.value === value && (r.repeat ?? 1) === repeat,
    ).id;

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

it.each(['#/', '#/b/preparation', `#/r/${run('granularity', 'RW', 32_768)}`])(
  'is complete at its load event, when a browser may print it, %s',
  async (hash) => {
    await withPage(
      async (page) => {
        await page.goto('about:blank');
        await page.goto(address + hash, { waitUntil: 'load' });
        expect(await page.locator('.loading').count()).toBe(0);
        expect(await page.locator('iframe').count()).toBe(0);
      },
      { hash },
    );
  },
);

it('is one file without references', async () => {
  const html = await template();
  expect(html.split('/*REPORT*/')).toHaveLength(2);
  expect(html).toContain('<script id="report" type="application/json">/*REPORT*/</script>');
  expect(html).not.toMatch(/<(script|link|img)[^>]+(src|href)="(?!data:)/);
  expect(html).not.toMatch(/@import|url\((?!["']?(data:|#))/);
});

it('renders every screen without complaints or requests', () =>
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

describe('links', () => {
  it('lead to a run and back by clicks', () =>
    withPage(async (page) => {
      await page.locator('.card').getByRole('link', { name: 'Granularity' }).click();
      await page.getByRole('heading', { level: 1, name: 'Granularity' }).waitFor();
      await page.getByRole('link', { name: '32 KiB, repeat 2' }).first().click();
      await page.getByRole('heading', { level: 1, name: 'SR, IOSize 32 KiB, repeat 2' }).waitFor();
      await page.getByRole('link', { name: /48 KiB/ }).click();
      await page.getByRole('heading', { level: 1, name: 'SR, IOSize 48 KiB, repeat 2' }).waitFor();
      await page.getByRole('link', { name: 'repeat 3' }).click();
      await page.getByRole('heading', { level: 1, name: 'SR, IOSize 48 KiB, repeat 3' }).waitFor();
      await page.goBack();
      await page.goBack();
      await page.goBack();
      await page.getByRole('heading', { level: 1, name: 'Granularity' }).waitFor();
    }));

  it('lead to a run and back by keys', () =>
    withPage(async (page) => {
      await page.locator('.card').getByRole('link', { name: 'Locality' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Locality' }).waitFor();
      await page.getByRole('link', { name: '8 MiB' }).first().focus();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'SR, TargetSize 8 MiB' }).waitFor();
    }));

  it('lead from a chart to a run', () =>
    withPage(
      async (page) => {
        const chart = page.locator('.experiments .plot').nth(3);
        await chart.scrollIntoViewIfNeeded();
        const over = chart.locator('.u-over');
        const { width, height } = (await over.boundingBox()) ?? { width: 0, height: 0 };
        await over.hover({ position: { x: width / 2, y: height / 2 } });
        const tip = await chart.locator('.tip').textContent();
        for (const name of ['mean of 3 runs', '95 % interval', 'mean of repeat 3', 'min', 'max']) {
          expect(tip).toContain(name);
        }
        await over.click({ position: { x: width / 2, y: height / 2 } });
        await page.getByRole('heading', { level: 1, name: /^RW, IOSize/ }).waitFor();
      },
      { hash: '#/b/granularity' },
    ));
});

describe('the page', () => {
  it('marks failed runs', () =>
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

  it('marks skipped runs', () =>
    withPage(
      async (page) => {
        const text = await page.locator('main').textContent();
        expect(text).toContain('skipped: TargetSize = 2 GiB');
        expect(text).toContain('This run recorded no IOs');
        expect(text).toMatch(/Mean\s*–/);
      },
      { hash: `#/r/${SKIPPED}` },
    ));

  it('marks outlined runs, by position and by time', () =>
    withPage(
      async (page) => {
        await page.getByText('The dots are per-pixel minimum and maximum').waitFor();
        await page.getByRole('button', { name: 'by time' }).click();
        const label = page.getByRole('application', { name: /Response times of .* against time/ });
        await label.locator('canvas').waitFor();
      },
      { hash: ROUTES[11] ?? '' },
    ));
});

describe('methodology', () => {
  it('describes the whole measurement', () =>
    withPage(async (page) => {
      const main = page.locator('main');
      await main.getByText(/9 runs may be wrong: other processes used the drive/).waitFor();
      const text = (await main.innerText()).replaceAll(/\s+/g, ' ');
      expect(text).toMatch(/to within 2 % at 95 % confidence, over at least 3 periods/);
      expect(text).toMatch(/of 923 runs reached this precision; 396 ended at the IO limit/);
      expect(text).toMatch(/The repeats differ significantly at 72 of 309 values/);
      expect(text).toMatch(/4\.355 s between runs: writes slow the 3,000 reads/);
      expect(text).toMatch(/This state was restored \d+ times/);
      expect(text).toMatch(/Spent ?90\.2 min and 57\.5 GiB written, of a budget of 2\.00 h/);
      expect(text).toMatch(/RW 125 IOs, confidence 99\.7 % none found run 4/);
      expect(text).toMatch(/IO scheduler ?none/);
      await main.getByRole('link', { name: 'run 140', exact: true }).first().click();
      await main.getByText('other processes used the drive and the CPUs').waitFor();
    }));

  it('describes an experiment', () =>
    withPage(
      async (page) => {
        await page.getByText('≠ marks values whose repeats differ').waitFor();
        await page
          .getByText(/^≠ repeats differ: sd 1[0-9] % \(confidence/)
          .first()
          .waitFor();
        await page
          .getByText(/of 3 runs ended at a limit, mean known to within/)
          .first()
          .waitFor();
        const values = page.getByRole('region', { name: /^Values of RW/ }).locator('tbody tr');
        expect(await values.count()).toBe(15);
        await page.getByRole('button', { name: 'by run' }).click();
        const runs = page.getByRole('region', { name: /^Runs of RW/ }).locator('tbody tr');
        expect(await runs.count()).toBe(45);
      },
      { hash: '#/b/granularity' },
    ));

  it('describes a run', () =>
    withPage(
      async (page) => {
        const main = page.locator('main');
        await main.getByText(/^The statistics exclude the first 138 IOs/).waitFor();
        await main.getByText(/^Ended after 5,130 IOs; its mean is known only to within/).waitFor();
        await main.getByText('41 °C before, 43 °C after').waitFor();
        await go(page, `#/r/${run('granularity', 'SR', 32_768)}`);
        await main.getByText(/^Ended after \d+ IOs, when its mean was known to within/).waitFor();
        await go(page, `#/r/${run('granularity', 'SW', 8192)}`);
        await main.getByText(/^The initial state was restored before this run/).waitFor();
        await main.getByText('repeat every 128 IOs').waitFor();
        await main.getByText('Dotted lines mark the period of 128 IOs').waitFor();
        const disturbedBefore = report.manifest.micro_benchmarks
          .flatMap((b) => b.experiments)
          .flatMap((e) => e.runs)
          .find((r) => r.conditions?.repeated_as_disturbed_by);
        await go(page, `#/r/${disturbedBefore.id}`);
        await main
          .getByText(/^The first attempt was discarded, because other processes used the CPUs/)
          .waitFor();
      },
      { hash: `#/r/${run('granularity', 'RW', 32_768)}` },
    ));

  it('describes the preparation', () =>
    withPage(
      async (page) => {
        const main = page.locator('main');
        await main
          .getByText('Start-up phase: 125 IOs (confidence 99.7 %). Period: none found.')
          .waitFor();
        await main.getByText('Period: 128 IOs (confidence over 99.9 %)').waitFor();
        const lingering = main.getByText('3,000 IOs (confidence over 99.9 %), for 2.17 s');
        expect(await lingering.count()).toBe(1);
        await main.getByText('Runs are therefore 4.345 s apart').waitFor();
      },
      { hash: '#/b/preparation' },
    ));

  it('shades affected reads in the chart', async () => {
    const without = structuredClone(report);
    for (const found of without.manifest.findings?.interference ?? []) found.reads = null as never;
    const hash = `#/r/${run('preparation', 'SR-RW-SR', 20_480)}`;
    const ink: number[] = [];
    for (const other of [address, await bench.write('unfound', onePage(without))]) {
      await withPage(
        async (page) => {
          await drawAll(page);
          ink.push(await inked(page, 0));
        },
        { hash, address: other },
      );
    }
    expect(ink[0]).toBeGreaterThan((ink[1] ?? 1) + 0.1);
  });
});

it('shows the report of a test in rounds', async () => {
  const rounds = {
    test: 'pts-latency',
    rounds: 7,
    steady: false,
    window: [3, 7],
    deviations: ['each run took 1 s instead of 60 s'],
    cells: [
      {
        experiment: '65/35 8 KiB',
        reads_percent: 65,
        io_size_bytes: 8192,
        queue_depth: 1,
        iops: 4139.2,
        throughput_bytes_per_s: 33_900_000,
        mean_latency_ns: 242_000,
        max_latency_ns: 1_810_000,
        runs: [1, 2],
      },
    ],
    tracked: [
      {
        experiment: '0/100 4 KiB',
        metric: 'latency',
        mean: 336_000,
        range: 0.31,
        range_limit: 0.2,
        slope: -0.04,
        slope_limit: 0.1,
        steady: false,
        values: [336_000],
      },
    ],
  };
  const tested = { ...report, facts: { ...report.facts, rounds } };
  await withPage(
    async (page) => {
      const shown = page.locator('section[aria-labelledby="rounds"]');
      const words = (await shown.innerText()).replaceAll(/\s+/g, ' ');
      expect(words).toContain('did not reach a steady state in 7 rounds');
      expect(words).toContain('65 % reads, 35 % writes of 8 KiB 1 4,139');
      expect(words).toContain('writes of 4 KiB 336 µs 31.0 % 20.0 % −4.00 % 10.0 %');
      expect(words).toContain(
        'Deviations from the specification: each run took 1 s instead of 60 s.',
      );
      expect(await page.locator('#key').count()).toBe(0);
      expect(await violations(page)).toEqual([]);
    },
    { address: await bench.write('rounds', onePage(tested)) },
  );
});

it('opens a result of the first version', async () => {
  const old = makeReport({ old: true });
  await withPage(
    async (page) => {
      const main = page.locator('main');
      await main.getByText('1 s between runs.').waitFor();
      const text = await main.textContent();
      for (const unknown of ['Phases found by the preparation', 'Environment', 'Repeats']) {
        expect(text).not.toContain(unknown);
      }
      for (const { name, experiments } of old.manifest.micro_benchmarks) {
        await go(page, `#/b/${name}`);
        expect(await drawAll(page)).toBeGreaterThan(0);
        await go(page, `#/r/${experiments[0].runs[0].id}`);
        expect(await drawAll(page)).toBe(2);
      }
    },
    { address: await bench.write('old', onePage(old)) },
  );
});

it('never scrolls sideways on a phone', () =>
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

it.each(['light', 'dark'] as const)('has no axe-core findings, %s', (colorScheme) =>
  withPage(
    async (page) => {
      expect(await page.locator('html').getAttribute('data-theme')).toBe(colorScheme);
      for (const hash of ['#/', '#/b/alignment', '#/b/preparation', `#/r/${FAILED}`, '#/r/40']) {
        await go(page, hash);
        for (const details of await page.locator('summary').all()) await details.click();
        expect(await violations(page), hash).toEqual([]);
      }
    },
    { colorScheme },
  ),
);

it('changes the theme of page and charts', () =>
  withPage(async (page) => {
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const chart = () =>
      page
        .locator('.plot canvas')
        .first()
        .evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
    await drawAll(page);
    const [before, picture] = [await background(), await chart()];
    await page.getByRole('button', { name: 'Dark theme' }).click();
    await page.getByRole('button', { name: 'Light theme' }).waitFor();
    expect(await background()).not.toBe(before);
    expect(await chart()).not.toBe(picture);
  }));

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
        r.facts = { schema_version: 3, characteristics: {} as never, runs: [], repeats: [] };
        r.outlines = [];
        Object.assign(r.manifest, { status: 'failed', finished: null });
      }),
      'stopped by an error',
    ],
    [
      'without facts',
      changed((r) => {
        r.facts.runs = [];
        r.facts.repeats = [];
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
        if (granularity === undefined) throw new Error('the fixture lacks granularity');
        granularity.experiments = granularity.experiments.slice(0, 1);
        granularity.experiments[0].runs = granularity.experiments[0].runs.slice(0, 1);
        granularity.experiments[0].runs[0].progress = { status: 'interrupted', ios: 20 };
        r.manifest.micro_benchmarks = [granularity];
        r.facts.repeats = [];
        r.facts.runs = r.facts.runs.filter((f) => f.run === granularity.experiments[0].runs[0].id);
        for (const { latency_ns } of r.facts.runs) latency_ns.mean = { value: 9 } as never;
        r.manifest.status = 'interrupted';
      }),
      'interrupted by the user',
    ],
  ];

  it.each(CASES)('a result %s', async (name, made, words) => {
    const other = await bench.write(name, onePage(made));
    await withPage(
      async (page) => {
        await page.getByText(words).first().waitFor();
        // Without data, a chart would have an invented scale.
        const sections = made.manifest.micro_benchmarks.length;
        const unmeasured = made.facts.runs.length === 0 ? Math.max(0, sections - 1) : 0;
        expect(await page.getByText('No run recorded an IO').count()).toBe(unmeasured);
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

  it('shows a hostile name as text', async () => {
    const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)> $& "`;
    const made = changed((r) => {
      Object.assign(r.manifest.device, { name: hostile, model: null });
    });
    await withPage(
      async (page) => {
        expect(await page.locator('h1').textContent()).toBe(hostile);
        expect(await page.locator('img').count()).toBe(0);
      },
      { address: await bench.write('hostile', onePage(made)) },
    );
  });

  it('reports an empty page', async () => {
    const { pathToFileURL } = await import('node:url');
    const path = new URL('../dist/report.html', import.meta.url).pathname;
    await withPage(
      async (page) => {
        await page.getByText('This page is an empty template').waitFor();
      },
      { address: pathToFileURL(path).href },
    );
  });
});
