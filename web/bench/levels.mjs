// Measures the time to draw each level of the application, in a headless Chromium without a GPU, on
// the results of a server. Prints a line for each level with its limit, and fails above one.
//
// `node bench/levels.mjs URL RESULT RUN BENCHMARK EXPERIMENT` needs the URL of a `flashscope serve`
// that has just started and has an empty cache.
import { chromium } from 'playwright-core';
import { chromiumPath } from '../fixtures/chromium.mjs';

/** The limit from the shelf to the first chart in ms. */
const FIRST_LIMIT = 1000;
/** The limit from any level to another in ms. */
const LIMIT = 500;

const [url, result = '', run = '1', benchmark = '', experiment = ''] = process.argv.slice(2);
if (url === undefined) throw new Error('which server? node bench/levels.mjs URL RESULT …');
const part = encodeURIComponent;
const device = `#/d/${part(result)}`;
const named = `${part(benchmark)}/${part(experiment)}`;
/** An IO that every run has. */
const index = 300_000;
const levels = [
  ['shelf to device summary', device, FIRST_LIMIT],
  ['micro-benchmark', `${device}/b/${part(benchmark)}`, LIMIT],
  ['experiment', `${device}/e/${named}`, LIMIT],
  ['colour analysis', `${device}/c/${named}`, LIMIT],
  ['run', `${device}/r/${run}`, LIMIT],
  ['IO', `${device}/r/${run}/i/${index}`, LIMIT],
  ['run, again', `${device}/r/${run}`, LIMIT],
  ['colour analysis, again', `${device}/c/${named}`, LIMIT],
];

/**
 * Runs in the page: opens an address and returns the time of its first painted chart.
 * @param {string} hash
 * @returns {Promise<number>}
 */
function open(hash) {
  const begin = performance.now();
  const main = document.querySelector('main');
  if (main === null) throw new Error('there is no page');
  const before = main.querySelector('h1');
  location.hash = hash;
  /** @param {HTMLCanvasElement} canvas */
  const isDrawn = (canvas) => {
    const { width, height } = canvas;
    if (width === 0 || height === 0) return false;
    const pixels = canvas.getContext('2d')?.getImageData(0, 0, width, height).data;
    return pixels?.some((value, i) => i % 4 === 3 && value > 0) ?? false;
  };
  return new Promise((resolve, reject) => {
    const look = () => {
      const took = performance.now() - begin;
      const here = location.hash === hash && main.querySelector('h1') !== before;
      const canvases = [...main.querySelectorAll('canvas')];
      const waits = main.querySelector('.loading') !== null;
      // Charts out of view are not drawn.
      if (here) main.querySelector('.plot')?.scrollIntoView({ block: 'center' });
      if (here && !waits && canvases.length > 0 && canvases.some(isDrawn)) resolve(took);
      else if (took > 20_000) reject(new Error(`${hash} was not drawn`));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}

const browser = await chromium.launch({
  executablePath: chromiumPath(),
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
await page.goto(url);
await page.locator(`main a[href^="${device}"]`).first().waitFor();
let short = false;
console.log(`levels of ${result}, ms`);
for (const [name, hash, limit] of levels) {
  const took = await page.evaluate(open, String(hash));
  short ||= took > Number(limit);
  const verdict = took > Number(limit) ? 'MISSED' : 'ok';
  console.log(
    `  ${String(name).padEnd(26)} ${took.toFixed(0).padStart(6)}   limit ${limit}   ${verdict}`,
  );
}
await browser.close();
process.exitCode = short ? 1 : 0;
