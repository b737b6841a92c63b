// Reads the data that the program embedded in the page.
import { Attached } from './attached.svelte';
import { Embedded, type Page } from './embedded';
import { parseJson } from './json';
import type { Reproductions } from './reproduction.gen';
import { type Running, runningCommand } from './running.svelte';
import { Served, type ServerAbilities } from './served';
import type { Source } from './source';
import type { Trace } from './trace.gen';

/** The error for a page without content; the message is the reason. */
export class NoReport extends Error {}

/** The content of a page: one of the kinds that the program embeds. */
export type PageContent =
  | { trace: Trace }
  | { papers: Reproductions }
  | { source: Source }
  | { attached: Attached }
  | { running: Running }
  | { playground: true };

/**
 * Reads the content of a page.
 *
 * @throws NoReport if the page is an empty template or its data is damaged.
 */
export function loadPage(page: Document): PageContent {
  const text = page.getElementById('report')?.textContent ?? '';
  if (!text.trimStart().startsWith('{')) {
    throw new NoReport(
      'This page is an empty template. “flashscope report” creates a page with a result.',
    );
  }
  let data: object;
  try {
    data = parseJson(text) as object;
  } catch (error) {
    throw new NoReport(
      `The data in this page is damaged: ${String(error)}. Create the report again.`,
    );
  }
  if ('playground' in data) return { playground: true };
  if ('attached' in data) return { attached: new Attached() };
  if ('running' in data) return { running: runningCommand() };
  if ('served' in data) return { source: new Served(data as ServerAbilities) };
  if ('inputs' in data) return { trace: data as Trace };
  if ('errata' in data) return { papers: data as Reproductions };
  if (!('measurements' in data)) {
    throw new NoReport(
      'The data in this page is damaged: it has no measurements. Create the report again.',
    );
  }
  return { source: new Embedded(data as Page) };
}
