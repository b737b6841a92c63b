// What-ifs: sends a question to the server, which streams partial results, one JSON document a line.
import { parseJson } from './json';
import { fetched, jsonOf } from './served';
import { SourceError } from './source';
import type { Quantity, WhatIf, WhatIfChoices, WhatIfQuestion } from './views.gen';

const ADDRESS = '/api/what-if';

/** The drives, workloads and fields that the form suggests. */
export async function whatIfChoices(signal: AbortSignal): Promise<WhatIfChoices> {
  return (await jsonOf(await fetched(ADDRESS, { signal }))) as WhatIfChoices;
}

/** Runs a what-if. Calls `update` with the result so far after each step. */
export async function runWhatIf(
  question: WhatIfQuestion,
  update: (soFar: WhatIf) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetched(ADDRESS, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(question),
    signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) {
    throw new SourceError('The response of the server is empty. Reload the page.');
  }
  const lines = new Lines();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const line of lines.add(value)) update(parseJson(line) as WhatIf);
  }
}

/** Splits a stream of text into lines; a chunk may end in the middle of a line. */
export class Lines {
  #unfinished = '';

  /** Adds a chunk; returns the lines that it completes. */
  add(chunk: string): string[] {
    const lines = (this.#unfinished + chunk).split('\n');
    this.#unfinished = lines.pop() ?? '';
    return lines.filter((line) => line !== '');
  }
}

/** The quantities that models predict, in the order of columns. */
export const EXPECTED: Quantity[] = [
  'write_amplification',
  'erases_per_gib',
  'endurance_bytes',
  'bytes_per_second',
];
/** The quantities that simulations measure, in the order of columns. */
export const SIMULATED: Quantity[] = [
  'latency_ns.mean',
  'latency_ns.p99',
  'ios_per_second',
  'write_amplification',
  'erases_per_gib',
  'endurance_bytes',
];

/** The better direction of a quantity: 1 if more is better, −1 if less is. */
export const better = (quantity: Quantity): 1 | -1 =>
  ['ios_per_second', 'bytes_per_second', 'endurance_bytes'].includes(quantity) ? 1 : -1;

/** The number of variants with a final status, and the number of all; both include the baseline. */
export function doneOf({ base, variants }: WhatIf): { done: number; all: number } {
  const all = [base, ...variants];
  return { done: all.filter(({ status }) => status != null).length, all: all.length };
}
