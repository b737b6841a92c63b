// The page of a command that runs: it grows, survives a reload, and keeps its numbers after the end.

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveRunning, stateAfter } from '../fixtures/running.mjs';
import { published } from '../scripts/published.mjs';
import { runningChart } from '../src/chart/running';
import type { RunningCommand } from '../src/data/views.gen';
import { Bench, drawAll, inked, overflow, template, violations } from './browser';

let bench: Bench;
let html: string;

beforeAll(async () => {
  bench = await Bench.start();
  html = await template();
});

afterAll(() => bench?.stop());

/** Opens the page of a command at step `first`, which advances by a step every `every` ms. */
async function visit(
  { first = 20, every = 100_000 },
  what: (page: Page, stop: () => Promise<void>) => Promise<void>,
  options = {},
) {
  const served = await serveRunning(html, { first, every });
  try {
    await bench.visit(served.address, (page) => what(page, served.stop), options);
  } finally {
    await served.stop().catch(() => undefined);
  }
}

it('gives a fixture that obeys the schema', async () => {
  const views = await published('views');
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile({ $defs: views.$defs, $ref: '#/$defs/RunningCommand' });
  validate(stateAfter(7));
  expect(validate.errors).toBeNull();
  validate({ ...stateAfter(7), status: 'lost' });
  expect(validate.errors).not.toBeNull();
});

it('shows the run under way, the share done and the time left', () =>
  visit({}, async (page) => {
    await page.getByRole('heading', { name: 'flashscope bench <b>sim:demo</b> --live' }).waitFor();
    await page.getByText('parallelism RW 20').first().waitFor();
    expect(await page.getByRole('status').textContent()).toBe('50.0 %, about 30.0 s left');
    expect(await page.getByRole('progressbar').getAttribute('value')).toBe('0.5');
    expect(await page.title()).toContain('· live · flashscope');
  }));

it('grows until the command ends, and keeps its numbers afterwards', () =>
  visit({ first: 0, every: 20 }, async (page, stop) => {
    await page.getByRole('heading', { name: 'IOs per second of each run' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Done after' }).waitFor();
    await stop();
    await page.waitForTimeout(300);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await page.locator('tbody tr').count()).toBe(40);
    await drawAll(page);
    expect(await inked(page, 0)).toBeGreaterThan(0.005);
  }));

it('shows everything again after a reload', () =>
  visit({}, async (page) => {
    await page.getByText('parallelism RW 20').first().waitFor();
    await page.reload();
    await page.getByText('parallelism RW 20').first().waitFor();
    expect(await page.locator('tbody tr').count()).toBe(20);
  }));

it('says that the connection is lost, and keeps the last numbers', () =>
  visit(
    {},
    async (page, stop) => {
      await page.getByText('parallelism RW 20').first().waitFor();
      await stop();
      await page.getByRole('alert').filter({ hasText: 'The connection is lost.' }).waitFor();
      expect(await page.locator('tbody tr').count()).toBe(20);
    },
    { expected: /ERR_|Failed to load|EventSource/ },
  ));

describe.each([390, 1280])('%i pixels wide', (width) => {
  it.each(['light', 'dark'] as const)('is accessible and fits, %s', (colorScheme) =>
    visit(
      {},
      async (page) => {
        await page.getByRole('heading', { name: 'Notes' }).waitFor();
        await drawAll(page);
        expect(await violations(page)).toEqual([]);
        expect(await overflow(page)).toBe(0);
      },
      { colorScheme, viewport: { width, height: 800 } },
    ),
  );
});

it('a chart has a line for each series over all places', () => {
  const chart = (stateAfter(5) as unknown as RunningCommand).charts[0];
  if (chart === undefined) throw new Error('no chart');
  const { data, label } = runningChart(chart);
  expect(data[0]).toEqual([1, 2, 3, 4, 5]);
  expect([...(data[1] ?? [])].map((value) => value === null)).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
  expect(label).toBe('IOs per second of each run so far, 5 values.');
});
