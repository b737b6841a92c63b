// Words for the methodology: lengths of runs, phases, repeats, disturbances and the environment.
import { ioIgnore, type RunView, repeatOf, runsOf, type ValueView } from './data/model';
import type {
  BaselinePhases,
  Conditions,
  Disturbance,
  EndedBy,
  Environment,
  Interference,
  Length,
  Manifest,
  Methodology,
  PhaseLength,
  Precision,
  RepeatFacts,
  Run,
} from './data/views.gen';
import { bytes, count, counted, exactTime, longTime, MISSING, short, time } from './format';
import { STATE_WORDS } from './words';

/** A name and a text, as pages list them. */
export type Note = [name: string, words: string];

/** The confidence from which on repeats count as different: 1 minus the probability of a false alarm. */
const DIFFER = 0.99;

/** A relative uncertainty or share with two digits: `1.9 %`, `22 %`. */
export const share = (value: number): string => `${Number((100 * value).toPrecision(2))} %`;

/** A confidence from 0 to 1 as a percentage; never 100 %. */
export function sure(confidence: number): string {
  return confidence >= 0.9995 ? 'over 99.9 %' : `${short(100 * confidence)} %`;
}

const withConfidence = ({ ios, confidence }: PhaseLength) =>
  `${counted(ios, 'IO')} (confidence ${sure(confidence)})`;

/** Words as a list: `a`, `a and b`, `a, b and c`. */
export function listed(words: string[]): string {
  const last = words.at(-1) ?? '';
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${last}` : last;
}

/** The statistic whose precision ends a run. */
function statistic(precision: Precision | null | undefined): string {
  return precision?.quantile == null
    ? 'mean'
    : `${short(100 * precision.quantile)}th percentile of response times`;
}

/** The precision at which a run ends. */
export function precisionWords(precision: Precision): string {
  const confidence = `${short(100 * precision.confidence)} % confidence`;
  const periods = counted(precision.least_periods, 'period');
  return `its ${statistic(precision)} was known to within ${share(precision.relative)} at ${confidence}, over at least ${periods} of oscillation`;
}

/** The limit that ended a run before it was precise enough. */
function limit(endedBy: EndedBy, ios: number, methodology: Methodology | undefined): string {
  const after = `after ${counted(ios, 'IO')}`;
  switch (endedBy) {
    case 'precision':
    case 'ios':
      return after;
    case 'time': {
      const most = methodology?.most_run_time_ns;
      return `${after}, at its time limit${most == null ? '' : ` of ${exactTime(most)}`}`;
    }
    case 'bytes': {
      const most = methodology?.most_run_bytes;
      return `${after}, at its write limit${most == null ? '' : ` of ${bytes(most)}`}`;
    }
    case 'space':
      return `${after}, at the end of its target space`;
  }
}

/** The reason why a run ended, and the precision that it reached. */
export function lengthWords(
  length: Length,
  ios: number,
  methodology: Methodology | undefined,
): string {
  const target = methodology?.precision;
  const known = length.relative_precision;
  if (length.ended_by === 'precision') {
    const within = known == null ? 'precisely enough' : `to within ${share(known)}`;
    const goal = target == null ? '' : ` (target: ${share(target.relative)})`;
    return `Ended after ${counted(ios, 'IO')}, when its ${statistic(target)} was known ${within}${goal}.`;
  }
  const ended = `Ended ${limit(length.ended_by, ios, methodology)}`;
  if (target == null) return `${ended}.`;
  if (known == null)
    return `${ended}: too few IOs to tell how well its ${statistic(target)} is known.`;
  const only = known > target.relative ? ' only' : '';
  return `${ended}; its ${statistic(target)} is known${only} to within ${share(known)} (target: ${share(target.relative)}).`;
}

/** True if a run ended at a limit before it reached its precision. */
export const isShort = ({ length }: Run): boolean =>
  length != null && length.ended_by !== 'precision';

/** The start-up phase and the period of a baseline. */
export function phasesWords({ start_up, period }: BaselinePhases): string {
  const found = (phase: PhaseLength | null | undefined) =>
    phase == null ? 'none found' : withConfidence(phase);
  return `Start-up phase: ${found(start_up)}. Period: ${found(period)}.`;
}

/** States how long writes slow the reads after them, and the pause between runs that avoids this. */
export function interferenceWords(interference: Interference): string {
  const { reads, lasted_ns, run_pause_ns, settled } = interference;
  const pause = `Runs are therefore ${exactTime(run_pause_ns)} apart.`;
  if (reads == null) return `The writes did not slow the reads after them. ${pause}`;
  const lasted = settled
    ? `for ${time(lasted_ns)}`
    : `for at least ${time(lasted_ns)}; reads did not return to their former speed`;
  return `The writes slowed the reads after them: ${withConfidence(reads)}, ${lasted}. ${pause}`;
}

/** True if repeats of one value differ by more than the variation within them explains. */
export function differs(together: RepeatFacts | undefined): boolean {
  return together !== undefined && together.differ_confidence >= DIFFER;
}

/** The standard deviation of the means of repeats, and the confidence that they differ. */
export function differWords({ mean_ns, between_runs_ns, differ_confidence }: RepeatFacts): string {
  const spread = share(between_runs_ns / mean_ns.value);
  return `their means differ significantly, with a standard deviation of ${spread} (confidence ${sure(differ_confidence)})`;
}

/** Remarks about the runs of one value; empty if nothing is unusual. */
export function remarks({ views, together }: ValueView): string[] {
  const all: string[] = [];
  if (together !== undefined && differs(together)) {
    const { mean_ns, between_runs_ns, differ_confidence } = together;
    all.push(
      `≠ repeats differ: sd ${share(between_runs_ns / mean_ns.value)} (confidence ${sure(differ_confidence)})`,
    );
  }
  const ended = views.filter(({ run }) => isShort(run));
  const widest = Math.max(...ended.map(({ run }) => run.length?.relative_precision ?? 0));
  if (ended.length > 0) {
    const within = widest > 0 ? `, mean known to within ${share(widest)}` : '';
    const which = views.length > 1 ? `${count(ended.length)} of ${count(views.length)} runs ` : '';
    all.push(`${which}ended at a limit${within}`);
  }
  const sharing = views.filter(({ run }) => (run.shares_space_with ?? []).length > 0);
  if (sharing.length > 0) all.push('space written by other runs before');
  const disturbed = views.filter(({ run }) => disturbances(run).length > 0);
  if (disturbed.length > 0) {
    const which = disturbed.map(({ run }) => repeatOf(run)).join(', ');
    all.push(views.length > 1 ? `disturbed: repeat ${which}` : 'disturbed');
  }
  return all;
}

/** The resources that other processes may use during a run. */
const DISTURBED: Record<Disturbance, string> = {
  ios: 'the drive',
  processors: 'the CPUs',
};

/** The disturbances of a run in words. */
export function disturbedWords(by: Disturbance[]): string {
  return `other processes used ${listed(by.map((resource) => DISTURBED[resource]))}`;
}

/** The disturbances by other processes that may have changed the numbers of a run. */
export const disturbances = ({ conditions }: Run): Disturbance[] => conditions?.disturbed_by ?? [];

/** The conditions of the machine and the drive during a run. */
export function conditionNotes(c: Conditions): Note[] {
  const notes: Note[] = [];
  if (c.others_ios != null) {
    const size = c.others_bytes == null ? '' : `, ${bytes(c.others_bytes)}`;
    const during = c.others_ios === 0 ? 'none' : `at most ${count(c.others_ios)}${size}`;
    const before = c.others_ios_before ?? 0;
    const pause = before === 0 ? '' : `; ${count(before)} in the pause before the run`;
    notes.push(['IOs of other processes', `${during}${pause}`]);
  }
  if (c.others_processor_share != null) {
    notes.push(['CPU time', `${share(c.others_processor_share)} used by other processes`]);
  }
  if (c.load_average != null) {
    notes.push(['Load average', `${short(c.load_average)} over one minute, at the end of the run`]);
  }
  const [before, after] = [c.temperature_celsius_before, c.temperature_celsius_after];
  if (before != null || after != null) {
    const degrees = (celsius: number | null | undefined) =>
      celsius == null ? MISSING : `${short(celsius)} °C`;
    notes.push(['Temperature', `${degrees(before)} before, ${degrees(after)} after`]);
  }
  return notes;
}

/** States that other runs had written to the space of a run. */
export function sharedWords(runs: number[]): string {
  const which = runs.length === 1 ? `Run ${runs[0]}` : `Runs ${listed(runs.map(String))}`;
  return `${which} had written to its target space before, and the state was not restored.`;
}

/** Notes on how a run was measured. */
export function runNotes(view: RunView, ios: number | undefined): Note[] {
  const { run, methodology, phases, interference, together, repeats } = view;
  const notes: Note[] = [];
  if (phases !== undefined) notes.push(['Phases', phasesWords(phases)]);
  if (interference !== undefined) {
    notes.push(['Lingering writes', interferenceWords(interference)]);
  }
  const ignored = ioIgnore(run.reference);
  if (ignored > 0) {
    const why = methodology?.finds_io_ignore
      ? 'the start-up phases that the preparation found, plus a tenth'
      : 'the value of IOIgnore';
    notes.push(['Start-up', `The statistics exclude the first ${counted(ignored, 'IO')}: ${why}.`]);
  }
  const period = run.length?.period_ios ?? 1;
  if (period > 1) {
    notes.push(['Period', `Response times repeat every ${count(period)} IOs.`]);
  }
  if (run.length != null && ios !== undefined) {
    notes.push(['Length', lengthWords(run.length, ios, methodology)]);
  }
  if (run.reset) {
    notes.push([
      'State',
      'The initial state was restored before this run, because no space in that state was left.',
    ]);
  }
  const shares = run.shares_space_with ?? [];
  if (shares.length > 0) notes.push(['Space', sharedWords(shares)]);
  if (together !== undefined) {
    const same = 'their means do not differ significantly';
    const how = differs(together) ? differWords(together) : same;
    notes.push([
      'Repeats',
      `${counted(repeats.length, 'run')} with a mean of ${time(together.mean_ns.value)}; ${how}.`,
    ]);
  }
  const first = run.conditions?.repeated_as_disturbed_by ?? [];
  if (first.length > 0) {
    notes.push([
      'Run again',
      `The first attempt was discarded, because ${disturbedWords(first)} during it.`,
    ]);
  }
  return run.conditions == null ? notes : [...notes, ...conditionNotes(run.conditions)];
}

/** The disturbed runs, by the resource that other processes used. */
export function disturbedRuns(manifest: Manifest): { by: string; runs: Run[] }[] {
  const all = runsOf(manifest.micro_benchmarks);
  return (Object.keys(DISTURBED) as Disturbance[])
    .map((resource) => ({
      by: disturbedWords([resource]),
      runs: all.filter((run) => disturbances(run).includes(resource)),
    }))
    .filter(({ runs }) => runs.length > 0);
}

/** States how precisely the mean of the least precise run is known. */
function leastKnown(ended: Run[]): string {
  const unknown = ended.filter((run) => run.length?.relative_precision == null).length;
  if (unknown > 0) return `; ${count(unknown)} had too few IOs for an interval`;
  const widest = Math.max(...ended.map((run) => run.length?.relative_precision ?? 0));
  return `; the least precise is known to within ${share(widest)}`;
}

/** States how many runs reached the target precision, and the limits that ended the other runs. */
function reached(manifest: Manifest): string {
  const runs = runsOf(manifest.micro_benchmarks).filter((run) => run.length != null);
  const ended = runs.filter(isShort);
  if (ended.length === 0) return `All ${counted(runs.length, 'run')} reached this precision.`;
  const limits = {
    ios: 'the IO limit',
    time: 'the time limit',
    bytes: 'the write limit',
    space: 'the end of the space',
  };
  const stopped = (['ios', 'time', 'bytes', 'space'] as const).flatMap((by) => {
    const n = ended.filter((run) => run.length?.ended_by === by).length;
    return n === 0 ? [] : [`${count(n)} ended at ${limits[by]}`];
  });
  return `${count(runs.length - ended.length)} of ${counted(runs.length, 'run')} reached this precision; ${listed(stopped)}${leastKnown(ended)}.`;
}

/** The state of the drive before the first run, and how often it was restored. */
function stateNote(manifest: Manifest): Note {
  const resets = runsOf(manifest.micro_benchmarks).filter(
    (run) => run.reset && run.progress.status !== 'pending' && run.progress.status !== 'skipped',
  ).length;
  const first = `Before the first run, ${STATE_WORDS[manifest.options.state]}.`;
  if (resets === 0) return ['State', first];
  const times = resets === 1 ? 'once' : `${count(resets)} times`;
  return [
    'State',
    `${first} This state was restored ${times}, whenever no space in this state was left for a run.`,
  ];
}

function pauseNote({ options, findings }: Manifest): Note {
  const measured = findings?.interference ?? [];
  const last = measured.at(-1);
  if (!options.methodology?.finds_run_pause || last === undefined) {
    return ['Pauses', `${exactTime(options.run_pause_ns)} between runs.`];
  }
  const reason =
    last.reads == null
      ? 'writes do not slow the reads after them'
      : `writes slow the ${counted(last.reads.ios, 'read')} after them, for ${time(last.lasted_ns)}`;
  const times = measured.length > 1 ? ` (measured ${count(measured.length)} times)` : '';
  return ['Pauses', `${exactTime(last.run_pause_ns)} between runs: ${reason}${times}.`];
}

function repeatNote(methodology: Methodology, repeats: RepeatFacts[]): Note {
  if (methodology.repeats <= 1) return ['Repeats', 'Each value was run once.'];
  const differing = repeats.filter(differs).length;
  const all = counted(repeats.length, 'value');
  const compared =
    repeats.length === 0
      ? ''
      : differing === 0
        ? ' The repeats of no value differ significantly.'
        : ` The repeats differ significantly at ${count(differing)} of ${all}; longer runs would not change that.`;
  return ['Repeats', `Each value was run ${count(methodology.repeats)} times.${compared}`];
}

function spentNote({ spent, options, device }: Manifest): Note[] {
  if (spent === undefined || (spent.time_ns === 0 && spent.bytes === 0)) return [];
  const { time_ns, bytes: written } = options.methodology?.budget ?? {};
  const budget = [
    ...(time_ns == null ? [] : [longTime(time_ns)]),
    ...(written == null ? [] : [bytes(written)]),
  ];
  const clock = device.kind === 'sim' ? ' of simulated time' : '';
  const of = budget.length === 0 ? '' : `, of a budget of ${listed(budget)}`;
  return [
    [
      'Spent',
      `${longTime(spent.time_ns)}${clock} and ${bytes(spent.bytes)} written${of}, including states and pauses.`,
    ],
  ];
}

/** Notes on how a result was measured. */
export function methodNotes(manifest: Manifest, repeats: RepeatFacts[]): Note[] {
  const { methodology } = manifest.options;
  const notes: Note[] = [stateNote(manifest), pauseNote(manifest)];
  if (methodology !== undefined) {
    notes.push([
      'Length of runs',
      methodology.precision == null
        ? 'The value of IOCount.'
        : `Each run continued until ${precisionWords(methodology.precision)}. ${reached(manifest)}`,
    ]);
    notes.push(repeatNote(methodology, repeats));
  }
  const resumed = manifest.resumed?.length ?? 0;
  if (resumed > 0) {
    notes.push([
      'Resumed',
      `${resumed === 1 ? 'Once' : `${count(resumed)} times`}, after an interruption.`,
    ]);
  }
  return [...notes, ...spentNote(manifest)];
}

/** The settings of the machine and its kernel while a real drive was measured. */
export function environmentNotes(e: Environment): Note[] {
  const { queue } = e;
  const row = (name: string, value: string | null | undefined): Note[] =>
    value == null || value === '' ? [] : [[name, value]];
  const exit = e.deepest_idle_state_exit_us;
  const latency = exit == null ? '' : `, exit latency ${count(exit)} µs`;
  const merges = ['on', 'simple merges only', 'off'];
  return [
    ...row('CPU governor', e.governors.join(', ')),
    ...row(
      'Deepest CPU idle state',
      e.deepest_idle_state == null ? null : `${e.deepest_idle_state}${latency}`,
    ),
    ...row('NUMA nodes', e.numa_nodes == null ? null : count(e.numa_nodes)),
    ...row('Load average before', e.load_average == null ? null : short(e.load_average)),
    ...row('Block device', queue?.drive),
    ...row('IO scheduler', queue?.scheduler),
    ...row('Queue size', queue?.requests == null ? null : count(queue.requests)),
    ...row(
      'Largest request',
      queue?.max_request_bytes == null ? null : bytes(queue.max_request_bytes),
    ),
    ...row('Request merging', queue?.no_merges == null ? null : merges[queue.no_merges]),
    ...row('Write cache', queue?.write_cache),
    ...row(
      'Write throttling',
      queue?.write_throttle_us == null
        ? null
        : queue.write_throttle_us === 0
          ? 'off'
          : `at ${exactTime(1000 * queue.write_throttle_us)}`,
    ),
  ];
}
