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
