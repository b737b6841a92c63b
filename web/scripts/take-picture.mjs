// Takes a picture of a page that computes in a worker, for which Chromium's virtual time does not wait:
// `node scripts/take-picture.mjs ADDRESS FILE SECONDS`.
import { chromium } from 'playwright-core';
import { chromiumPath } from '../fixtures/chromium.mjs';

const [address, path, seconds] = process.argv.slice(2);
if (address === undefined || path === undefined || seconds === undefined) {
  throw new Error('name the address, the file to write and the seconds to wait');
}
const browser = await chromium.launch({
  executablePath: chromiumPath(),
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
await page.goto(address);
await page.waitForTimeout(1000 * Number(seconds));
await page.screenshot({ path });
await browser.close();
