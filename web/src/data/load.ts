// Takes out of the page what the program put into it.
import { Attached } from './attached.svelte';
import { Embedded, type Page } from './embedded';
import { parseJson } from './json';
import type { Reproductions } from './reproduction.gen';
import { Served } from './served';
import type { Source } from './source';
import type { Trace } from './trace.gen';

/** Why there is nothing to show, in words for the reader. */
export class NoReport extends Error {}

/** What the application shows. */
export type Shown =
  | { trace: Trace }
  | { papers: Reproductions }
  | { source: Source }
  | { attached: Attached };

/** The data of the application, or what else the program put into the page. */
export function loadPage(page: Document): Shown {
  const text = page.getElementById('report')?.textContent ?? '';
  if (!text.trimStart().startsWith('{')) {
    throw new NoReport('This page is the empty form of a report: no result was put into it.');
  }
  let held: object;
  try {
    held = parseJson(text) as object;
  } catch (error) {
    throw new NoReport(`The result in this page is damaged: ${String(error)}`);
  }
  if ('attached' in held) return { attached: new Attached() };
  if ('served' in held) return { source: new Served() };
  if ('inputs' in held) return { trace: held as Trace };
  if ('errata' in held) return { papers: held as Reproductions };
  if (!('measurements' in held)) {
    throw new NoReport('The result in this page is damaged: it holds no measurement.');
  }
  return { source: new Embedded(held as Page) };
}
