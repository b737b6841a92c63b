// Chromium on the built page with any report, and a record of its errors.
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { chromiumPath } from '../fixtures/chromium.mjs';
import { insertReport, makeJson, makeReport, onePage } from '../fixtures/make-fixture.mjs';

const TEMPLATE = new URL('../dist/report.html', import.meta.url);
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The built page without a report. */
export async function template(): Promise<string> {
  if (!existsSync(TEMPLATE)) throw new Error('dist/report.html is missing: run `npm run build`');
  return readFile(TEMPLATE, 'utf8');
}

/** An open page with its console messages, errors and foreign requests. */
interface OpenPage {
  page: Page;
  complaints: string[];
}

/** Reports as files, opened in a browser. */
export class Bench {
  private constructor(
    private readonly browser: Browser,
    private readonly folder: string,
  ) {}

  static async start(): Promise<Bench> {
    const browser = await chromium.launch({ executablePath: chromiumPath(), args: FLAGS });
    return new Bench(browser, await mkdtemp(join(tmpdir(), 'flashscope-web-')));
  }

  /** Embeds a report in the page as the program does; returns the address of the file. */
  async write(name: string, held: object = onePage(makeReport())): Promise<string> {
    const path = join(this.folder, `${name}.html`);
    await writeFile(path, insertReport(await template(), makeJson(held)));
    return pathToFileURL(path).href;
  }

  private async open(address: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 900 },
      ...options,
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => {
      const url = request.url();
      const own = address.startsWith('http') && url.startsWith(new URL(address).origin);
      if (!own && !/^(file|data|blob):/.test(url)) complaints.push(`request of ${url}`);
    });
    await page.goto(address);
    await page.locator('#app > *, #app.empty').first().waitFor();
    return { page, complaints };
  }

  /** Opens a page for a test and fails the test on unexpected complaints. */
  async visit(
    address: string,
    what: (page: Page) => Promise<void>,
    { expected, ...options }: BrowserContextOptions & { expected?: RegExp } = {},
  ): Promise<void> {
    const { page, complaints } = await this.open(address, options);
    await what(page);
    expect(complaints.filter((complaint) => !expected?.test(complaint))).toEqual([]);
    await page.context().close();
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await rm(this.folder, { recursive: true });
  }
}

/** Scrolls every chart into view, which draws it; returns their number. */
export async function drawAll(page: Page): Promise<number> {
  const charts = page.locator('.plot');
  const count = await charts.count();
  for (let i = 0; i < count; i++) {
    await charts.nth(i).scrollIntoViewIfNeeded();
    await charts.nth(i).locator('canvas').waitFor();
  }
  return count;
}

/** The excess of the page's width over its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
}

/** The axe-core rules that a page violates, with the elements. */
export async function violations(page: Page): Promise<string[]> {
  // The Content-Security-Policy of the page blocks added scripts.
  await page.evaluate(await readFile(AXE, 'utf8'));
  return page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: axe-core defines an untyped global
    const { violations: found } = await (window as any).axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'],
    });
    return found.map(
      (v: { id: string; nodes: { html: string }[] }) =>
        `${v.id}: ${v.nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`,
    );
  });
}

/** The painted share of a chart's canvas, 0 to 1. */
export async function inked(page: Page, chart: number): Promise<number> {
  return page
    .locator('.plot canvas')
    .nth(chart)
    .evaluate((canvas: HTMLCanvasElement) => {
      const pixels = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data;
      if (pixels === undefined) return 0;
      let drawn = 0;
      for (let i = 3; i < pixels.length; i += 4) if (pixels[i] !== 0) drawn++;
      return drawn / (pixels.length / 4);
    });
}
