// The summary grid: uFLIP's nine micro-benchmarks by baseline or mix. Each cell is an experiment.
import { capitalized } from '../format';
import type { Model } from './model';
import type { Estimate, Interest, Mark } from './views.gen';

/**
 * The state of a cell; `unjudged` if the version of flashscope that derived the facts did not judge
 * experiments.
 */
export type CellState = Interest | 'unjudged';

/** An experiment in the grid. */
export interface GridCell {
  benchmark: string;
  /** The title of its micro-benchmark. */
  title: string;
  experiment: string;
  /** The state to show: the verdict of the rule, or the user's edit. */
  state: CellState;
  /** The verdict of the rule. */
  rule: CellState;
  /** The reason for the verdict. */
  reason: string;
  /** The effect size: the mean at the most expensive value, divided by the mean at the cheapest. */
  effect: Estimate | undefined;
  /** The user's edit of the verdict. */
  mark: Mark | undefined;
  /** True if the result has this experiment. */
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

/** The rank of a micro-benchmark in lists: the preparation, uFLIP's nine in their order, then others. */
export function rankOf(benchmark: string): number {
  if (benchmark === 'preparation') return -1;
  const rank = NINE.findIndex(([name]) => name === benchmark);
  return rank < 0 ? NINE.length : rank;
}

/** True if a result has any of uFLIP's nine micro-benchmarks, and hence a grid. */
export function hasGrid(model: Model): boolean {
  return NINE.some(([name]) => model.benchmark(name) !== undefined);
}

/** The grid of a result. */
export function gridOf(model: Model): GridRow[] {
  return NINE.map(([name, experiments]) => {
    const title = model.benchmark(name)?.title ?? capitalized(name);
    return { name, title, cells: experiments.map((e) => cellOf(model, name, title, e)) };
  });
}

/** The cell of an experiment; its micro-benchmark need not be one of uFLIP's nine. */
export function cellOf(
  model: Model,
  benchmark: string,
  title: string,
  experiment: string,
): GridCell {
  const own = model.experiment(benchmark, experiment);
  const verdict = model.verdict(benchmark, experiment);
  const mark = model.mark(benchmark, experiment);
  const performed = own?.runs.some(({ progress }) => progress.status === 'done') ?? false;
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
    present: own !== undefined,
  };
}

/** The reason why a result has no verdicts. */
export const UNJUDGED = 'An older version of flashscope analysed this result; it gave no verdicts.';
const NOT_PERFORMED = 'No run of this experiment is complete.';
