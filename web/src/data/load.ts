// Takes the report out of the page.
import type { Report } from './report.gen';
import type { Trace } from './trace.gen';

/** Why there is no report in the page, in words for its reader. */
export class NoReport extends Error {}

/** Seeds use all 64 bits, which a JavaScript number does not have: they are read as text. */
export function parseReport(json: string): Report {
  return JSON.parse(json.replaceAll(/(?<!\\)"seed":\s*(\d+)/g, '"seed":"$1"')) as Report;
}

/** Whether what is shown are the characteristics of a trace. */
export function isTrace(shown: Report | Trace): shown is Trace {
  return 'inputs' in shown;
}

/** The report, or what else the program put into the page. */
export function loadReport(page: Document): Report | Trace {
  const text = page.getElementById('report')?.textContent ?? '';
  if (!text.trimStart().startsWith('{')) {
    throw new NoReport('This page is the empty form of a report: no result was put into it.');
  }
  try {
    return parseReport(text);
  } catch (error) {
    throw new NoReport(`The result in this page is damaged: ${String(error)}`);
  }
}
