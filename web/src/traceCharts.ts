// The pictures of a trace: which of its facts stand on which axis.
import { bars } from './chart/bars';
import {
  BYTES,
  type Line,
  LOG_BYTES,
  LOG_TIME,
  lines,
  type Measure,
  SINCE_START,
} from './chart/lines';
import type { Palette } from './chart/palette';
import type { ChartSpec } from './chart/spec';
import type { Concentration, TraceFacts } from './data/trace.gen';
import { axisTime, bytes, count, longTime, percent } from './format';

const READ = (colors: Palette) => colors.read;
const WRITE = (colors: Palette) => colors.write;
const OTHER = (colors: Palette) => colors.other.color;

/** Shares of a whole, as percentages. */
const SHARE: Measure = { write: (share) => percent(share), range: [0, 1] };

const COUNT: Measure = { write: (value) => count(value) };

/** Where the steps of time begin. */
const starts = (facts: TraceFacts) => facts.series.steps.map((_, i) => i * facts.series.step_ns);

const stepTitle = (facts: TraceFacts) => (at: number) =>
  `${longTime(at)} to ${longTime(at + facts.series.step_ns)}`;

/** Requests in each step. */
export function requestsOverTime(facts: TraceFacts): ChartSpec {
  const { steps, step_ns } = facts.series;
  const all: Line[] = [
    { name: 'reads', values: steps.map((s) => s.requests.reads), color: READ, area: true },
    { name: 'writes', values: steps.map((s) => s.requests.writes), color: WRITE, area: true },
  ];
  if (facts.requests.trims > 0) {
    all.push({ name: 'trims', values: steps.map((s) => s.requests.trims), color: OTHER });
  }
  const label = `Requests in each ${longTime(step_ns)} of the trace.`;
  return lines(label, starts(facts), all, SINCE_START, COUNT, stepTitle(facts));
}

/** Bytes in each step. */
export function bytesOverTime(facts: TraceFacts): ChartSpec {
  const { steps, step_ns } = facts.series;
  const all: Line[] = [
    { name: 'read', values: steps.map((s) => s.bytes.read), color: READ, area: true },
    { name: 'written', values: steps.map((s) => s.bytes.written), color: WRITE, area: true },
  ];
  const label = `Bytes read and written in each ${longTime(step_ns)} of the trace.`;
  return lines(label, starts(facts), all, SINCE_START, BYTES, stepTitle(facts));
}

/** Distinct bytes up to each step. */
export function footprintGrowth(facts: TraceFacts): ChartSpec {
  const { steps, step_ns } = facts.series;
  const ends = steps.map((_, i) => (i + 1) * step_ns);
  const all: Line[] = [
    { name: 'accessed', values: steps.map((s) => s.accessed_bytes), color: OTHER },
    { name: 'written', values: steps.map((s) => s.written_bytes), color: WRITE },
  ];
  const label = 'Distinct bytes accessed and written since the start of the trace.';
  return lines(label, ends, all, SINCE_START, BYTES, (at) => `until ${longTime(at)}`);
}

/** The working set against the length of the window; what is far below a page is left out. */
export function workingSet(facts: TraceFacts): ChartSpec {
  const shown = facts.working_set.filter(({ bytes }) => bytes.value >= 64);
  const values = shown.map(({ bytes }) => bytes.value);
  const interval = {
    low: shown.map(({ bytes }) => bytes.low ?? bytes.value),
    high: shown.map(({ bytes }) => bytes.high ?? bytes.value),
  };
  const line: Line = {
    name: 'touched on average',
    values,
    color: OTHER,
    ...(facts.sampling.rate < 1 ? { interval } : {}),
  };
  const x = shown.map(({ window_ns }) => window_ns);
  const across = { ...LOG_TIME, title: 'length of the window' };
  const label = 'Bytes touched on average in a window of time, against its length.';
  return lines(label, x, [line], across, LOG_BYTES, (at) => `window of ${longTime(at)}`);
}

/** Lorenz curves, from the hottest page on. */
export function concentration(facts: TraceFacts): ChartSpec {
  const curves: [string, Concentration | null | undefined, Line['color']][] = [
    ['accesses', facts.access_concentration, OTHER],
    ['writes', facts.write_concentration, WRITE],
  ];
  const x = facts.access_concentration?.curve.map(({ pages }) => pages) ?? [];
  const all = curves.flatMap(([name, found, color]): Line[] =>
    found == null ? [] : [{ name, values: found.curve.map(({ share }) => share), color }],
  );
  const even: Line = { name: 'if even', values: x, color: (c) => c.axis, dash: true };
  const across = { ...SHARE, title: 'share of the pages, the hottest first' };
  const label = 'Share of accesses and of writes that goes to the hottest pages.';
  const title = (pages: number) => `hottest ${percent(pages)} of pages`;
  return lines(label, x, [...all, even], across, SHARE, title);
}

/** Accesses by size. */
export function sizes(facts: TraceFacts): ChartSpec {
  const found = facts.sizes?.histogram ?? [];
  const parts = [
    { name: 'reads', values: found.map((b) => b.reads), color: READ },
    { name: 'writes', values: found.map((b) => b.writes), color: WRITE },
  ];
  const names = found.map((b) => bytes(b.size_bytes));
  const title = (i: number) => `${names[i]} to below ${bytes((found[i]?.size_bytes ?? 0) * 2)}`;
  return bars('Reads and writes by size, in powers of two.', names, parts, count, title);
}

/** Times between requests. */
export function interArrival(facts: TraceFacts): ChartSpec {
  const found = facts.inter_arrival?.histogram ?? [];
  const parts = [{ name: 'times', values: found.map((b) => b.count), color: OTHER }];
  const names = found.map((b) => longTime(b.from_ns));
  const title = (i: number) => {
    const from = found[i]?.from_ns ?? 0;
    return from === 0 ? 'at the same time' : `${longTime(from)} to below ${longTime(2 * from)}`;
  };
  const label = 'Times between successive requests, in powers of two.';
  return bars(label, names, parts, count, title);
}

/** Lengths of writes in pages: each for itself, and joined. */
export function writeLengths(facts: TraceFacts): ChartSpec {
  const { requests, joined, page_bytes = 1 } = facts.write_lengths ?? {};
  const each = new Map(requests?.histogram.map((b) => [b.from_pages, b.writes]));
  const together = new Map(joined?.histogram.map((b) => [b.from_pages, b.writes]));
  const x = [...new Set([...each.keys(), ...together.keys()])].sort((a, b) => a - b);
  const names = x.map((pages) => bytes(pages * page_bytes));
  const parts = [{ name: 'writes', values: x.map((pages) => each.get(pages) ?? 0), color: WRITE }];
  const title = (i: number) => `${names[i]} on; joined: ${count(together.get(x[i] ?? 0) ?? 0)}`;
  return bars('Writes by length, in powers of two.', names, parts, count, title);
}

/** Accesses by LBA mod 8. */
export function alignment(facts: TraceFacts): ChartSpec {
  const values = facts.alignment?.lba_mod_8 ?? [];
  const parts = [{ name: 'accesses', values, color: OTHER }];
  const names = values.map((_, i) => String(i));
  const title = (i: number) => `LBA mod 8 = ${i}`;
  return bars('Accesses by LBA modulo 8, in sectors of 512 bytes.', names, parts, count, title);
}

/** The length of a window, in words. */
export const windowLength = axisTime;
