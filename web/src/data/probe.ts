// Words for the findings of a probe.
import { bytes, count, exactTime, percent, short } from '../format';
import type { Answer, Finding, StatedFinding, Unit } from './probe.gen';

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

/** An answer in words, with its interval unless that is a single value. */
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
      return 'unknown';
  }
}

/** The reason why a parameter is unknown, if it is. */
export const whyUnknown = ({ answer }: Finding): string | undefined =>
  answer.kind === 'unknown' ? answer.why : undefined;

/** A probability as a percentage; never 100 %. */
export const sureness = (probability: number): string =>
  probability > 0.9985 ? '> 99.8 %' : `${(100 * probability).toFixed(1)} %`;

/** The unknown parameters grouped by reason, in the order of the reasons' first use. */
export function byReason(findings: StatedFinding[]): [why: string, titles: string[]][] {
  const reasons = new Map<string, string[]>();
  for (const { title, finding } of findings) {
    const why = whyUnknown(finding);
    if (why !== undefined) reasons.set(why, [...(reasons.get(why) ?? []), title]);
  }
  return [...reasons];
}

/** The maximum number of ranges that `runsText` lists. */
const MAX_RANGES = 4;

/** Numbers of runs as ranges: `1, 3 to 5`. Many ranges become a count: `6 of 1 to 10`. */
export function runsText(runs: number[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const run of runs.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && run <= last[1] + 1) last[1] = run;
    else ranges.push([run, run]);
  }
  const between = (from: number, to: number) => `${from} to ${to}`;
  const [first, last] = [ranges[0]?.[0] ?? 0, ranges.at(-1)?.[1] ?? 0];
  if (ranges.length > MAX_RANGES) return `${count(runs.length)} of ${between(first, last)}`;
  return ranges
    .map(([from, to]) => {
      if (from === to) return `${from}`;
      return to === from + 1 ? `${from}, ${to}` : between(from, to);
    })
    .join(', ');
}
