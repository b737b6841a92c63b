// Takes the report out of the page.
import type { Outline, Report } from './report.gen';
import type { Trace } from './trace.gen';

/** Why there is no report in the page, in words for its reader. */
export class NoReport extends Error {}

/** Seeds use all 64 bits, which a JavaScript number does not have: they are read as text. */
export function parseReport(json: string): Report {
  return JSON.parse(json.replaceAll(/(?<!\\)"seed":\s*(\d+)/g, '"seed":"$1"')) as Report;
}

/** A report as the program puts it into the page: with the pictures by gzip, in base64. */
type Paged = Omit<Report, 'outlines'> & { outlines: string };

/** The outlines of a report, which are by far most of it. */
async function inflate(base64: string): Promise<Outline[]> {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

/** Whether what is shown are the characteristics of a trace. */
export function isTrace(shown: Report | Paged | Trace): shown is Trace {
  return 'inputs' in shown;
}

/** The report, or what else the program put into the page. */
export async function loadReport(page: Document): Promise<Report | Trace> {
  const text = page.getElementById('report')?.textContent ?? '';
  if (!text.trimStart().startsWith('{')) {
    throw new NoReport('This page is the empty form of a report: no result was put into it.');
  }
  try {
    const shown: Report | Paged | Trace = parseReport(text);
    if (isTrace(shown) || typeof shown.outlines !== 'string') return shown as Report | Trace;
    return { ...shown, outlines: await inflate(shown.outlines) };
  } catch (error) {
    throw new NoReport(`The result in this page is damaged: ${String(error)}`);
  }
}
