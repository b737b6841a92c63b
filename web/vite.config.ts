import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { defineConfig } from 'vitest/config';
import { insertReport, makeReportJson } from './fixtures/make-fixture.mjs';

/** In development, a made-up report stands where the program inserts the real one. */
const fixture: Plugin = {
  name: 'fixture',
  apply: 'serve',
  transformIndexHtml: { order: 'post', handler: (html) => insertReport(html, makeReportJson()) },
};

export default defineConfig({
  plugins: [
    svelte({ configFile: false }),
    viteSingleFile({ removeViteModuleLoader: true }),
    fixture,
  ],
  server: { open: '/report.html' },
  build: {
    target: 'es2022',
    // The one input is the one output: dist/report.html.
    rolldownOptions: { input: 'report.html' },
    modulePreload: false,
  },
  // A browser on a busy machine takes its time.
  test: { include: ['tests/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
});
