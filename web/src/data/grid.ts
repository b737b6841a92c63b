// The summary grid: the nine micro-benchmarks by baseline or mix, each cell an experiment.
import type { Model } from './model';
import type { Estimate, Interest, Mark } from './views.gen';

/** What a cell says; `unjudged` where facts are of a version that did not judge. */
export type CellState = Interest | 'unjudged';

/** An experiment in the grid. */
export interface GridCell {
  benchmark: string;
  /** The title of its micro-benchmark. */
  title: string;
  experiment: string;
  /** What is shown: the verdict of the rule, unless a person corrected it. */
  state: CellState;
  /** What the rule says. */
  rule: CellState;
  /** Why the rule says so. */
  reason: string;
  /** The dearest over the cheapest. */
  effect: Estimate | undefined;
  /** What a person thinks of it. */
  mark: Mark | undefined;
  /** Whether the result has such an experiment, so that there is something to open. */
  present: boolean;
}

/** A micro-benchmark in the grid. */
export interface GridRow {
  name: string;
  title: string;
  cells: GridCell[];
}

const BASELINES = ['SR', 'RR', 'SW', 'RW'];
const SEQUENTIAL = ['SR', 'SW'];
const MIXES = ['SR/RR', 'SR/RW', 'SR/SW', 'RR/SW', 'RR/RW', 'SW/RW'];

/** uFLIP's nine micro-benchmarks with their experiments, in the paper's order. */
const NINE: readonly [name: string, experiments: string[]][] = [
  ['granularity', BASELINES],
  ['alignment', BASELINES],
  ['locality', BASELINES],
  ['partitioning', SEQUENTIAL],
  ['order', SEQUENTIAL],
  ['parallelism', BASELINES],
  ['mix', MIXES],
  ['pause', BASELINES],
  ['bursts', BASELINES],
];

/** Where a micro-benchmark stands among others: the preparation, the nine in their order, any other. */
export function rankOf(benchmark: string): number {
  if (benchmark === 'preparation') return -1;
  const rank = NINE.findIndex(([name]) => name === benchmark);
  return rank < 0 ? NINE.length : rank;
}

/** Whether any of the nine micro-benchmarks is in a result, so that there is a grid to show. */
export function hasGrid(model: Model): boolean {
  return NINE.some(([name]) => model.benchmark(name) !== undefined);
}

/** The grid of a result. */
export function gridOf(model: Model): GridRow[] {
  return NINE.map(([name, experiments]) => {
    const title = model.benchmark(name)?.title ?? name.charAt(0).toUpperCase() + name.slice(1);
    return { name, title, cells: experiments.map((e) => cellOf(model, name, title, e)) };
  });
}

/** An experiment as the grid has it, whether it is one of the nine or not. */
export function cellOf(
  model: Model,
  benchmark: string,
  title: string,
  experiment: string,
): GridCell {
  const found = model.experiment(benchmark, experiment);
  const verdict = model.verdict(benchmark, experiment);
  const mark = model.mark(benchmark, experiment);
  const performed = found?.runs.some(({ progress }) => progress.status === 'done') ?? false;
  const rule = verdict?.interest ?? (performed ? 'unjudged' : 'not_performed');
  const marked = mark?.interesting ? 'interesting' : 'not_interesting';
  return {
    benchmark,
    title,
    experiment,
    state: mark === undefined ? rule : marked,
    rule,
    reason: verdict?.reason ?? (performed ? UNJUDGED : NOT_PERFORMED),
    effect: verdict?.effect ?? undefined,
    mark,
    present: found !== undefined,
  };
}

const UNJUDGED = 'The facts of this result were found by a version that did not judge experiments.';
const NOT_PERFORMED = 'None of its runs was run to its end.';
