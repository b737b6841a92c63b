import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { defineConfig } from 'vitest/config';
import { insertReport, makeJson, makeReport, onePage } from './fixtures/make-fixture.mjs';
import { makePage } from './fixtures/make-page.mjs';
import { makePapers } from './fixtures/make-papers.mjs';
import { makeTrace } from './fixtures/make-trace.mjs';
import { policy } from './policy.ts';

/** What is made up, by what stands after `?`. */
const FIXTURES: Record<string, () => string> = {
  trace: () => JSON.stringify(makeTrace()),
  page: () => JSON.stringify(makePage()),
  papers: () => JSON.stringify(makePapers()),
};

/** In development, what is made up stands where the program inserts the real thing. */
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
  },
  // A browser on a busy machine takes its time.
  test: {
    include: ['tests/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Made-up reports and the program are loaded once a worker rather than once a file.
    isolate: false,
    // Files share a worker, in any order: what one put in place of a global is gone before the next test.
    unstubGlobals: true,
    maxWorkers: 2,
  },
});
