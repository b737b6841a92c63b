import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { defineConfig } from 'vitest/config';
import { insertReport, makeJson, makeReport, onePage } from './fixtures/make-fixture.mjs';
import { makePage } from './fixtures/make-page.mjs';
import { makePapers } from './fixtures/make-papers.mjs';
import { makeTrace } from './fixtures/make-trace.mjs';
import { policy } from './policy.ts';

/** The made-up data of the development server, by the query of its address. */
const FIXTURES: Record<string, () => string> = {
  trace: () => JSON.stringify(makeTrace()),
  page: () => JSON.stringify(makePage()),
  papers: () => JSON.stringify(makePapers()),
};

/** Inserts made-up data into the page of the development server. */
const fixture: Plugin = {
  name: 'fixture',
  apply: 'serve',
  transformIndexHtml: {
    order: 'post',
    handler: (html, { originalUrl }) =>
      insertReport(
        html,
        FIXTURES[originalUrl?.split('?')[1] ?? '']?.() ?? makeJson(onePage(makeReport())),
      ),
  },
};

export default defineConfig({
  plugins: [
    svelte({ configFile: false }),
    viteSingleFile({ removeViteModuleLoader: true }),
    fixture,
    policy,
  ],
  server: { open: '/report.html' },
  build: {
    target: 'es2022',
    // The one input is the one output: dist/report.html.
    rolldownOptions: { input: 'report.html' },
    modulePreload: false,
    // `make playground` writes another file there.
    emptyOutDir: false,
  },
  // A browser on a busy machine is slow.
  test: {
    include: ['tests/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Files share a worker, which loads the fixtures only once.
    isolate: false,
    // Restores stubbed globals after each test: the files of a worker run in any order.
    unstubGlobals: true,
    maxWorkers: 2,
  },
});
