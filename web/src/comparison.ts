// Results side by side: what they have in common, and how what differs is written.
import { rankOf } from './data/grid';
import type { Model } from './data/model';
import type { Compared, Comparison, Experiment, MicroBenchmark } from './data/views.gen';
import { count, interval, MISSING, ratio } from './format';
import { type CompareLevel, type CompareRoute, compareHref, shelfHref } from './route';
import type { Place, Tab, Way } from './where.svelte';

/** What the n-th result is called for short, from A on. */
export const letter = (n: number): string => String.fromCharCode(65 + n);

/** What drives are called beside each other: by the names of their results too where they are alike. */
export function namesOf(models: Model[]): string[] {
  return models.map(({ drive, name }) =>
    models.filter((other) => other.drive === drive).length > 1 ? `${drive}, ${name}` : drive,
  );
}

/** The numeric columns of Table 3: what they are called, and whether they are times. */
export const CHARACTERISTICS: Record<string, { words: string; time: boolean }> = {
  sequential_read_ns: { words: 'sequential reads (SR)', time: true },
  random_read_ns: { words: 'random reads (RR)', time: true },
  sequential_write_ns: { words: 'sequential writes (SW)', time: true },
  random_write_ns: { words: 'random writes (RW)', time: true },
  reverse: { words: 'reverse order, to SW', time: false },
  in_place: { words: 'in place, to SW', time: false },
  large_increments: { words: 'large increments, to RW', time: false },
};

/** How many times another a number is, so that what is not 1 does not read as 1: `×1.04`, `×0.998`. */
function times(value: number): string {
  if (value < 0.1 || value >= 10) return ratio(value);
  const digits = [2, 3, 4].find((n) => Number(value.toFixed(n)) !== 1);
  return digits === undefined ? '×1' : `×${value.toFixed(digits)}`;
}

/** How a number relates to that of the first result, with a sign where they differ. */
export function comparedRatio({ ratio: to, differs }: Compared): string {
  if (to == null) return MISSING;
  return `${differs ? '≠ ' : ''}${times(to.value)}`;
}

/** The interval of that. */
export function comparedInterval({ ratio: to }: Compared): string {
  return interval(to?.low, to?.high, times);
}

/** Whether a comparison says how the others relate to the first. */
export function hasRatios({ experiments, characteristics }: Comparison): boolean {
  const results = [...experiments.flatMap(({ values }) => values), ...characteristics];
  return results.some((value) => value.results.some(({ ratio: to }) => to != null));
}

/** The micro-benchmark in the first result that has it. */
export function benchmarkIn(models: Model[], name: string): MicroBenchmark | undefined {
  for (const model of models) {
    const found = model.benchmark(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The micro-benchmarks that any of the results has, those of uFLIP in its order, whichever comes first. */
export function benchmarksIn(models: Model[]): MicroBenchmark[] {
  const names = new Set(models.flatMap(({ benchmarks }) => benchmarks.map(({ name }) => name)));
  const ordered = [...names].toSorted((a, b) => rankOf(a) - rankOf(b));
  return ordered.flatMap((name) => benchmarkIn(models, name) ?? []);
}

/** The names of the experiments that any of the results has of a micro-benchmark. */
export function experimentsIn(models: Model[], benchmark: string): string[] {
  const names = models.flatMap((model) =>
    (model.benchmark(benchmark)?.experiments ?? []).map(({ name }) => name),
  );
  return [...new Set(names)];
}

/** The experiment in each of the results. */
export function experimentIn(
  models: Model[],
  benchmark: string,
  experiment: string,
): (Experiment | undefined)[] {
  return models.map((model) => model.experiment(benchmark, experiment));
}

/** Where a screen of several results is. */
export function comparisonPlace(models: Model[], route: CompareRoute): Place {
  const { ids } = route;
  const all = `Compare ${count(models.length)} drives`;
  const crumbs: Way[] = [
    { name: 'Shelf', href: shelfHref() },
    { name: all, href: compareHref(ids) },
  ];
  const to = (at: CompareLevel) => compareHref(ids, at);
  if (route.level !== 'summary') {
    const { name } = route;
    const title = benchmarkIn(models, name)?.title ?? name;
    crumbs.push({ name: title, href: to({ level: 'benchmark', name }) });
    if (route.level !== 'benchmark') {
      const { experiment } = route;
      crumbs.push({ name: experiment, href: to({ level: 'experiment', name, experiment }) });
    }
    if (route.level === 'colours') crumbs.push({ name: 'Colours', href: to(route) });
    if (route.level === 'run') crumbs.push({ name: 'Runs', href: to(route) });
  }
  const current = route.level === 'summary' ? undefined : route.name;
  const tab = ({ name, title }: MicroBenchmark): Tab => ({
    name: title,
    href: to({ level: 'benchmark', name }),
    current: current === name ? (route.level === 'benchmark' ? 'page' : 'true') : undefined,
  });
  const summary: Tab = {
    name: 'Summary',
    href: compareHref(ids),
    current: current === undefined ? 'page' : undefined,
  };
  const tabs = { name: 'Micro-benchmarks', all: [summary, ...benchmarksIn(models).map(tab)] };
  const title = crumbs
    .slice(1)
    .toReversed()
    .map(({ name }) => name)
    .join(' · ');
  return { title, crumbs, tabs };
}
