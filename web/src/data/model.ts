// A measurement, indexed for the screens. The index has only numbers that the program computed.
import type {
  BaselinePhases,
  Estimate,
  Experiment,
  Facts,
  Hint,
  Interference,
  Manifest,
  Mark,
  Marks,
  Measurement,
  Methodology,
  MicroBenchmark,
  Pattern,
  Progress,
  Reference,
  RepeatFacts,
  Run,
  RunFacts,
  Verdict,
} from './views.gen';

/** A run with its experiment, its facts and its neighbours. */
export interface RunView {
  /** The id of the measurement. */
  result: string;
  run: Run;
  experiment: Experiment;
  benchmark: MicroBenchmark;
  /** The methodology; absent from results of older versions. */
  methodology: Methodology | undefined;
  facts: RunFacts | undefined;
  /** All runs at the same parameter value, including this run. */
  repeats: Run[];
  /** The facts of all repeats together, if there are several. */
  together: RepeatFacts | undefined;
  /** The run at the previous value: of the same repeat, or else the first. */
  previous: Run | undefined;
  /** The run at the next value: of the same repeat, or else the first. */
  next: Run | undefined;
  /** The phases that a run of the preparation showed. */
  phases: BaselinePhases | undefined;
  interference: Interference | undefined;
}

/** A value of the parameter of an experiment, with all its runs. */
export interface ValueView {
  value: number;
  /** The runs by repeat; never empty. */
  views: RunView[];
  /** The facts of all repeats together, if there are several. */
  together: RepeatFacts | undefined;
  /** The mean response time in ns: over the repeats, or of the one run. */
  mean: Estimate | undefined;
}

/** A measurement, indexed. */
export interface Model {
  id: string;
  /** The name of its folder. */
  name: string;
  /** The model or the name of its drive. */
  drive: string;
  manifest: Manifest;
  facts: Facts;
  marks: Marks;
  benchmarks: MicroBenchmark[];
  benchmark(name: string): MicroBenchmark | undefined;
  run(id: number): RunView | undefined;
  views(experiment: Experiment): RunView[];
  values(experiment: Experiment): ValueView[];
  experiment(benchmark: string, experiment: string): Experiment | undefined;
  verdict(benchmark: string, experiment: string): Verdict | undefined;
  mark(benchmark: string, experiment: string): Mark | undefined;
  hints: Hint[];
}

/** The number of a run among the repeats of its value, from 1. */
export const repeatOf = (run: Run): number => run.repeat ?? 1;

/** The runs of each value, in the order of the plan. */
export function byValue(runs: Run[]): Run[][] {
  const values = new Map<number, Run[]>();
  for (const run of runs) values.set(run.value, [...(values.get(run.value) ?? []), run]);
  return [...values.values()];
}

/** Indexes a measurement. */
export function indexMeasurement(measurement: Measurement): Model {
  const { id: result, name, manifest, facts, marks } = measurement;
  const runFacts = new Map(facts.runs.map((f) => [f.run, f]));
  const together = new Map((facts.repeats ?? []).flatMap((f) => f.runs.map((id) => [id, f])));
  const phases = new Map((manifest.findings?.phases ?? []).map((f) => [f.run, f]));
  const lingering = new Map((manifest.findings?.interference ?? []).map((f) => [f.run, f]));
  const views = new Map<number, RunView>();
  for (const benchmark of manifest.micro_benchmarks) {
    for (const experiment of benchmark.experiments) {
      const values = byValue(experiment.runs);
      for (const [i, repeats] of values.entries()) {
        for (const run of repeats) {
          const same = (beside: Run[] | undefined) =>
            beside?.find((other) => repeatOf(other) === repeatOf(run)) ?? beside?.[0];
          views.set(run.id, {
            result,
            run,
            experiment,
            benchmark,
            methodology: manifest.options.methodology,
            facts: runFacts.get(run.id),
            repeats,
            together: together.get(run.id),
            previous: same(values[i - 1]),
            next: same(values[i + 1]),
            phases: phases.get(run.id),
            interference: lingering.get(run.id),
          });
        }
      }
    }
  }
  const viewsOf = (runs: Run[]) => runs.flatMap((run) => views.get(run.id) ?? []);
  const benchmarks = manifest.micro_benchmarks;
  const benchmark = (name: string) => benchmarks.find((b) => b.name === name);
  const of = <T extends { micro_benchmark: string; experiment: string }>(list: T[]) =>
    new Map(list.map((item) => [`${item.micro_benchmark} ${item.experiment}`, item]));
  const [verdicts, corrections] = [of(facts.grid ?? []), of(marks.experiments)];
  return {
    id: result,
    name,
    drive: manifest.device.model ?? manifest.device.name,
    manifest,
    facts,
    marks,
    benchmarks,
    benchmark,
    experiment: (of, name) => benchmark(of)?.experiments.find((e) => e.name === name),
    verdict: (of, experiment) => verdicts.get(`${of} ${experiment}`),
    mark: (of, experiment) => corrections.get(`${of} ${experiment}`),
    hints: facts.hints ?? [],
    run: (id) => views.get(id),
    views: (experiment) => viewsOf(experiment.runs),
    values: (experiment) =>
      byValue(experiment.runs).map((runs) => valueView(runs[0]?.value ?? 0, viewsOf(runs))),
  };
}

function valueView(value: number, views: RunView[]): ValueView {
  const together = views.find((view) => view.together !== undefined)?.together;
  const one = views.find((view) => view.facts !== undefined)?.facts;
  return { value, views, together, mean: together?.mean_ns ?? one?.latency_ns.mean };
}

/** True if no experiment varies its parameter: screens then show IOs instead of means. */
export function isSingleValues(benchmark: MicroBenchmark): boolean {
  return benchmark.experiments.every((e) => new Set(e.runs.map((run) => run.value)).size <= 1);
}

/** True if the plan repeats any value of a micro-benchmark. */
export function isRepeated(benchmark: MicroBenchmark): boolean {
  return benchmark.experiments.some((e) => e.runs.some((run) => repeatOf(run) > 1));
}

/** The patterns of a reference. */
export function patternsOf(reference: Reference): Pattern[] {
  switch (reference.kind) {
    case 'basic':
    case 'parallel':
    case 'blend':
      return [reference.pattern];
    case 'mixed':
      return [reference.first, reference.second];
    case 'sequence':
      return reference.patterns;
    case 'uniform':
    case 'jobs':
    case 'trace':
      return [];
  }
}

/** The number of IOs at the start of a run that its statistics exclude. */
export function ioIgnore(reference: Reference): number {
  switch (reference.kind) {
    case 'basic':
    case 'parallel':
    case 'blend':
      return reference.pattern.io_ignore;
    case 'mixed':
      return reference.second.io_ignore * (reference.ratio + 1);
    case 'sequence':
      return reference.patterns[0]?.io_ignore ?? 0;
    case 'uniform':
      return reference.writes.io_ignore;
    case 'jobs':
      return reference.io_ignore;
    case 'trace':
      return 0;
  }
}

/** A range of positions in a run whose IOs differ from the run's other IOs. */
export interface Region {
  kind: 'start-up' | 'affected';
  name: string;
  from: number;
  /** The position after the last. */
  to: number;
}

/** The regions of a run: its start-up, and the reads that earlier writes slowed. */
export function regionsOf({ run, phases, interference }: RunView): Region[] {
  const regions: Region[] = [];
  const [ignored, startUp] = [ioIgnore(run.reference), phases?.start_up?.ios ?? 0];
  if (ignored > 0) regions.push({ kind: 'start-up', name: 'excluded', from: 0, to: ignored });
  else if (startUp > 0) regions.push({ kind: 'start-up', name: 'start-up', from: 0, to: startUp });
  if (interference?.reads != null && run.reference.kind === 'sequence') {
    const [before, writes] = run.reference.patterns;
    const from = (before?.io_count ?? 0) + (writes?.io_count ?? 0);
    const to = from + interference.reads.ios;
    regions.push({ kind: 'affected', name: 'affected reads', from, to });
  }
  return regions;
}

/** The period of a run's response times in IOs, if they oscillate. */
export function periodOf({ run, phases }: RunView): number | undefined {
  const period = phases?.period?.ios ?? run.length?.period_ios ?? 1;
  return period > 1 ? period : undefined;
}

/** The number of IOs that a run recorded; undefined if it did not start. */
export function recorded(progress: Progress): number | undefined {
  return 'ios' in progress ? progress.ios : undefined;
}

/** All runs of some micro-benchmarks. */
export function runsOf(benchmarks: MicroBenchmark[]): Run[] {
  return benchmarks.flatMap((b) => b.experiments).flatMap((e) => e.runs);
}

/** The number of runs by status. */
export function tally(benchmarks: MicroBenchmark[]): Record<Progress['status'], number> {
  const counts = { done: 0, failed: 0, interrupted: 0, skipped: 0, pending: 0 };
  for (const run of runsOf(benchmarks)) counts[run.progress.status] += 1;
  return counts;
}
