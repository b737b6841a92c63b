// Measures frames per second during zooms and moves of a run of 10 million IOs, in a headless Chromium
// without a GPU. Prints a line for each chart with its limit, and fails below it.
//
// `node bench/frames.mjs` serves a made-up run from memory.
// `node bench/frames.mjs URL RESULT RUN BENCHMARK EXPERIMENT` measures a running `flashscope serve`.
import { readFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { chromiumPath } from '../fixtures/chromium.mjs';
import { makeLongRun, serveLongRun } from './long-run.mjs';
import { rates } from './rates.mjs';

const IOS = 10_000_000;
/** The minimum of frames per second. */
const LIMIT = 50;
/** The duration of each measurement in ms. */
const DURATION = 4000;
/** The number of measurements; the best counts because other programs use the machine too. */
const TRIES = 3;

/**
 * Runs in the page: zooms and moves a step per frame; returns the times of the frames.
 * @param {number} duration
 * @returns {Promise<number[]>}
 */
function exercise(duration) {
  const over = document.querySelector('.u-over');
  if (over === null) throw new Error('there is no chart');
  const { left, top, width, height } = over.getBoundingClientRect();
  /** @type {number[]} */
  const frames = [];
  return new Promise((resolve) => {
    const begin = performance.now();
    const frame = (/** @type {number} */ now) => {
      frames.push(now);
      const t = (now - begin) / duration;
      if (t >= 1) {
        resolve(frames);
        return;
      }
      // Zoom in for a third of the time, then move, then zoom out, about a moving centre.
      const at = {
        clientX: left + width * (0.5 + 0.3 * Math.sin(20 * t)),
        clientY: top + height / 2,
      };
      const [deltaX, deltaY] =
        t < 1 / 3 ? [0, -60] : t < 2 / 3 ? [40 * Math.sin(40 * t), 0] : [0, 60];
      over.dispatchEvent(
        new WheelEvent('wheel', { ...at, deltaX, deltaY, bubbles: true, cancelable: true }),
      );
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}

const [url, result = 'long', runId = '1', benchmark = 'granularity', experiment = 'RW'] =
  process.argv.slice(2);
const template = await readFile(new URL('../dist/report.html', import.meta.url), 'utf8');
const served = url === undefined ? await serveLongRun(template, makeLongRun(IOS)) : undefined;
const address = url ?? served?.address;
const browser = await chromium.launch({
  executablePath: chromiumPath(),
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
const part = encodeURIComponent;
const pictures = [
  ['run by position', `#/d/${part(result)}/r/${runId}`, undefined],
  ['run by time', `#/d/${part(result)}/r/${runId}`, 'by time'],
  ['colour analysis', `#/d/${part(result)}/c/${part(benchmark)}/${part(experiment)}`, undefined],
];
let short = false;
console.log(`zoom and pan, ${url === undefined ? `${IOS / 1e6} million IOs` : url}`);
for (const [name, hash, press] of pictures) {
  let best = { fps: 0, p95: 0, worst: 0 };
  for (let i = 0; i < TRIES && best.fps < LIMIT; i++) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${address}${hash}`);
    await page.locator('.u-over').first().waitFor();
    if (press !== undefined) await page.getByRole('button', { name: press }).click();
    await page.waitForTimeout(500);
    const found = rates(await page.evaluate(exercise, DURATION));
    if (found.fps > best.fps) best = found;
    await page.close();
  }
  short ||= best.fps < LIMIT;
  const numbers = [best.fps, best.p95, best.worst].map((value) => value.toFixed(1));
  console.log(
    `${(name ?? '').padEnd(20)} ${numbers[0]?.padStart(6)} frames/s (limit ${LIMIT})   95 % within ${numbers[1]} ms, longest ${numbers[2]} ms`,
  );
}
await browser.close();
served?.stop();
process.exitCode = short ? 1 : 0;
