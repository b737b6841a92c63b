// The Content-Security-Policy of the page, tested in Chromium.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeReport, onePage } from '../fixtures/make-fixture.mjs';
import { policyOf } from '../policy.ts';
import { Bench, drawAll, template } from './browser';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench.stop());

const META = /<meta http-equiv="Content-Security-Policy" content="([^"]*)" \/>\n\s*/;
const HOSTILE =
  '</script><script>window.owned = 1</script><img src=x onerror="window.owned = 2"><style>body{display:none}</style>';

/** A report with a hostile suffix on each text, except names and the values of some keys. */
function hostile(value: unknown, key = ''): unknown {
  if (typeof value === 'string') {
    const known = ['kind', 'status', 'op', 'function', 'state', 'unit', 'parameter', 'on_error'];
    return known.includes(key) || !/[ .]/.test(value) ? value : value + HOSTILE;
  }
  if (Array.isArray(value)) return value.map((one) => hostile(one, key));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hostile(one, name)]));
}

const owned = () => (window as unknown as { owned?: number }).owned;

it('has the hashes of its page', async () => {
  const html = await template();
  const carried = META.exec(html)?.[1];
  expect(carried).toBe(policyOf(html.replace(META, '')));
  expect(carried).toMatch(/style-src-elem 'sha256-[^ ;]+';/);
  expect(carried).toMatch(/script-src ('sha256-[^ ;]+' )+'wasm-unsafe-eval'; worker-src blob:;/);
});

it('shows text of a result as text', async () => {
  const report = makeReport();
  report.manifest.device.model = `Model ${HOSTILE}`;
  const held = hostile(onePage(report)) as object;
  await bench.visit(await bench.write('hostile', held), async (page) => {
    expect(await drawAll(page)).toBeGreaterThan(0);
    expect(await page.locator('body').innerText()).toContain('<script>window.owned');
    expect(await page.evaluate(owned)).toBeUndefined();
  });
});

it('runs no injected script and sends nothing', async () => {
  const address = await bench.write('injected');
  const path = fileURLToPath(address);
  const html = await readFile(path, 'utf8');
  await writeFile(path, html.replace('<div id="app">', `${HOSTILE}<div id="app">`));
  const expected = /Content Security Policy|ERR_FILE_NOT_FOUND/;
  await bench.visit(
    address,
    async (page) => {
      expect(await drawAll(page)).toBeGreaterThan(0);
      expect(await page.evaluate(owned)).toBeUndefined();
      const spoken = page.evaluate(() => fetch('https://example.org/').then(() => 'answered'));
      await expect(spoken).rejects.toThrow('Failed to fetch');
      const evaluated = await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.owned = 3';
        document.head.append(script);
        return document.querySelector('body')?.checkVisibility();
      });
      expect(evaluated).toBe(true);
      expect(await page.evaluate(owned)).toBeUndefined();
    },
    { expected },
  );
});
