// What a probe states, in words.
import { bytes, count, exactTime, percent, short } from '../format';
import type { Answer, Finding, Stated, Unit } from './probe.gen';

/** A value in the unit of its parameter. */
export function inUnit(value: number, unit: Unit): string {
  switch (unit) {
    case 'bytes':
      return bytes(value);
    case 'nanoseconds':
      return exactTime(Math.round(value));
    case 'count':
      return count(value);
    case 'share':
      return percent(value);
    case 'class':
      return short(value);
  }
}

/** An answer in words, with its interval where that has a width. */
export function answerText(answer: Answer, unit: Unit): string {
  switch (answer.kind) {
    case 'value': {
      const value = inUnit(answer.value, unit);
      if (answer.low >= answer.high) return value;
      return `${value} (${inUnit(answer.low, unit)} to ${inUnit(answer.high, unit)})`;
    }
    case 'class':
      return answer.class;
    case 'absent':
      return 'none';
    case 'unknown':
      return 'not known';
  }
}

/** Why nothing is known, where that is so. */
export const whyUnknown = ({ answer }: Finding): string | undefined =>
  answer.kind === 'unknown' ? answer.why : undefined;

/** A probability, which is never quite certain. */
export const sureness = (probability: number): string =>
  probability > 0.9985 ? '> 99.8 %' : `${(100 * probability).toFixed(1)} %`;

/** What is not known, by why, in the order in which the reasons come first. */
export function byReason(findings: Stated[]): [why: string, titles: string[]][] {
  const reasons = new Map<string, string[]>();
  for (const { title, finding } of findings) {
    const why = whyUnknown(finding);
    if (why !== undefined) reasons.set(why, [...(reasons.get(why) ?? []), title]);
  }
  return [...reasons];
}

/** How many stretches of runs are told one by one. */
const MOST_STRETCHES = 4;

/** Which runs, those that follow each other as one, and as far as they can be told in short: `1, 3 to 5`. */
export function runsText(runs: number[]): string {
  const stretches: [from: number, to: number][] = [];
  for (const run of runs.toSorted((a, b) => a - b)) {
    const last = stretches.at(-1);
    if (last !== undefined && run <= last[1] + 1) last[1] = run;
    else stretches.push([run, run]);
  }
  const between = (from: number, to: number) => `${from} to ${to}`;
  const [first, last] = [stretches[0]?.[0] ?? 0, stretches.at(-1)?.[1] ?? 0];
  if (stretches.length > MOST_STRETCHES) return `${count(runs.length)} of ${between(first, last)}`;
  return stretches
    .map(([from, to]) => {
      if (from === to) return `${from}`;
      return to === from + 1 ? `${from}, ${to}` : between(from, to);
    })
    .join(', ');
}
