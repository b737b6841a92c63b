// Patterns, progress and state in plain words.

import { patternsOf } from './data/model';
import type { Io, Meanwhile } from './data/neighbours';
import type {
  Activity,
  Address,
  Pace,
  Pattern,
  Progress,
  Reference,
  ShelfItem,
  State,
  Status,
  Timing,
  Unit,
} from './data/views.gen';
import { bytes, count, exactTime, opName, time } from './format';

function place(address: Address): string {
  switch (address.function) {
    case 'sequential':
      return 'sequential';
    case 'random':
      return 'random';
    case 'ordered':
      if (address.incr === 0) return 'in-place';
      if (address.incr === -1) return 'reverse sequential';
      return address.incr === 1 ? 'sequential' : `every ${count(address.incr)}th`;
    case 'partitioned':
      return `sequential, in ${count(address.partitions)} partitions in turns,`;
  }
}

function moments(timing: Timing): string {
  switch (timing.function) {
    case 'consecutive':
      return 'each as soon as the last is answered';
    case 'pause':
      return `with a pause of ${exactTime(timing.pause_ns)} between them`;
    case 'burst':
      return `in bursts of ${count(timing.burst)} with ${exactTime(timing.pause_ns)} between them`;
  }
}

function ios(pattern: Pattern): string {
  const address = pattern.address;
  const shifted = pattern.io_shift_bytes > 0 ? `, shifted by ${bytes(pattern.io_shift_bytes)}` : '';
  const gap =
    address.function === 'ordered' && Math.abs(address.incr) > 1
      ? `${count(address.incr)} IOs apart, `
      : '';
  const adjective = gap === '' ? `${place(address)} ` : '';
  return `${adjective}${pattern.op}s of ${bytes(pattern.io_size_bytes)}, ${gap}within ${bytes(pattern.target_size_bytes)}${shifted}`;
}

const PACE_WORDS: Record<Pace, string> = {
  timed: 'each at its time, whatever is in flight',
  asap: 'each as soon as one before it is answered',
};

/** A reference pattern in a sentence. */
export function sentence(reference: Reference): string {
  switch (reference.kind) {
    case 'basic':
      return `${count(reference.pattern.io_count)} ${ios(reference.pattern)}, ${moments(reference.pattern.timing)}.`;
    case 'parallel':
      return `${count(reference.pattern.io_count)} ${ios(reference.pattern)}, shared by ${count(reference.degree)} concurrent ${reference.degree === 1 ? 'process' : 'processes'}, ${moments(reference.pattern.timing)} in each.`;
    case 'mixed':
      return `${count(reference.ratio)} of the ${ios(reference.first)}, then one of the ${ios(reference.second)}, and so on.`;
    case 'blend':
      return `${ios(reference.pattern)}, of which ${reference.reads_percent} % read, ${count(reference.queue_depth)} in flight${reference.time_ns == null ? '' : `, for ${exactTime(reference.time_ns)}`}.`;
    case 'sequence':
      return `${reference.patterns.map((p) => `${count(p.io_count)} ${ios(p)}`).join('; then ')}.`;
    case 'uniform':
      return `Writes of ${count(reference.writes.mean_len)} pages of ${bytes(reference.writes.page_bytes)} on average that start anywhere in ${bytes(reference.writes.target_size_bytes)}, each as soon as the one before it is answered.`;
    case 'trace':
      return `${count(reference.ios)} IOs of ${reference.playback.files.join(' and ')}, ${PACE_WORDS[reference.playback.pace]}, up to ${count(reference.queue_depth)} in flight.`;
  }
}

/** What is executed, as rows of names and values for each of its patterns. */
export function parameterRows(reference: Reference): [string, string][][] {
  if (reference.kind === 'blend') {
    const time = reference.time_ns == null ? [] : [['Time', exactTime(reference.time_ns)]];
    const rows = [
      ['Reads', `${reference.reads_percent} %`],
      ['QueueDepth', count(reference.queue_depth)],
      ...time,
    ] as [string, string][];
    return [[...parameters(reference.pattern), ...rows]];
  }
  if (reference.kind === 'uniform') {
    const { writes } = reference;
    return [
      [
        ['PageSize', bytes(writes.page_bytes)],
        ['MeanLength', count(writes.mean_len)],
        ['TargetOffset', bytes(writes.target_offset_bytes)],
        ['TargetSize', bytes(writes.target_size_bytes)],
        ['IOIgnore', count(writes.io_ignore)],
        ['seed', writes.seed],
      ],
    ];
  }
  if (reference.kind !== 'trace') return patternsOf(reference).map(parameters);
  const { playback } = reference;
  return [
    [
      ['Files', playback.files.join(', ')],
      ['Pace', playback.pace],
      ['QueueDepth', count(reference.queue_depth)],
      ['IOs', count(reference.ios)],
      ...Object.entries(playback.fields),
    ],
  ];
}

/** uFLIP's parameters of a pattern, by their names in Table 1. */
export function parameters(pattern: Pattern): [string, string][] {
  const { address, timing } = pattern;
  const rows: [string, string][] = [
    ['Mode', pattern.op],
    ['LBA', address.function],
  ];
  if (address.function === 'ordered') rows.push(['Incr', count(address.incr)]);
  if (address.function === 'partitioned') rows.push(['Partitions', count(address.partitions)]);
  rows.push(['t', timing.function]);
  if (timing.function !== 'consecutive') rows.push(['Pause', exactTime(timing.pause_ns)]);
  if (timing.function === 'burst') rows.push(['Burst', count(timing.burst)]);
  return [
    ...rows,
    ['IOSize', bytes(pattern.io_size_bytes)],
    ['IOShift', bytes(pattern.io_shift_bytes)],
    ['TargetOffset', bytes(pattern.target_offset_bytes)],
    ['TargetSize', bytes(pattern.target_size_bytes)],
    ['IOCount', count(pattern.io_count)],
    ['IOIgnore', count(pattern.io_ignore)],
    ['seed', pattern.seed],
  ];
}

/** How far a run came, in a few words with what there is to know. */
export function progressWords(progress: Progress): string {
  switch (progress.status) {
    case 'done':
      return 'done';
    case 'pending':
      return 'not run';
    case 'skipped':
      return `skipped: ${progress.reason}`;
    case 'interrupted':
      return `interrupted after ${count(progress.ios)} IOs`;
    case 'failed':
      return `failed: ${progress.error} (errno ${progress.errno}) at offset ${count(progress.offset_bytes)}; errors in ${count(progress.errors)} of ${count(progress.ios)} IOs`;
  }
}

/** The unit of a parameter, as the heading of a column says it; none of counts. */
export const UNIT_WORDS: Record<Unit, string | undefined> = {
  bytes: 'bytes',
  nanoseconds: 'ns',
  count: undefined,
};

/** The state of the drive before the first run. */
export const STATE_WORDS: Record<State, string> = {
  keep: 'as it was found',
  purged: 'discarded as a whole, so that nothing was written',
  formatted: 'formatted as a whole by the drive itself',
  sanitized: 'sanitized as a whole by the drive itself',
  sequential: 'written once from start to end',
  random: 'written once in random order, in IOs of random size',
};

/** How far a result came. */
export const STATUS_WORDS: Record<Status, string> = {
  running: 'not finished: being measured, or cut off',
  complete: 'complete',
  interrupted: 'interrupted by the user',
  failed: 'stopped by an error',
};

/** The same in one word. */
export const SHELF_STATUS: Record<Status, string> = {
  running: 'not finished',
  complete: 'complete',
  interrupted: 'interrupted',
  failed: 'failed',
};

/** What kinds of results are called. */
export const KIND_WORDS: Record<ShelfItem['kind'], string> = {
  measurement: 'measurement',
  simulation: 'simulation',
  probe: 'probe',
  sweep: 'sweep',
  what_if: 'what-if',
};

/** What the names of the baselines stand for. */
export const BASELINE_WORDS: Record<string, string> = {
  SR: 'sequential reads',
  RR: 'random reads',
  SW: 'sequential writes',
  RW: 'random writes',
};

/** uFLIP's parameters in words: what each of them is. */
export const PARAMETER_WORDS: Record<string, string> = {
  IOSize: 'how large each IO is',
  IOShift: 'how far each IO is shifted from a multiple of its size',
  TargetSize: 'how large the area is that IOs stay within',
  Partitions:
    'how many parts of the area are gone through in turns, each from its start to its end',
  Incr: 'how many IO sizes each IO lies after the one before it: −1 is backwards, 0 is in place',
  ParallelDegree: 'how many processes do the same at once',
  Ratio: 'how many IOs of the first pattern come before one of the second',
  Pause: 'how long the drive is left alone after each IO',
  Burst: 'how many IOs come between two pauses',
};

/** What an experiment of a test in rounds is named after. */
interface Shares {
  /** In percent. */
  reads: string;
  /** In percent. */
  writes: string;
  /** Of an IO. */
  size: string;
}

/** The shares of reads and writes and the size of IOs that `65/35 8 KiB` names. */
export function sharesOf(name: string): Shares | undefined {
  const [, reads, writes, size] = /^(\d+)\/(\d+) (.+)$/.exec(name) ?? [];
  return reads && writes && size ? { reads, writes, size } : undefined;
}

/**
 * An experiment's name in words: `sequential reads mixed with random writes`, or `65 % reads,
 * 35 % writes of 8 KiB`.
 */
export function experimentWords(name: string): string {
  const shares = sharesOf(name);
  if (shares) {
    const { reads, writes, size } = shares;
    if (writes === '0') return `reads of ${size}`;
    if (reads === '0') return `writes of ${size}`;
    return `${reads} % reads, ${writes} % writes of ${size}`;
  }
  const word = (part: string) => BASELINE_WORDS[part] ?? part;
  if (name.includes('/')) return name.split('/').map(word).join(' mixed with ');
  return name.split('-').map(word).join(', then ');
}

/** How a trace is called: by its files without their folders, by the first ones of many. */
export function traceName(inputs: string[]): string {
  const names = inputs.map((path) => path.split('/').at(-1) || path);
  const more = names.length - 3;
  return more > 1 ? `${names.slice(0, 3).join(', ')} and ${count(more)} more` : names.join(', ');
}

const some = (n: number, thing: string) => `${count(n)} ${thing}${n === 1 ? '' : 's'}`;

/** What an activity of a drive comes to: `64 pages read`, `64 programmed`, `2 blocks erased`. */
export function activityWords(activity: Activity): string[] {
  const { pages_read, pages_programmed, blocks_erased } = activity;
  return [
    ...(pages_read > 0 ? [`${some(pages_read, 'page')} read`] : []),
    ...(pages_programmed > 0
      ? [
          pages_read > 0
            ? `${count(pages_programmed)} programmed`
            : `${some(pages_programmed, 'page')} programmed`,
        ]
      : []),
    ...(blocks_erased > 0 ? [`${some(blocks_erased, 'block')} erased`] : []),
  ];
}

/**
 * What the drive did during an IO: `During this write the drive did a full merge of block 1207: 64
 * pages read, 64 programmed, 2 blocks erased, 12.3 ms of its 12.9 ms.`
 */
export function meanwhileWords(io: Io, { activity, overlap_ns }: Meanwhile): string {
  const { kind, block, start_ns, end_ns } = activity;
  const what = `${/merge$|write-back$|read$/.test(kind) ? 'a' : 'the'} ${kind} of block ${block}`;
  const came = activityWords(activity);
  const whole = end_ns - start_ns;
  const rest = overlap_ns < 0.99 * whole ? `; the ${kind} took ${time(whole)} in all` : '';
  return `During this ${opName(io.op)} the drive did ${what}: ${[...came, `${time(overlap_ns)} of its ${time(io.latency_ns)}`].join(', ')}${rest}.`;
}
