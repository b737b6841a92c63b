import { readFile } from 'node:fs/promises';
import type { BrowserContextOptions, Download, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePage, makeShelf } from '../fixtures/make-page.mjs';
import { makeSimulation } from '../fixtures/make-simulation.mjs';
import { serve } from '../fixtures/server.mjs';
import { time } from '../src/format';
import { Bench, drawAll, inked, overflow, template, violations } from './browser';

const SIMULATION = 'zipf on dftl';
let bench: Bench;
let server: Awaited<ReturnType<typeof serve>>;
let shelf: ReturnType<typeof makeShelf>;

beforeAll(async () => {
  shelf = makeShelf();
  const simulations = [{ id: SIMULATION, name: SIMULATION, simulation: makeSimulation() }];
  server = await serve(await template(), shelf, { simulations });
  bench = await Bench.start();
});

afterAll(async () => {
  await bench?.stop();
  await server?.stop();
});

/** The simulated drive. */
function newer() {
  const found = shelf.find(({ id }) => id === 'newer');
  if (found === undefined) throw new Error('the shelf has no simulated drive');
  return found;
}

/** The runs of an experiment of the simulated drive, and all their IOs. */
function experiment(benchmark: string, name: string) {
  const { manifest, measured } = newer();
  const runs = manifest.micro_benchmarks
    .find((b: { name: string }) => b.name === benchmark)
    ?.experiments.find((e: { name: string }) => e.name === name)
    ?.runs.filter((run: { id: number }) => measured.has(run.id));
  return runs.map((run: { id: number }) => ({ id: run.id, ios: measured.get(run.id) }));
}

/** The position of the slowest IO of a run. */
const slowest = (ios: { latency_ns: number[] }) =>
  ios.latency_ns.indexOf(Math.max(...ios.latency_ns));

function withPage(
  hash: string,
  what: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  return bench.visit(server.address + hash, what, options);
}

const hash = (page: Page) => page.evaluate(() => location.hash);

/** The place of a plot, on the screen. */
async function box(plot: Locator) {
  const found = await plot.locator('.u-over').boundingBox();
  if (found === null) throw new Error('the plot is not on the screen');
  return found;
}

async function wheel(page: Page, plot: Locator, turns: number): Promise<void> {
  const { x, y, width, height } = await box(plot);
  await page.mouse.move(x + width / 2, y + height / 2);
  for (let i = 0; i < Math.abs(turns); i++) await page.mouse.wheel(0, 200 * Math.sign(turns));
}

const COLOURS = '#/d/newer/c/granularity/RW';

describe('colour analysis', () => {
  it('is zoomed by wheel, drag, keys and buttons, and shared by its address', () =>
    withPage(COLOURS, async (page) => {
      const plot = page.locator('.plot');
      const words = page.getByRole('group', { name: 'View' });
      await words.getByText('all 5,120 IOs').waitFor();
      await wheel(page, plot, -4);
      await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.hash));
      const zoomed = await hash(page);
      const shown = await words.innerText();
      await page.goto('about:blank');
      await page.goto(server.address + zoomed);
      await words.getByText('IOs').first().waitFor();
      expect(await words.innerText()).toBe(shown);

      const { x, y, width } = await box(plot);
      await page.mouse.move(x + width / 2, y + 20);
      await page.mouse.down();
      await page.mouse.move(x + width / 2 + 200, y + 20, { steps: 5 });
      await page.mouse.up();
      await page.waitForFunction((before) => location.hash !== before, zoomed);
      expect(Number(/from=(\d+)/.exec(await hash(page))?.[1])).toBeLessThan(
        Number(/from=(\d+)/.exec(zoomed)?.[1]),
      );
      // A drag is no click: it leads nowhere else.
      expect(await hash(page)).toContain('/c/granularity/RW');

      await plot.locator('.canvas').focus();
      await page.keyboard.press('0');
      await words.getByText('all 5,120 IOs').waitFor();
      await page.waitForFunction(() => !location.hash.includes('?'));
      await page.getByRole('button', { name: 'Zoom in' }).click();
      await words.getByText('IOs 1,280 to 3,839 of 5,120').waitFor();
      await page.getByRole('button', { name: 'Scroll right' }).click();
      await words.getByText('IOs 1,920 to 4,479 of 5,120').waitFor();
    }));

  it('shows the IO under the pointer and opens it by a click', () =>
    withPage(`${COLOURS}?from=1000&to=1016`, async (page) => {
      const runs = experiment('granularity', 'RW');
      const plot = page.locator('.plot');
      const { x, y, width, height } = await box(plot);
      await page.waitForFunction(() => document.querySelector('.plot canvas') !== null);
      for (const [row, column] of [
        [0, 0],
        [3, 7],
        [runs.length - 1, 15],
      ] as const) {
        const { id, ios } = runs[row];
        await page.mouse.move(
          x + ((column + 0.5) / 16) * width,
          y + ((row + 0.5) / runs.length) * height,
        );
        const tip = plot.locator('.tip');
        await tip.getByText(`IO ${(1000 + column).toLocaleString('en-US')}`).waitFor();
        const said = (await tip.innerText()).replaceAll(/\s+/g, ' ');
        expect(said).toContain(`run ${id}`);
        const [, number, unit] = /about ([\d.]+) (ns|µs|ms|s)/.exec(said) ?? [];
        const ns = Number(number) * { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[unit as 'ms'];
        // A code is one of 254 steps on the log scale.
        expect(Math.abs(ns / ios.latency_ns[1000 + column] - 1)).toBeLessThan(0.02);
      }
      await page.mouse.click(x + (7.5 / 16) * width, y + (3.5 / runs.length) * height);
      await page.getByRole('heading', { level: 1, name: 'IO 1,007' }).waitFor();
      expect(await hash(page)).toBe(`#/d/newer/r/${runs[3].id}/i/1007`);
    }));

  it('shows IOs by arrow keys and announces them', () =>
    withPage(`${COLOURS}?from=1000&to=1016`, async (page) => {
      const runs = experiment('granularity', 'RW');
      await page.locator('.plot canvas').waitFor();
      await page.locator('.plot .canvas').focus();
      for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
      const spoken = page.locator('.plot [aria-live]');
      await spoken.getByText(/IO 1,001, response time about .*, run/).waitFor();
      expect(await spoken.innerText()).toContain(`run ${runs[1].id}`);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'IO 1,001' }).waitFor();
    }));

  it('keeps what the keys point at when the chart is drawn again', () =>
    withPage(`${COLOURS}?from=1000&to=1016`, async (page) => {
      await page.locator('.plot canvas').waitFor();
      await page.locator('.plot .canvas').focus();
      for (const key of ['ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
      const tip = page.locator('.plot .tip').getByText('IO 1,001');
      await tip.waitFor();
      const before = await page.locator('.plot canvas').elementHandle();
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.waitForFunction((old) => !old?.isConnected, before);
      await tip.waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'IO 1,001' }).waitFor();
    }));
});

const RUN = () => experiment('granularity', 'RW')[8];

describe('run', () => {
  it('is zoomed by position and time, with the histogram of the view', () =>
    withPage(`#/d/newer/r/${RUN().id}`, async (page) => {
      const plot = page.locator('.plot').first();
      const words = page.getByRole('group', { name: 'View' });
      await words.getByText('all 5,120 IOs').waitFor();
      await wheel(page, plot, -5);
      await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.hash));
      const [, from, to] = /from=(\d+)&to=(\d+)/.exec(await hash(page)) ?? [];
      const counted = `Counts IOs ${Number(from).toLocaleString('en-US')} to ${(Number(to) - 1).toLocaleString('en-US')} of run`;
      await page.getByText(counted).waitFor();
      const median = RUN()
        .ios.latency_ns.slice(Number(from), Number(to))
        .sort((a: number, b: number) => a - b)[Math.floor((Number(to) - Number(from)) / 2)];
      const row = page.getByRole('row', { name: /^p50/ });
      expect(await row.innerText()).toContain(time(median));

      await page.getByRole('button', { name: 'by time' }).click();
      await words.getByText(/ of .* s$/).waitFor();
      await page.waitForTimeout(400);
      const [, later] = /from=(\d+)/.exec(await hash(page)) ?? [];
      expect(Math.abs(Number(later) - Number(from))).toBeLessThanOrEqual(2);
      // On the time axis, too, the address contains the IOs in view.
      await page.getByRole('button', { name: 'Zoom in' }).click();
      await page.waitForFunction((before) => !location.hash.includes(before), `from=${later}&`);
      const [, first, last] = /from=(\d+)&to=(\d+)/.exec(await hash(page)) ?? [];
      expect(Number(first)).toBeGreaterThan(Number(from));
      expect(Number(last)).toBeLessThan(Number(to));
    }));

  it('shows IOs by arrow keys as they were recorded', () =>
    withPage(`#/d/newer/r/${RUN().id}?from=2000&to=2020`, async (page) => {
      const { ios, id } = RUN();
      await page.locator('.plot canvas').first().waitFor();
      await page.waitForTimeout(400);
      await page.locator('.plot .canvas').first().focus();
      for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowRight');
      const spoken = page.locator('.plot [aria-live]').first();
      await spoken.getByText(`write 2,003, response time ${time(ios.latency_ns[2003])}`).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'IO 2,003' }).waitFor();
      expect(await hash(page)).toBe(`#/d/newer/r/${id}/i/2003`);
    }));
});

it('shows running means', async () => {
  const [measurement] = makePage([newer()], { compress: false }).measurements;
  if (measurement === undefined) throw new Error('the page has no measurement');
  const { id } = RUN();
  const outline = measurement.outlines.find((o: { run: number }) => o.run === id);
  outline.running_means = {
    index: [99, 199, outline.ios - 1],
    all_ns: [1_234_000, 1_234_000, 1_234_000],
    after_start_up_ns: [null, 2_345_000, 2_345_000],
  };
  const page = {
    measurements: [measurement],
    simulations: [],
    probes: [],
    sweeps: [],
    comparisons: [],
  };
  await bench.visit(`${await bench.write('means', page)}#/d/newer/r/${id}`, async (page) => {
    const plot = page.locator('.plot').first();
    await plot.locator('canvas').waitFor();
    await page.getByText('running mean without the start-up').first().waitFor();
    await plot.locator('.canvas').focus();
    for (let i = 0; i < 300; i++) await page.keyboard.press('ArrowRight');
    const spoken = plot.locator('[aria-live]');
    await spoken.getByText(/mean up to here 1\.23 ms, without start-up 2\.35 ms/).waitFor();
    const drawn = () => plot.locator('canvas').evaluate((c: HTMLCanvasElement) => c.toDataURL());
    const before = await drawn();
    await page.getByLabel('running means').uncheck();
    await page.waitForTimeout(200);
    expect(await drawn()).not.toBe(before);
    // A page without a server explains how to see every IO.
    await page.getByText('To see every IO, run “flashscope serve”').first().waitFor();
  });
});

describe('IO', () => {
  it('is shown among its neighbours with the activity of the drive', async () => {
    const { id, ios } = RUN();
    const index = slowest(ios);
    await withPage(`#/d/newer/r/${id}/i/${index}`, async (page) => {
      await page
        .getByText(/^During this write the drive did .* of block \d+: 61 pages read, 64 programmed/)
        .first()
        .waitFor();
      const here = page.getByRole('row').and(page.locator('.here'));
      expect(await here.innerText()).toContain(time(ios.latency_ns[index]));
      expect(await here.innerText()).toContain(ios.offset_bytes[index].toLocaleString('en-US'));
      await page.keyboard.press('ArrowRight');
      await page
        .getByRole('heading', { level: 1, name: `IO ${(index + 1).toLocaleString('en-US')}` })
        .waitFor();
      await page.getByRole('link', { name: /^previous slow IO/ }).click();
      await page
        .getByRole('heading', { level: 1, name: `IO ${index.toLocaleString('en-US')}` })
        .waitFor();
    });
  });

  it('is missed with a word', () =>
    withPage(`#/d/newer/r/${RUN().id}/i/99999`, async (page) => {
      await page.getByText(/Run \d+ has no IO 99,999: it has 5,120 IOs/).waitFor();
    }));
});

describe('simulation', () => {
  it('shows the extremes of free blocks in a chart, text and table', () => {
    const { erases, free_blocks: free } = makeSimulation().observations;
    return withPage(`#/s/${encodeURIComponent(SIMULATION)}`, async (page) => {
      const panel = page.getByRole('region', { name: 'Free blocks', exact: true });
      await panel.getByText(`at least ${free.min} free blocks, `).waitFor();
      await panel.getByText(`of ${erases.blocks.toLocaleString('en-US')}`).waitFor();
      await panel.locator('.canvas').focus();
      await panel.locator('canvas').waitFor();
      for (const key of ['ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
      const { min, max } = free.curve.buckets[1] ?? {};
      await panel.locator('[aria-live]').getByText(`minimum ${min}, maximum ${max}`).waitFor();
      await panel.getByText('Minimum of each lane').click();
      const cells = await panel.locator('tbody td').allInnerTexts();
      expect(cells).toEqual(free.lane_min.map(String));
    });
  });
});

/** Clicks on a button, and returns the file that the browser saves. */
async function saved(page: Page, button: Locator): Promise<Download> {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  return download;
}

async function content(download: Download): Promise<Buffer> {
  return readFile(await download.path());
}

describe('downloads', () => {
  it('save every kind of chart as SVG with title, axes and keys', async () => {
    const { id, ios } = RUN();
    const screens = [
      [`#/d/newer/r/${id}`, 'Response times of RW', 'write', false],
      [COLOURS, 'Granularity, RW', 'response time', true],
      [`#/d/newer/r/${id}/i/${slowest(ios)}`, 'IOs in flight', 'write', false],
      [`#/s/${encodeURIComponent(SIMULATION)}`, 'Write amplification', 'cleaning', false],
      ['#/d/newer/b/granularity', 'Granularity: mean response', 'SR (sequential reads)', false],
      ['#/d/newer/e/granularity/RW', 'Granularity RW: response', 'fastest to slowest IO', false],
    ] as const;
    for (const [screen, title, key, image] of screens) {
      await withPage(screen, async (page) => {
        const plot = page.locator('.plot').first();
        await plot.locator('canvas').waitFor();
        await plot.locator('summary').click();
        const download = await saved(page, plot.getByRole('button', { name: 'SVG' }));
        expect(download.suggestedFilename()).toMatch(/^[\w.-]+\.svg$/);
        const svg = (await content(download)).toString();
        const found = await page.evaluate((text) => {
          const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
          const numbers = (name: string) => parsed.querySelectorAll(name).length;
          return {
            error: numbers('parsererror'),
            paths: [...parsed.querySelectorAll('path')].filter((p) => p.getAttribute('d')).length,
            images: numbers('image'),
            texts: [...parsed.querySelectorAll('text')].map((t) => t.textContent ?? ''),
            title: parsed.querySelector('title')?.textContent ?? '',
            size: ['width', 'height'].map((n) => Number(parsed.documentElement.getAttribute(n))),
          };
        }, svg);
        expect(found.error).toBe(0);
        expect(found.paths).toBeGreaterThan(4);
        expect(found.images > 0, screen).toBe(image);
        expect(found.title).toContain(title);
        expect(found.texts.join(' ')).toContain(key);
        // The labels of both axes are among them.
        expect(found.texts.length).toBeGreaterThan(8);
        expect(svg).not.toMatch(/NaN|undefined|Infinity/);
        expect(Math.min(...found.size)).toBeGreaterThan(200);
      });
    }
  });

  it('save a light PNG of twice the size', () =>
    withPage(
      `#/d/newer/r/${RUN().id}`,
      async (page) => {
        const plot = page.locator('.plot').first();
        await plot.locator('canvas').waitFor();
        await plot.locator('summary').click();
        const png = await content(await saved(page, plot.getByRole('button', { name: 'PNG' })));
        expect(png.subarray(1, 4).toString()).toBe('PNG');
        const width = png.readUInt32BE(16);
        const shown = (await plot.boundingBox())?.width ?? 0;
        expect(width).toBe(2 * (Math.round(shown) + 32));
        const { light, dark } = await page.evaluate(async (base64) => {
          const image = new Image();
          image.src = `data:image/png;base64,${base64}`;
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height);
          const pen = canvas.getContext('2d');
          pen?.drawImage(image, 0, 0);
          const { data = [] } = pen?.getImageData(0, 0, image.width, image.height) ?? {};
          let [light, dark] = [0, 0];
          for (let i = 0; i < data.length; i += 4) {
            if ((data[i] ?? 0) > 230) light++;
            else dark++;
          }
          return { light, dark };
        }, png.toString('base64'));
        expect(light / (light + dark)).toBeGreaterThan(0.8);
        expect(dark).toBeGreaterThan(2000);
      },
      { colorScheme: 'dark' },
    ));

  it('save the visible rows as CSV in full precision', async () => {
    const { id, ios } = RUN();
    const index = slowest(ios);
    await withPage(`#/d/newer/r/${id}/i/${index}`, async (page) => {
      const button = page.getByRole('button', { name: /^Save the table Neighbours of IO/ });
      const text = (await content(await saved(page, button))).toString();
      const [head, ...rows] = text.trimEnd().split('\r\n');
      expect(head).toBe(
        'IO,operation,submitted at (ns),response time (ns),offset (bytes),length (bytes),stream,late (ns),outcome',
      );
      const seen = page.getByRole('region', { name: /^Neighbours of IO/ }).locator('tbody tr');
      expect(rows).toHaveLength(await seen.count());
      expect(rows).toContain(
        [
          index,
          'write',
          ios.submitted_ns[index],
          ios.latency_ns[index],
          ios.offset_bytes[index],
          32_768,
          0,
          0,
          'succeeded',
        ].join(','),
      );
    });
  });
});

const SCREENS = () => {
  const { id, ios } = RUN();
  return [
    COLOURS,
    `#/d/newer/r/${id}`,
    `#/d/newer/r/${id}/i/${slowest(ios)}`,
    `#/s/${encodeURIComponent(SIMULATION)}`,
  ];
};

describe('every picture', () => {
  it.each(['light', 'dark'] as const)('is drawn and accessible, %s', async (colorScheme) => {
    for (const screen of SCREENS()) {
      await withPage(
        screen,
        async (page) => {
          await page.locator('.plot canvas').first().waitFor();
          const charts = await drawAll(page);
          for (let i = 0; i < charts; i++) {
            expect(await inked(page, i), `${screen}, chart ${i}`).toBeGreaterThan(0.005);
          }
          expect(await violations(page), screen).toEqual([]);
        },
        { colorScheme },
      );
    }
  });

  it('fits a phone', async () => {
    for (const screen of SCREENS()) {
      await withPage(
        screen,
        async (page) => {
          // The first chart may lie below the screen; it is drawn when it comes into view.
          await page.locator('.plot').first().waitFor();
          await drawAll(page);
          expect(await overflow(page), screen).toBeLessThanOrEqual(0);
        },
        { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
      );
    }
  });
});
