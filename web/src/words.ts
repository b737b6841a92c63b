// Words for patterns, parameters, outcomes of runs, and the work of a drive.

import type { COLUMNS } from './data/columns.gen';
import { patternsOf } from './data/model';
import type { Io, Overlap } from './data/neighbours';
import type {
  Activity,
  Address,
  Job,
  Pace,
  Pattern,
  Progress,
  Reference,
  ShelfItem,
  SizeShare,
  State,
  Status,
  Timing,
  Unit,
} from './data/views.gen';
import { bytes, count, counted, exactTime, opName, time } from './format';

/** The order of addresses: an adjective for the IOs, and a detail that follows their size. */
function addressWords(address: Address): { adjective: string; detail: string } {
  switch (address.function) {
    case 'sequential':
    case 'random':
      return { adjective: `${address.function} `, detail: '' };
    case 'ordered': {
      if (address.incr === 0) return { adjective: 'in-place ', detail: '' };
      if (address.incr === 1) return { adjective: 'sequential ', detail: '' };
      if (address.incr === -1) return { adjective: 'reverse sequential ', detail: '' };
      const way = address.incr < 0 ? 'before' : 'after';
      const distance = count(Math.abs(address.incr));
      return { adjective: '', detail: `, each ${distance} IO sizes ${way} the previous one,` };
    }
    case 'partitioned': {
      const partitions = counted(address.partitions, 'partition');
      return { adjective: 'sequential ', detail: `, round-robin over ${partitions},` };
    }
  }
}

const ONE_BY_ONE = 'each submitted when the previous one completes';

function timingWords(timing: Timing): string {
  switch (timing.function) {
    case 'consecutive':
      return ONE_BY_ONE;
    case 'pause':
      return `with pauses of ${exactTime(timing.pause_ns)} between them`;
    case 'burst':
      return `in bursts of ${count(timing.burst)} with pauses of ${exactTime(timing.pause_ns)} between bursts`;
  }
}

/** A column of a record. */
type Column = (typeof COLUMNS)[number];

/** The value of a column of an IO. */
export function columnText({ name, unit }: Column, io: Io): string {
  const value = io[name];
  switch (unit) {
    case 'ns':
      return time(value);
    case 'bytes':
      return bytes(value);
    case 'operation':
      return opName(value);
    case 'error':
      return value === 0 ? 'succeeded' : `errno ${value}`;
    default:
      return count(value);
  }
}

/** True for a column of numbers; the others have words. */
export const isNumber = (unit: Column['unit']): boolean => unit !== 'operation' && unit !== 'error';

/** The name of a column's unit in a saved table. */
export const unitName = (unit: Column['unit']): string | undefined =>
  unit === 'offset' ? 'bytes' : unit === 'ns' || unit === 'bytes' ? unit : undefined;

/** The size and the target space of a pattern's IOs: ` of 32 KiB within 1 GiB`. */
function extentWords(pattern: Pattern): string {
  const { detail } = addressWords(pattern.address);
  const shift = pattern.io_shift_bytes > 0 ? `, shifted by ${bytes(pattern.io_shift_bytes)}` : '';
  return ` of ${bytes(pattern.io_size_bytes)}${detail} within ${bytes(pattern.target_size_bytes)}${shift}`;
}

function ios(pattern: Pattern, n = pattern.io_count): string {
  const { adjective } = addressWords(pattern.address);
  return `${counted(n, `${adjective}${pattern.op}`)}${extentWords(pattern)}`;
}

const PACE_WORDS: Record<Pace, string> = {
  timed: 'each submitted at its recorded time',
  asap: 'each submitted as soon as an earlier one completes',
};

/** A reference pattern in a sentence. */
export function sentence(reference: Reference): string {
  switch (reference.kind) {
    case 'basic':
      return `${ios(reference.pattern)}, ${timingWords(reference.pattern.timing)}.`;
    case 'parallel': {
      const processes = counted(reference.degree, 'concurrent process', 'concurrent processes');
      return `${ios(reference.pattern)}, split over ${processes}, ${timingWords(reference.pattern.timing)}, per process.`;
    }
    case 'mixed':
      return `${ios(reference.first, reference.ratio)}, then ${ios(reference.second, 1)}, repeated.`;
    case 'blend': {
      const { adjective } = addressWords(reference.pattern.address);
      const time = reference.time_ns == null ? '' : `, for ${exactTime(reference.time_ns)}`;
      return `${adjective}IOs${extentWords(reference.pattern)}, ${reference.reads_percent} % of them reads, ${count(reference.queue_depth)} in flight${time}.`;
    }
    case 'sequence':
      return `${reference.patterns.map((pattern) => ios(pattern)).join('; then ')}.`;
    case 'uniform':
      return `Writes of ${count(reference.writes.mean_len)} pages of ${bytes(reference.writes.page_bytes)} on average, starting anywhere in ${bytes(reference.writes.target_size_bytes)}, ${ONE_BY_ONE}.`;
    case 'jobs':
      return `${reference.jobs.map(jobWords).join('; at the same time ')}.`;
    case 'trace':
      return `${counted(reference.ios, 'IO')} of ${reference.playback.files.join(' and ')}, ${PACE_WORDS[reference.playback.pace]}, up to ${count(reference.queue_depth)} in flight.`;
  }
}

const PLACE_WORDS: Record<Job['places']['kind'], string> = {
  sequential: 'sequential ',
  covering: 'random ',
  independent: 'random ',
  zipf: 'skewed random ',
  pareto: 'skewed random ',
};

/** The sizes of a job's IOs: `4 KiB (60 %) or 64 KiB (40 %)`. */
function sizeWords(sizes: SizeShare[]): string {
  const all = sizes.reduce((sum, { weight }) => sum + weight, 0);
  const share = ({ weight }: SizeShare) =>
    sizes.length === 1 ? '' : ` (${count(Math.round((100 * weight) / all))} %)`;
  return sizes.map((size) => `${bytes(size.size_bytes)}${share(size)}`).join(' or ');
}

/** A job in words, without a full stop. */
function jobWords(job: Job): string {
  const parts = [
    ['read', job.read_sizes],
    [job.op, job.other_sizes],
  ] as const;
  const ops = parts.flatMap(([op, sizes]) =>
    sizes.length === 0 ? [] : `${op}s of ${sizeWords(sizes)}`,
  );
  const mix = ops.length > 1 ? `, ${job.reads_percent} % of them reads` : '';
  const processes =
    job.processes === 1 ? '' : ` in each of ${counted(job.processes, 'process', 'processes')}`;
  const places = PLACE_WORDS[job.places.kind];
  return `${job.name}: ${places}${ops.join(' and ')} within ${bytes(job.target_size_bytes)}${mix}, ${count(job.queue_depth)} in flight${processes}`;
}

/** The parameters of a job, by fio's names. */
function jobParameters(job: Job): [string, string][] {
  const { places, think } = job;
  const law =
    places.kind === 'zipf'
      ? ` ${places.exponent}`
      : places.kind === 'pareto'
        ? ` ${places.share}`
        : '';
  const optional: [string, string | undefined][] = [
    ['offset_increment', job.processes > 1 ? bytes(job.process_shift_bytes) : undefined],
    ['Bytes', job.end_bytes == null ? undefined : bytes(job.end_bytes)],
    ['number_ios', job.most_ios == null ? undefined : count(job.most_ios)],
    ['Time', job.time_ns == null ? undefined : exactTime(job.time_ns)],
    ['startdelay', job.delay_ns == null ? undefined : exactTime(job.delay_ns)],
    ['thinktime', think == null ? undefined : exactTime(think.pause_ns)],
    ['thinktime_blocks', think == null ? undefined : count(think.ios)],
    ['fsync', job.flush_every == null ? undefined : count(job.flush_every)],
  ];
  return [
    ['Job', job.name],
    ['Places', `${places.kind}${law}`],
    ['Reads', `${job.reads_percent} %`],
    ['bs of reads', job.read_sizes.length > 0 ? sizeWords(job.read_sizes) : '–'],
    [`bs of ${job.op}s`, job.other_sizes.length > 0 ? sizeWords(job.other_sizes) : '–'],
    ['offset', bytes(job.target_offset_bytes)],
    ['size', bytes(job.target_size_bytes)],
    ['iodepth', count(job.queue_depth)],
    ['numjobs', count(job.processes)],
    ...optional.filter((row): row is [string, string] => row[1] !== undefined),
    ['seed', job.seed],
  ];
}

/** The name of a part of a run that has its own statistics. */
export const partName = (reference: Reference, part: number): string =>
  reference.kind === 'jobs'
    ? `job ${reference.jobs[part]?.name ?? part + 1}`
    : `pattern #${part + 1}`;

/** The parameters of a reference, as names and values for each of its patterns. */
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
  if (reference.kind === 'jobs') return reference.jobs.map(jobParameters);
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

/** The parameters of a pattern, by their names in Table 1 of the uFLIP paper. */
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

/** The outcome of a run in a few words, with its cause where it did not finish. */
export function progressWords(progress: Progress): string {
  switch (progress.status) {
    case 'done':
      return 'done';
    case 'pending':
      return 'not run';
    case 'skipped':
      return `skipped: ${progress.reason}`;
    case 'interrupted':
      return `interrupted after ${counted(progress.ios, 'IO')}`;
    case 'failed':
      return `failed: ${progress.error} (errno ${progress.errno}) at offset ${count(progress.offset_bytes)}; errors in ${count(progress.errors)} of ${counted(progress.ios, 'IO')}`;
  }
}

/** The unit of a parameter for the heading of a column; counts have none. */
export const UNIT_WORDS: Record<Unit, string | undefined> = {
  bytes: 'bytes',
  nanoseconds: 'ns',
  count: undefined,
};

/** The state of the drive before the first run. */
export const STATE_WORDS: Record<State, string> = {
  keep: 'the drive was not changed',
  purged: 'the whole drive was trimmed, and nothing was written',
  formatted: 'the drive formatted itself',
  sanitized: 'the drive sanitized itself',
  sequential: 'the drive was written once from start to end',
  random: 'the drive was written once in random order, in IOs of random size',
  steady: 'the drive was trimmed and written to the steady state of random writes',
};

/** The status of a result in words. */
export const STATUS_WORDS: Record<Status, string> = {
  running: 'not finished: still running, or cut off',
  complete: 'complete',
  interrupted: 'interrupted by the user',
  failed: 'stopped by an error',
};

/** The status of a result in one or two words. */
export const SHELF_STATUS: Record<Status, string> = {
  running: 'not finished',
  complete: 'complete',
  interrupted: 'interrupted',
  failed: 'failed',
};

/** The names of the kinds of results. */
export const KIND_WORDS: Record<ShelfItem['kind'], string> = {
  measurement: 'measurement',
  simulation: 'simulation',
  probe: 'probe',
  sweep: 'sweep',
  what_if: 'what-if',
  twin: 'twin',
  prediction: 'prediction',
};

/** The baselines in words, by their abbreviations. */
export const BASELINE_WORDS: Record<string, string> = {
  SR: 'sequential reads',
  RR: 'random reads',
  SW: 'sequential writes',
  RW: 'random writes',
};

/** Definitions of uFLIP's parameters. */
export const PARAMETER_WORDS: Record<string, string> = {
  IOSize: 'the size of each IO',
  IOShift: 'the distance of each IO from a multiple of its size',
  TargetSize: 'the size of the area that the IOs stay within',
  Partitions: 'the number of parts of the area that sequential IOs visit round-robin',
  Incr: 'the distance from one IO to the next, in IO sizes: −1 is reverse order, 0 is in place',
  ParallelDegree: 'the number of processes that run the same pattern at once',
  Ratio: 'the number of IOs of the first pattern for each IO of the second',
  Pause: 'the idle time after each IO',
  Burst: 'the number of IOs between two pauses',
};

/** The mix of IOs that names an experiment of a test in rounds. */
interface Shares {
  /** In percent. */
  reads: string;
  /** In percent. */
  writes: string;
  /** The size of an IO. */
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

/** The name of a trace: its files without their folders, at most three of many. */
export function traceName(inputs: string[]): string {
  const names = inputs.map((path) => path.split('/').at(-1) || path);
  const more = names.length - 3;
  return more > 1 ? `${names.slice(0, 3).join(', ')} and ${count(more)} more` : names.join(', ');
}

/** The flash operations of an activity: `64 pages read`, `64 programmed`, `2 blocks erased`. */
export function activityWords(activity: Activity): string[] {
  const { pages_read, pages_programmed, blocks_erased } = activity;
  return [
    ...(pages_read > 0 ? [`${counted(pages_read, 'page')} read`] : []),
    ...(pages_programmed > 0
      ? [
          pages_read > 0
            ? `${count(pages_programmed)} programmed`
            : `${counted(pages_programmed, 'page')} programmed`,
        ]
      : []),
    ...(blocks_erased > 0 ? [`${counted(blocks_erased, 'block')} erased`] : []),
  ];
}

/**
 * A sentence about work of the drive during an IO: `During this write the drive did a full merge of
 * block 1207: 64 pages read, 64 programmed, 2 blocks erased. It took 12.3 ms of the 12.9 ms of the write.`
 */
export function overlapWords(io: Io, { activity, overlap_ns }: Overlap): string {
  const { kind, block, start_ns, end_ns } = activity;
  const op = opName(io.op);
  const work = `${/merge$|write-back$|read$/.test(kind) ? 'a' : 'the'} ${kind} of block ${block}`;
  const operations = activityWords(activity).join(', ');
  const length = end_ns - start_ns;
  const rest = overlap_ns < 0.99 * length ? `, and ${time(length)} in all` : '';
  return `During this ${op} the drive did ${work}${operations === '' ? '' : `: ${operations}`}. It took ${time(overlap_ns)} of the ${time(io.latency_ns)} of the ${op}${rest}.`;
}
