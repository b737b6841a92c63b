// The playground in a browser: from a file, alone on a page, and from a server.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playground } from '../fixtures/make-fixture.mjs';
import { serve } from '../fixtures/server.mjs';
import { Bench, overflow, template, violations } from './browser';

let bench: Bench;
let alone: string;

beforeAll(async () => {
  if (playground() === '') throw new Error('the simulator is missing: run `make playground`');
  bench = await Bench.start();
  alone = await bench.write('playground', { playground: true });
});
afterAll(() => bench?.stop());

const corner = (page: Page) => page.locator('.corner b').first();
const play = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const slider = (page: Page, name: string) => page.getByRole('slider', { name });

/** The sentence about the last command, once it matches. */
const narration = (page: Page, words: RegExp) =>
  page.locator('.narration').filter({ hasText: words });

/** The numbers of a row of the table of dies. */
async function dieRow(page: Page, die: number): Promise<number[]> {
  const row = page.getByRole('region', { name: 'Pages by die' }).getByRole('row').nth(die);
  const cells = await row.getByRole('cell').allInnerTexts();
  return cells.map((text) => Number(text.replaceAll(',', '')));
}

/** The colours on the canvas, with the number of their pixels. */
const colours = (page: Page) =>
  page
    .locator('canvas')
    .first()
    .evaluate((canvas: HTMLCanvasElement) => {
      // A copy, because the browser complains about canvases of the page that are read often.
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {
        willReadFrequently: true,
      });
      copy?.drawImage(canvas, 0, 0);
      const data = copy?.getImageData(0, 0, canvas.width, canvas.height).data;
      const counts: Record<string, number> = {};
      for (let i = 0; data !== undefined && i < data.length; i += 4) {
        const hex = [0, 1, 2].map((j) => (data[i + j] ?? 0).toString(16).padStart(2, '0')).join('');
        counts[`#${hex}`] = (counts[`#${hex}`] ?? 0) + 1;
      }
      return counts;
    });

describe('the playground', () => {
  it('shows flash, steps a command at a time, and plays', () =>
    bench.visit(`${alone}#/play?step=3`, async (page) => {
      await play(page, 'One command').waitFor();
      await narration(page, /^The host writes|^Cleaning/).waitFor();
      const before = await dieRow(page, 1);
      expect(before.slice(0, 5).reduce((sum, one) => sum + one, 0)).toBe(64 * 32);
      await play(page, 'One command').click();
      await narration(page, /page \d+ of block \d+ of die \d|erases block/).waitFor();
      for (let i = 0; i < 60; i++) await page.keyboard.press('.');
      await narration(page, /^Cleaning|^The drive erases|^The host writes/).waitFor();
      await slider(page, 'Speed').fill('6');
      await play(page, 'Play').click();
      await page.waitForFunction(() => {
        const shown = document.querySelector('.corner b')?.textContent ?? '';
        return /^×4\.[5-9]|^×5\.[01]/.test(shown);
      });
      await play(page, 'Pause').click();
      const [, moved = 0, , superseded = 0, free = 0] = await dieRow(page, 2);
      expect(moved).toBeGreaterThan(1000);
      expect(superseded).toBeGreaterThan(50);
      expect(free).toBeGreaterThan(50);
      // The colours of the last commands fade with the frames of the page, however slow these are.
      for (const color of ['#2b86c5', '#f0932b', '#a7afb7', '#e8ecf0']) {
        await expect
          .poll(async () => (await colours(page))[color] ?? 0, { message: color, timeout: 20_000 })
          .toBeGreaterThan(1000);
      }
    }));

  it('leads through the tour, and each step sets the drive up', () =>
    bench.visit(alone, async (page) => {
      await page.getByRole('heading', { name: 'Flash cannot overwrite' }).waitFor();
      await page.getByText('Step 1 of 8').waitFor();
      for (const title of [/Grey pages/, /makes free blocks/, /^Write amplification$/]) {
        await play(page, 'Next').click();
        await page.getByRole('heading', { name: title }).first().waitFor();
      }
      await page.waitForFunction(() =>
        /^×[3-5]/.test(document.querySelector('.corner b')?.textContent ?? ''),
      );
      await play(page, 'Next').click();
      expect(await slider(page, 'Spare space').inputValue()).toBe('0.3');
      // The curve of the step before stays beside the new one.
      await page.getByText('before the last change').waitFor();
      await page.getByRole('button', { name: 'Step 7: Tell the drive' }).click();
      expect(await slider(page, 'Trims').inputValue()).toBe('0.2');
      await play(page, 'Leave the tour').click();
      await play(page, 'Take the tour Write amplification in three minutes').waitFor();
      await page.reload();
      expect(await slider(page, 'Trims').inputValue()).toBe('0.2');
    }));

  it('changes the drive and the host, and the address follows', () =>
    bench.visit(`${alone}#/play?tour=off`, async (page) => {
      await slider(page, 'Speed').fill('6');
      await page.getByLabel('Model').selectOption('usb');
      await page.getByText('not supported').waitFor();
      expect(await slider(page, 'Trims').isDisabled()).toBe(true);
      await page.getByLabel('Mapping').selectOption('fast');
      await page.getByLabel('Addresses').selectOption('hotcold');
      await slider(page, 'IOs to the hot fifth').fill('0.5');
      await page.getByText('no closed form covers this drive').waitFor();
      await slider(page, 'Reads').fill('0.5');
      await slider(page, 'Queue depth').fill('8');
      await page.getByText(/reads?, .*in flight|writes?, .*in flight|reads? in flight/).waitFor();
      await page.getByText(/reads: \d/).waitFor();
      const hash = await page.evaluate(() => location.hash);
      expect(hash).toContain('drive=usb');
      expect(hash).toContain('queueDepth=8');
      expect(await page.locator('pre').innerText()).toMatch(
        /flashsim-2009\?.*ftl=fast.*hotcold.*hot_writes=0.5.*reads=0.5.*--queue-depth 8/s,
      );
      await narration(page, /^Merge|^Slow down/).waitFor();
    }));

  it('works with the keyboard alone', () =>
    bench.visit(`${alone}#/play?step=3`, async (page) => {
      await narration(page, /^The host writes|^Cleaning/).waitFor();
      await page.keyboard.press('k');
      await play(page, 'Pause').waitFor();
      await page.keyboard.press(' ');
      await play(page, 'Play').waitFor();
      await page.getByRole('img', { name: /The flash of the drive, 8,192 pages/ }).focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowDown');
      const spoken = page.locator('.flash [aria-live]');
      expect(await spoken.innerText()).toMatch(/^Die 1, block 2, page 1. .*erased \d+ times?\.$/);
      await page.keyboard.press('Escape');
      expect(await spoken.innerText()).toBe('');
    }));

  it('stands still for people who prefer that', () =>
    bench.visit(
      alone,
      async (page) => {
        await play(page, 'Play').waitFor();
        await page.getByText(/^The host wrote 130 pages, read/).waitFor();
        const wrote = () => page.getByText(/^The host wrote .* pages, read/).innerText();
        const before = await wrote();
        await page.waitForTimeout(600);
        expect(await wrote()).toBe(before);
      },
      { reducedMotion: 'reduce' },
    ));

  it.each(['light', 'dark'] as const)('is accessible and fits a phone, %s', (colorScheme) =>
    bench.visit(
      `${alone}#/play?step=3`,
      async (page) => {
        await narration(page, /^The host writes|^Cleaning/).waitFor();
        expect(await violations(page)).toEqual([]);
        await page.setViewportSize({ width: 390, height: 844 });
        await page.waitForTimeout(200);
        expect(await overflow(page)).toBeLessThanOrEqual(0);
        expect(await violations(page)).toEqual([]);
        const { width = 0 } = (await page.locator('canvas').first().boundingBox()) ?? {};
        expect(width).toBeLessThanOrEqual(390);
      },
      { colorScheme },
    ),
  );
});

describe('in a frame of the book', () => {
  it('has neither a title nor a navigation, and opens the step of its address', async () => {
    const book = await bench.write('book');
    const frame = `<iframe src="${alone}#/play?step=3" title="A cleaning" width="760" height="900"></iframe>`;
    const page = `<!doctype html><html lang="en"><title>Book</title><div id="app">${frame}</div></html>`;
    await writeFile(fileURLToPath(book), page);
    await bench.visit(book, async (page) => {
      const inner = page.frameLocator('iframe');
      await inner.getByRole('heading', { name: 'Cleaning makes free blocks' }).waitFor();
      await inner
        .locator('.narration')
        .filter({ hasText: /^The host writes|^Cleaning/ })
        .waitFor();
      expect(await inner.getByRole('banner').count()).toBe(0);
      expect((await inner.locator('h1').boundingBox())?.height).toBeLessThanOrEqual(1);
    });
  });
});

describe('the size', () => {
  it('stays within the budget of a page', async () => {
    // A page of a full demo has 10 MB, most of it results.
    expect(playground().length).toBeLessThan(660_000);
    expect((await template()).length).toBeLessThan(700_000);
  });
});

describe('the entry', () => {
  it('leads from results in a file to the playground and back', async () => {
    const address = await bench.write('with-results');
    await bench.visit(address, async (page) => {
      await page.getByRole('link', { name: 'Playground' }).click();
      await page.getByRole('heading', { name: 'Inside a flash drive' }).waitFor();
      await corner(page).waitFor();
      await page.getByRole('link', { name: 'Result' }).click();
      await page.getByRole('heading', { level: 1 }).waitFor();
    });
  });

  it('works from a server', async () => {
    const served = await serve(await template(), []);
    await bench.visit(`${served.address}#/play`, async (page) => {
      await corner(page).waitFor();
      await page.getByRole('link', { name: 'Shelf' }).waitFor();
    });
    await served.stop();
  });

  it('is absent from a page without the simulator', async () => {
    const address = await bench.write('without');
    const html = (await template()).replace('/*REPORT*/', '{"playground":true}');
    await writeFile(fileURLToPath(address), html);
    await bench.visit(address, async (page) => {
      await page.getByText('this page was built without the simulator').waitFor();
      expect(await page.getByRole('link', { name: 'Playground' }).count()).toBe(0);
    });
  });
});
