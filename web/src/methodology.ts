// How it was measured, in words: lengths, phases, repeats, disturbances and the settings around.
import { ioIgnore, type RunView, repeatOf, runsOf, type ValueView } from './data/model';
import type {
  BaselinePhases,
  Conditions,
  Disturbance,
  EndedBy,
  Environment,
  Found,
  Interference,
  Length,
  Manifest,
  Methodology,
  Precision,
  RepeatFacts,
  Run,
} from './data/views.gen';
import { bytes, count, exactTime, longTime, MISSING, short, time } from './format';
import { STATE_WORDS } from './words';

/** A name and what there is to say, as pages list them. */
export type Note = [name: string, words: string];

/** Runs of one value differ beyond doubt from here on: 1 less the probability of a false alarm. */
const DIFFER = 0.99;

/** A share of a mean or the like, with two digits: `1.9 %`, `22 %`. */
export const share = (value: number): string => `${Number((100 * value).toPrecision(2))} %`;

/** How sure something is; what is all but certain is not called so. */
export function sure(confidence: number): string {
  return confidence >= 0.9995 ? 'over 99.9 %' : `${short(100 * confidence)} %`;
}

const found = ({ ios, confidence }: Found) => `${count(ios)} IOs (confidence ${sure(confidence)})`;

/** Words in a row: `a`, `a and b`, `a, b and c`. */
export function listed(words: string[]): string {
  const last = words.at(-1) ?? '';
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${last}` : last;
}

/** The statistic that a run is to know. */
function statistic(precision: Precision | null | undefined): string {
  return precision?.quantile == null
    ? 'mean'
    : `${short(100 * precision.quantile)}th percentile of response times`;
}

/** When a run is long enough. */
export function precisionWords(precision: Precision): string {
  return `its ${statistic(precision)} known within ${share(precision.relative)}, with ${short(100 * precision.confidence)} % confidence, over at least ${count(precision.least_periods)} periods of what oscillates`;
}

/** What ended a run before it was precise enough. */
function limit(endedBy: EndedBy, ios: number, methodology: Methodology | undefined): string {
  switch (endedBy) {
    case 'precision':
    case 'ios':
      return `at ${count(ios)} IOs`;
    case 'time': {
      const most = methodology?.most_run_time_ns;
      return `at ${count(ios)} IOs by its time${most == null ? '' : ` of ${exactTime(most)}`}`;
    }
    case 'bytes': {
      const most = methodology?.most_run_bytes;
      return `at ${count(ios)} IOs by what it may write${most == null ? '' : `, ${bytes(most)}`}`;
    }
  }
}

/** How a run came to its length. */
export function lengthWords(
  length: Length,
  ios: number,
  methodology: Methodology | undefined,
): string {
  const wanted = methodology?.precision;
  const known = length.relative_precision;
  if (length.ended_by === 'precision') {
    const within = known == null ? 'well enough' : `within ${share(known)}`;
    const want = wanted == null ? '' : ` (wanted: ${share(wanted.relative)})`;
    return `Ended at ${count(ios)} IOs, when its ${statistic(wanted)} was known ${within}${want}.`;
  }
  const ended = `Ended ${limit(length.ended_by, ios, methodology)}`;
  if (wanted == null) return `${ended}.`;
  if (known == null) return `${ended}, too few to say how well its ${statistic(wanted)} is known.`;
  const only = known > wanted.relative ? ' only' : '';
  return `${ended}, its ${statistic(wanted)} known within ${share(known)}${only} (wanted: ${share(wanted.relative)}).`;
}

/** Whether a run ended before it knew what it was to know. */
export const isShort = ({ length }: Run): boolean =>
  length != null && length.ended_by !== 'precision';

/** What a baseline's run showed. */
export function phasesWords({ start_up, period }: BaselinePhases): string {
  if (start_up == null && period == null) {
    return 'No start-up phase was found, and no period.';
  }
  const first =
    start_up == null
      ? 'No start-up phase was found'
      : `A start-up phase of ${found(start_up)} was found`;
  const then = period == null ? 'no period after it' : `a period of ${found(period)}`;
  return `${first}, and ${then}.`;
}

/** How long writes lingered, and the pause that follows from it. */
export function interferenceWords(seen: Interference): string {
  const pause = `Pauses of ${exactTime(seen.run_pause_ns)} between runs follow from it.`;
  if (seen.reads == null)
    return `No reads were found that the writes before them had made slower. ${pause}`;
  const lasted = `${time(seen.lasted_ns)}${seen.settled ? '' : ' or more, as it did not come back to its former times'}`;
  return `The writes lingered in the reads after them: ${found(seen.reads)}, for ${lasted}. ${pause}`;
}

/** Whether runs of one value differ by more than what is within them accounts for. */
export function differs(together: RepeatFacts | undefined): boolean {
  return together !== undefined && together.differ_confidence >= DIFFER;
}

/** What differing runs mean to the reader. */
export function differWords({ mean_ns, between_runs_ns, differ_confidence }: RepeatFacts): string {
  const spread = share(between_runs_ns / mean_ns.value);
  return `they differ by more than the IOs within them account for: standard deviation ${spread} (confidence ${sure(differ_confidence)})`;
}

/** What runs of one value have in common, where none of it needs words: nothing. */
export function remarks({ views, together }: ValueView): string[] {
  const all: string[] = [];
  if (together !== undefined && differs(together)) {
    const { mean_ns, between_runs_ns, differ_confidence } = together;
    all.push(
      `≠ repeats differ: sd of ${share(between_runs_ns / mean_ns.value)} (confidence ${sure(differ_confidence)})`,
    );
  }
  const ended = views.filter(({ run }) => isShort(run));
  const widest = Math.max(...ended.map(({ run }) => run.length?.relative_precision ?? 0));
  if (ended.length > 0) {
    const within = widest > 0 ? `, known within ${share(widest)}` : '';
    const which = views.length > 1 ? `${count(ended.length)} of ${count(views.length)} ` : '';
    all.push(`${which}ended at a limit${within}`);
  }
  const disturbed = views.filter(({ run }) => disturbances(run).length > 0);
  if (disturbed.length > 0) {
    const which = disturbed.map(({ run }) => repeatOf(run)).join(', ');
    all.push(views.length > 1 ? `disturbed: repeat ${which}` : 'disturbed');
  }
  return all;
}

/** What others used. */
const DISTURBED: Record<Disturbance, string> = {
  ios: 'the drive',
  processors: 'the processors',
};

/** What others did, in words. */
export function disturbedWords(by: Disturbance[]): string {
  return `others used ${listed(by.map((what) => DISTURBED[what]))}`;
}

/** What others did during a run that may have changed its numbers. */
export const disturbances = ({ conditions }: Run): Disturbance[] => conditions?.disturbed_by ?? [];

/** What happened around a run. */
export function conditionNotes(c: Conditions): Note[] {
  const notes: Note[] = [];
  if (c.others_ios != null) {
    const size = c.others_bytes == null ? '' : `, ${bytes(c.others_bytes)}`;
    const during = c.others_ios === 0 ? 'none' : `${count(c.others_ios)} at most${size}`;
    const before = c.others_ios_before ?? 0;
    const pause = before === 0 ? '' : `; ${count(before)} in the pause before`;
    notes.push(['IOs of others', `${during}${pause}`]);
  }
  if (c.others_processor_share != null) {
    notes.push(['Processors', `${share(c.others_processor_share)} of their time taken by others`]);
  }
  if (c.load_average != null) {
    notes.push(['Load average', `${short(c.load_average)} in the last minute, at its end`]);
  }
  const [before, after] = [c.temperature_celsius_before, c.temperature_celsius_after];
  if (before != null || after != null) {
    const degrees = (celsius: number | null | undefined) =>
      celsius == null ? MISSING : `${short(celsius)} °C`;
    notes.push(['Temperature', `${degrees(before)} before, ${degrees(after)} after`]);
  }
  return notes;
}

/** How a run came to be what it is. */
export function runNotes(view: RunView, ios: number | undefined): Note[] {
  const { run, methodology, phases, interference, together, repeats } = view;
  const notes: Note[] = [];
  if (phases !== undefined) notes.push(['Phases', phasesWords(phases)]);
  if (interference !== undefined) notes.push(['Lingering', interferenceWords(interference)]);
  const ignored = ioIgnore(run.reference);
  if (ignored > 0) {
    const why = methodology?.finds_io_ignore
      ? 'the start-up phases that the preparation found, and a tenth more'
      : 'as IOIgnore says';
    notes.push([
      'Start-up',
      `The first ${count(ignored)} IOs are left out of the numbers: ${why}.`,
    ]);
  }
  const period = run.length?.period_ios ?? 1;
  if (period > 1) {
    notes.push(['Period', `Its response times are taken to repeat every ${count(period)} IOs.`]);
  }
  if (run.length != null && ios !== undefined) {
    notes.push(['Length', lengthWords(run.length, ios, methodology)]);
  }
  if (run.reset) {
    notes.push([
      'State',
      'The state of the drive was enforced again before it, as sequential writes had passed over the whole target space.',
    ]);
  }
  if (together !== undefined) {
    const same = 'they differ by no more than the IOs within them account for';
    const how = differs(together) ? differWords(together) : same;
    notes.push([
      'Repeats',
      `Run ${count(repeats.length)} times, with a mean of ${time(together.mean_ns.value)} over all; ${how}.`,
    ]);
  }
  const first = run.conditions?.repeated_as_disturbed_by ?? [];
  if (first.length > 0) {
    notes.push([
      'Done twice',
      `The first time, ${disturbedWords(first)}; that first time is not in the records.`,
    ]);
  }
  return run.conditions == null ? notes : [...notes, ...conditionNotes(run.conditions)];
}

/** Which runs others disturbed, by what they did. */
export function disturbedRuns(manifest: Manifest): { by: string; runs: Run[] }[] {
  const all = runsOf(manifest.micro_benchmarks);
  return (Object.keys(DISTURBED) as Disturbance[])
    .map((what) => ({
      by: disturbedWords([what]),
      runs: all.filter((run) => disturbances(run).includes(what)),
    }))
    .filter(({ runs }) => runs.length > 0);
}

/** How many runs know what they are to know, and what kept the others. */
function reached(manifest: Manifest): string {
  const runs = runsOf(manifest.micro_benchmarks).filter((run) => run.length != null);
  const ended = runs.filter(isShort);
  if (ended.length === 0) return `All ${count(runs.length)} runs reached it.`;
  const kept = (['ios', 'time', 'bytes'] as const).flatMap((by) => {
    const n = ended.filter((run) => run.length?.ended_by === by).length;
    const limits = { ios: 'IOs', time: 'time', bytes: 'bytes written' };
    return n === 0 ? [] : [`${count(n)} at the limit of ${limits[by]}`];
  });
  const widest = Math.max(...ended.map((run) => run.length?.relative_precision ?? 0));
  const least = widest > 0 ? `; the least known one within ${share(widest)}` : '';
  return `${count(runs.length - ended.length)} of ${count(runs.length)} runs reached it; the others ended ${listed(kept)}${least}.`;
}

/** How the state of the drive was come by. */
function stateNote(manifest: Manifest): Note {
  const resets = runsOf(manifest.micro_benchmarks).filter(
    (run) => run.reset && run.progress.status !== 'pending' && run.progress.status !== 'skipped',
  ).length;
  const first = `Before the first run: ${STATE_WORDS[manifest.options.state]}.`;
  if (resets === 0) return ['State', first];
  const times = resets === 1 ? 'once' : `${count(resets)} times`;
  return [
    'State',
    `${first} Enforced again ${times}, whenever sequential writes had passed over the whole target space.`,
  ];
}

function pauseNote({ options, findings }: Manifest): Note {
  const seen = findings?.interference ?? [];
  const last = seen.at(-1);
  if (!options.methodology?.finds_run_pause || last === undefined) {
    return ['Pauses', `${exactTime(options.run_pause_ns)} between runs.`];
  }
  const lingered =
    last.reads == null
      ? 'writes do not linger'
      : `writes linger in the ${count(last.reads.ios)} reads after them, for ${time(last.lasted_ns)}`;
  return [
    'Pauses',
    `${exactTime(last.run_pause_ns)} between runs, as found: ${lingered}${seen.length > 1 ? `; looked at ${count(seen.length)} times` : ''}.`,
  ];
}

function repeatNote(methodology: Methodology, repeats: RepeatFacts[]): Note {
  if (methodology.repeats <= 1) return ['Repeats', 'Each value was run once.'];
  const differing = repeats.filter(differs).length;
  const of = `of ${count(repeats.length)} values with repeats`;
  const compared =
    repeats.length === 0
      ? ''
      : differing === 0
        ? ` At none ${of} they differ by more than the IOs within them account for.`
        : ` At ${count(differing)} ${of} they differ by more than the IOs within them account for; longer runs would not change that.`;
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
      `${longTime(spent.time_ns)}${clock}, and ${bytes(spent.bytes)} written${of}; states and pauses are among it.`,
    ],
  ];
}

/** How a result was measured. */
export function methodNotes(manifest: Manifest, repeats: RepeatFacts[]): Note[] {
  const { methodology } = manifest.options;
  const notes: Note[] = [stateNote(manifest), pauseNote(manifest)];
  if (methodology !== undefined) {
    notes.push([
      'Length of runs',
      methodology.precision == null
        ? 'As given by IOCount.'
        : `Each until it had ${precisionWords(methodology.precision)}. ${reached(manifest)}`,
    ]);
    notes.push(repeatNote(methodology, repeats));
  }
  const resumed = manifest.resumed?.length ?? 0;
  if (resumed > 0) {
    notes.push([
      'Resumed',
      `${resumed === 1 ? 'Once' : `${count(resumed)} times`}, after it had been stopped or cut off.`,
    ]);
  }
  return [...notes, ...spentNote(manifest)];
}

/** The settings around a real drive. */
export function environmentNotes(e: Environment): Note[] {
  const { queue } = e;
  const row = (name: string, value: string | null | undefined): Note[] =>
    value == null || value === '' ? [] : [[name, value]];
  const exit = e.deepest_idle_state_exit_us;
  const leaving = exit == null ? '' : `, ${count(exit)} µs to leave`;
  const merges = ['merged', 'only simply merged', 'not merged'];
  return [
    ...row('Clock rate', e.governors.join(', ')),
    ...row(
      'Deepest sleep',
      e.deepest_idle_state == null ? null : `${e.deepest_idle_state}${leaving}`,
    ),
    ...row('Nodes of memory', e.numa_nodes == null ? null : count(e.numa_nodes)),
    ...row('Load before', e.load_average == null ? null : short(e.load_average)),
    ...row('Block device', queue?.drive),
    ...row('Scheduler', queue?.scheduler),
    ...row('Requests queued', queue?.requests == null ? null : count(queue.requests)),
    ...row(
      'Largest request',
      queue?.max_request_bytes == null ? null : bytes(queue.max_request_bytes),
    ),
    ...row('Requests are', queue?.no_merges == null ? null : merges[queue.no_merges]),
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
