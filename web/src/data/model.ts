// The report as the pages ask for it: who belongs to whom. Nothing is computed.
import type {
  Experiment,
  MicroBenchmark,
  Outline,
  Pattern,
  Progress,
  Reference,
  Report,
  Run,
  RunFacts,
} from './report.gen';

/** A run with everything that is known of it. */
export interface RunView {
  run: Run;
  experiment: Experiment;
  benchmark: MicroBenchmark;
  facts: RunFacts | undefined;
  outline: Outline | undefined;
  /** Its neighbours in the experiment. */
  previous: Run | undefined;
  next: Run | undefined;
}

/** A report, indexed. */
export interface Model {
  report: Report;
  benchmarks: MicroBenchmark[];
  benchmark(name: string): MicroBenchmark | undefined;
  run(id: number): RunView | undefined;
  views(experiment: Experiment): RunView[];
}

/** Indexes a report. */
export function indexReport(report: Report): Model {
  const facts = new Map(report.facts.runs.map((f) => [f.run, f]));
  const outlines = new Map(report.outlines.map((o) => [o.run, o]));
  const views = new Map<number, RunView>();
  for (const benchmark of report.manifest.micro_benchmarks) {
    for (const experiment of benchmark.experiments) {
      for (const [i, run] of experiment.runs.entries()) {
        views.set(run.id, {
          run,
          experiment,
          benchmark,
          facts: facts.get(run.id),
          outline: outlines.get(run.id),
          previous: experiment.runs[i - 1],
          next: experiment.runs[i + 1],
        });
      }
    }
  }
  const benchmarks = report.manifest.micro_benchmarks;
  return {
    report,
    benchmarks,
    benchmark: (name) => benchmarks.find((b) => b.name === name),
    run: (id) => views.get(id),
    views: (experiment) => experiment.runs.flatMap((run) => views.get(run.id) ?? []),
  };
}

/** Whether every experiment has one run only, so that the IOs themselves are what there is to see. */
export function isSingleRuns(benchmark: MicroBenchmark): boolean {
  return benchmark.experiments.every((e) => e.runs.length <= 1);
}

/** The patterns that a reference is composed of. */
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
    case 'trace':
      return [];
  }
}

/** How many IOs at the start of a run are left out of its statistics. */
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
    case 'trace':
      return 0;
  }
}

/** IOs recorded. */
export function recorded(progress: Progress): number | undefined {
  return 'ios' in progress ? progress.ios : undefined;
}

/** How many runs came how far. */
export function tally(benchmarks: MicroBenchmark[]): Record<Progress['status'], number> {
  const counts = { done: 0, failed: 0, interrupted: 0, skipped: 0, pending: 0 };
  for (const run of benchmarks.flatMap((b) => b.experiments).flatMap((e) => e.runs)) {
    counts[run.progress.status] += 1;
  }
  return counts;
}
