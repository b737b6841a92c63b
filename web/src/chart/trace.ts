// The charts of a trace.
import type { ByteCounts, Concentration, Requests, Step, TraceFacts } from '../data/trace.gen';
import { bytes, count, longTime, short } from '../format';
import { barChart } from './bars';
import { mapEnd } from './heat';
import { type Line, lineChart } from './lines';
import { BYTE_RATE, BYTES, LOG_BYTES, REQUEST_RATE, SHARE, sinceStart, WINDOW } from './measure';
import type { Palette } from './palette';
import type { ChartSpec } from './spec';

const READ = (colors: Palette) => colors.read;
const WRITE = (colors: Palette) => colors.write;
const OTHER = (colors: Palette) => colors.other.color;

/** The time axis of all charts, as long as that of the heat map. */
const overTime = (facts: TraceFacts) => sinceStart(mapEnd(facts.heat_map));

/** A chart of rates per second in each step. */
function rates(
  facts: TraceFacts,
  label: string,
  up: typeof BYTE_RATE,
  picks: { name: string; color: Line['color']; pick(step: Step): number }[],
): ChartSpec {
  const { steps, step_ns } = facts.series;
  const rate = (amount: number) => (amount / step_ns) * 1e9;
  // The value of the last step holds until its end. The chart therefore has one more position than there are
  // steps.
  const values = (pick: (step: Step) => number) =>
    [...steps, ...steps.slice(-1)].map((step) => rate(pick(step)));
  return lineChart({
    heading: `${label} per second`,
    label: `${label} per second, averaged over steps of ${longTime(step_ns)}.`,
    x: Array.from({ length: steps.length + 1 }, (_, i) => i * step_ns),
    steps: true,
    lines: picks.map(({ name, color, pick }) => ({ name, color, values: values(pick) })),
    across: overTime(facts),
    up,
    title: (from) => `${longTime(from)} to ${longTime(from + step_ns)}`,
  });
}

const REQUESTS: { name: keyof Requests; color: Line['color'] }[] = [
  { name: 'reads', color: READ },
  { name: 'writes', color: WRITE },
  { name: 'trims', color: OTHER },
];

/** Creates the chart of requests per second. */
export function requestsOverTime(facts: TraceFacts): ChartSpec {
  const shown = REQUESTS.filter(({ name }) => name !== 'trims' || facts.requests.trims > 0);
  const picks = shown.map((r) => ({ ...r, pick: (step: Step) => step.requests[r.name] }));
  return rates(facts, 'Requests', REQUEST_RATE, picks);
}

const MOVED: { name: keyof ByteCounts; color: Line['color'] }[] = [
  { name: 'read', color: READ },
  { name: 'written', color: WRITE },
];

/** Creates the chart of bytes per second. */
export function bytesOverTime(facts: TraceFacts): ChartSpec {
  const picks = MOVED.map((m) => ({ ...m, pick: (step: Step) => step.bytes[m.name] }));
  return rates(facts, 'Bytes read and written', BYTE_RATE, picks);
}

/** Creates the chart of the footprint: distinct bytes since the start. */
export function footprintGrowth(facts: TraceFacts): ChartSpec {
  const { steps, step_ns } = facts.series;
  return lineChart({
    heading: 'Growth of the footprint',
    label: 'Distinct bytes accessed and written since the start of the trace.',
    x: [0, ...steps.map((_, i) => (i + 1) * step_ns)],
    lines: [
      { name: 'accessed', values: [0, ...steps.map((s) => s.accessed_bytes)], color: OTHER },
      { name: 'written', values: [0, ...steps.map((s) => s.written_bytes)], color: WRITE },
    ],
    across: overTime(facts),
    up: BYTES,
    title: (at) => `until ${longTime(at)}`,
  });
}

/** Creates the chart of the working set against the length of the window, from 64 bytes on. */
export function workingSet(facts: TraceFacts): ChartSpec {
  const shown = facts.working_set.filter(({ bytes }) => bytes.value >= 64);
  const interval = {
    low: shown.map(({ bytes }) => bytes.low ?? bytes.value),
    high: shown.map(({ bytes }) => bytes.high ?? bytes.value),
  };
  const line: Line = {
    name: 'mean working set',
    values: shown.map(({ bytes }) => bytes.value),
    color: OTHER,
    ...(facts.sampling.rate < 1 ? { interval } : {}),
  };
  return lineChart({
    heading: 'Working set',
    label: 'Mean working set in bytes, against the length of the time window.',
    x: shown.map(({ window_ns }) => window_ns),
    lines: [line],
    across: WINDOW,
    up: LOG_BYTES,
    title: (at) => `window of ${longTime(at)}`,
  });
}

/** Creates the Lorenz curves of accesses and writes, hottest page first. */
export function concentration(facts: TraceFacts): ChartSpec {
  const curves: [string, Concentration | null | undefined, Line['color']][] = [
    ['accesses', facts.access_concentration, OTHER],
    ['writes', facts.write_concentration, WRITE],
  ];
  const x = facts.access_concentration?.curve.map(({ pages }) => pages) ?? [];
  const lines = curves.flatMap(([name, curve, color]): Line[] =>
    curve == null ? [] : [{ name, values: curve.curve.map(({ share }) => share), color }],
  );
  const even: Line = { name: 'even distribution', values: x, color: (c) => c.axis, dash: true };
  return lineChart({
    heading: 'Hot and cold pages',
    label: 'Share of accesses and of writes that goes to the hottest pages.',
    x,
    lines: [...lines, even],
    across: { ...SHARE, title: 'share of the pages, hottest first' },
    up: SHARE,
    title: (pages) => `hottest ${short(100 * pages)} % of pages`,
  });
}

/**
 * All powers of two from the smallest positive value to the largest; starts with 0 if 0 is among the values.
 */
export function octaves(values: number[]): number[] {
  const powers = values.filter((value) => value > 0);
  const [least, most] = [Math.min(...powers), Math.max(...powers)];
  const all = values.includes(0) ? [0] : [];
  for (let power = least; power <= most; power *= 2) all.push(power);
  return all;
}

/** Creates the histogram of accesses by size. */
export function sizes(facts: TraceFacts): ChartSpec {
  const bins = new Map(facts.sizes?.histogram.map((b) => [b.size_bytes, b]));
  const x = octaves([...bins.keys()]);
  return barChart({
    heading: 'Accesses by size',
    label: 'Reads and writes by size, in powers of two.',
    names: x.map(bytes),
    axis: 'size, from',
    parts: [
      { name: 'reads', values: x.map((size) => bins.get(size)?.reads ?? 0), color: READ },
      { name: 'writes', values: x.map((size) => bins.get(size)?.writes ?? 0), color: WRITE },
    ],
    title: (i) => `${bytes(x[i])} to below ${bytes(2 * (x[i] ?? 0))}`,
  });
}

/** Creates the histogram of times between requests. */
export function interArrival(facts: TraceFacts): ChartSpec {
  const bins = new Map(facts.inter_arrival?.histogram.map((b) => [b.from_ns, b.count]));
  const x = octaves([...bins.keys()]);
  const names = x.map((from) => (from === 0 ? '0' : longTime(from)));
  return barChart({
    heading: 'Time between requests',
    label: 'Times between successive requests, in powers of two.',
    names,
    axis: 'time to the next request, from',
    parts: [{ name: 'requests', values: x.map((from) => bins.get(from) ?? 0), color: OTHER }],
    title: (i) =>
      x[i] === 0 ? 'at the same time' : `${names[i]} to below ${longTime(2 * (x[i] ?? 0))}`,
  });
}

/** Creates the histogram of lengths of writes; contiguous writes count as one. */
export function writeLengths(facts: TraceFacts): ChartSpec {
  const { joined, page_bytes = 1 } = facts.write_lengths ?? {};
  const bins = new Map(joined?.histogram.map((b) => [b.from_pages, b.writes]));
  const x = octaves([...bins.keys()]);
  const names = x.map((pages) => bytes(pages * page_bytes));
  return barChart({
    heading: 'Merged writes by length',
    label: 'Merged writes by length, in powers of two.',
    names,
    axis: 'length of merged writes, from',
    parts: [{ name: 'writes', values: x.map((pages) => bins.get(pages) ?? 0), color: WRITE }],
    title: (i) => `${names[i]} to below ${bytes(2 * (x[i] ?? 0) * page_bytes)}`,
  });
}

/** Creates the histogram of accesses by LBA modulo 8. */
export function alignment(facts: TraceFacts): ChartSpec {
  const values = facts.alignment?.lba_mod_8 ?? [];
  return barChart({
    heading: 'Alignment of accesses',
    label: 'Accesses by LBA modulo 8, in sectors of 512 bytes.',
    names: values.map((_, i) => String(i)),
    axis: 'LBA modulo 8',
    parts: [{ name: 'accesses', values, color: OTHER }],
    title: (i) => `LBA mod 8 = ${count(i)}`,
  });
}
