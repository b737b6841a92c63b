// The commands that run and write to the shelf: on the shelf, and each on its own page.

import { createServer, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { servedPage } from '../fixtures/make-fixture.mjs';
import { commandsAfter, stateAfter } from '../fixtures/running.mjs';
import { listening } from '../fixtures/server.mjs';
import { Bench, overflow, template, violations } from './browser';

let bench: Bench;
let served: Awaited<ReturnType<typeof listening>>;
/** The step of the command; undefined once it has ended. */
let step: number | undefined;
let shelves = 0;

const NAME = 'night <i>run</i>';
const state = () => ({ ...stateAfter(step ?? 20), output: NAME });
const listed = () => (step === undefined ? { commands: [] } : commandsAfter(step, NAME));

/** Sends a state again and again, as server-sent events. */
function events(response: ServerResponse, next: () => object) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const timer = setInterval(() => response.write(`data: ${JSON.stringify(next())}\n\n`), 30);
  response.on('close', () => clearInterval(timer));
}

beforeAll(async () => {
  bench = await Bench.start();
  const html = await template();
  const server = createServer(({ url = '' }, response) => {
    if (url === '/api/commands/events') return events(response, listed);
    if (url === '/api/commands/42/events') {
      return events(response, () => ({
        ...state(),
        ...(step === undefined ? { status: 'ended' } : {}),
      }));
    }
    if (url.startsWith('/api/commands/')) return response.writeHead(404).end('{}');
    if (url.startsWith('/api/shelf')) {
      shelves++;
      response.writeHead(200, { 'content-type': 'application/json' });
      const facets = { kinds: [], models: [], firmwares: [], capacities: [] };
      return response.end(JSON.stringify({ total: 0, items: [], facets }));
    }
    response.writeHead(200, { 'content-type': 'text/html' });
    return response.end(servedPage(html, '{"served":true,"commands":true}'));
  });
  served = await listening(server);
});

afterAll(async () => {
  await bench?.stop();
  await served?.stop();
});

it.each([
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
] as const)('the shelf shows the progress and the time left, %s, %d px', (colorScheme, width) => {
  step = 20;
  return bench.visit(
    served.address,
    async (page) => {
      await page.getByRole('heading', { name: 'Running now' }).waitFor();
      await page.getByText('50.0 %, about 30.0 s left').waitFor();
      await page.getByText('measuring: parallelism RW 20').waitFor();
      expect(await page.getByRole('progressbar').getAttribute('value')).toBe('0.5');
      expect(await overflow(page)).toBe(0);
      expect(await violations(page)).toEqual([]);
    },
    { colorScheme, viewport: { width, height: 800 } },
  );
});

it('a command opens with its results so far, and its end leads back to the shelf', () => {
  step = 20;
  return bench.visit(served.address, async (page) => {
    await page.getByRole('link', { name: NAME }).click();
    await page.getByRole('heading', { name: 'IOs per second of each run' }).waitFor();
    expect(await page.title()).toBe(`${NAME} · flashscope`);
    step = undefined;
    await page.getByRole('status').filter({ hasText: 'Ended after' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Show the results on the shelf' }).click();
    await page.getByRole('heading', { name: 'Shelf', level: 1 }).waitFor();
    expect(await page.getByRole('heading', { name: 'Running now' }).count()).toBe(0);
  });
});

it('the shelf is read again when a command ends', () => {
  step = 20;
  return bench.visit(served.address, async (page) => {
    await page.getByRole('heading', { name: 'Running now' }).waitFor();
    const before = shelves;
    step = undefined;
    await page.getByRole('heading', { name: 'Running now' }).waitFor({ state: 'detached' });
    await page.waitForTimeout(200);
    expect(shelves).toBeGreaterThan(before);
  });
});

it('says that a command has ended before its page was opened', () =>
  bench.visit(
    `${served.address}#/running/7`,
    async (page) => {
      await page.getByText('This command has ended, or it does not write to this shelf.').waitFor();
    },
    { expected: /404/ },
  ));
