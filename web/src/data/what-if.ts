// What would be if: asked of a server, which sends what it knows line by line.
import { parseJson } from './json';
import { fetched, jsonOf } from './served';
import { SourceError } from './source';
import type { Quantity, WhatIf, WhatIfChoices, WhatIfQuestion } from './views.gen';

const ADDRESS = '/api/what-if';

/** What can be asked about. */
export async function whatIfChoices(signal: AbortSignal): Promise<WhatIfChoices> {
  return (await jsonOf(await fetched(ADDRESS, { signal }))) as WhatIfChoices;
}

/** Asks; `each` is told of all that is known after each step, at last of all there is. */
export async function askWhatIf(
  asked: WhatIfQuestion,
  each: (soFar: WhatIf) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetched(ADDRESS, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(asked),
    signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) throw new SourceError('The server’s answer is empty.');
  const lines = new Lines();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const line of lines.add(value)) each(parseJson(line) as WhatIf);
  }
}

/** Lines of a text that comes in parts. */
export class Lines {
  #begun = '';

  /** The lines that end with this part. */
  add(part: string): string[] {
    const lines = (this.#begun + part).split('\n');
    this.#begun = lines.pop() ?? '';
    return lines.filter((line) => line !== '');
  }
}

/** What is expected by models, and what is simulated, each in the order of columns. */
export const EXPECTED: Quantity[] = [
  'write_amplification',
  'erases_per_gib',
  'endurance_bytes',
  'bytes_per_second',
];
export const SIMULATED: Quantity[] = [
  'latency_ns.mean',
  'latency_ns.p99',
  'ios_per_second',
  'write_amplification',
  'erases_per_gib',
  'endurance_bytes',
];

/** Which way a quantity is better: 1 where more is. */
export const better = (quantity: Quantity): 1 | -1 =>
  ['ios_per_second', 'bytes_per_second', 'endurance_bytes'].includes(quantity) ? 1 : -1;

/** How many simulations are done, the base among them, of how many. */
export function doneOf({ base, variants }: WhatIf): { done: number; all: number } {
  const all = [base, ...variants];
  return { done: all.filter(({ status }) => status != null).length, all: all.length };
}
