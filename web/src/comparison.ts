// Comparisons of results: their names, the micro-benchmarks that they share, and the format of ratios.

import type { Link, Place, Tab } from './current-place.svelte';
import { rankOf } from './data/grid';
import type { Model } from './data/model';
import type { ComparedNumber, Comparison, Experiment, MicroBenchmark } from './data/views.gen';
import { counted, interval, MISSING, ratio } from './format';
import { type CompareLevel, type CompareRoute, compareHref, shelfHref } from './route';

/** The letter of the n-th result, from A on. */
export const letter = (n: number): string => String.fromCharCode(65 + n);

/** The names of drives in a comparison; drives with the same name also have the name of their result. */
export function namesOf(models: Model[]): string[] {
  return models.map(({ drive, name }) =>
    models.filter((other) => other.drive === drive).length > 1 ? `${drive}, ${name}` : drive,
  );
}

/** The numeric columns of Table 3: their names, and true for times. */
export const CHARACTERISTICS: Record<string, { words: string; time: boolean }> = {
  sequential_read_ns: { words: 'sequential reads (SR)', time: true },
  random_read_ns: { words: 'random reads (RR)', time: true },
  sequential_write_ns: { words: 'sequential writes (SW)', time: true },
  random_write_ns: { words: 'random writes (RW)', time: true },
  reverse: { words: 'reverse order, relative to SW', time: false },
  in_place: { words: 'in place, relative to SW', time: false },
  large_increments: { words: 'large increments, relative to RW', time: false },
};

/** A ratio with as many decimals as it needs to differ from 1: `×1.04`, `×0.998`. */
function times(value: number): string {
  if (value < 0.1 || value >= 10) return ratio(value);
  const digits = [2, 3, 4].find((n) => Number(value.toFixed(n)) !== 1);
  return digits === undefined ? '×1' : `×${value.toFixed(digits)}`;
}

/** The ratio of a number to that of the first result, with `≠` if they differ significantly. */
export function comparedRatio({ ratio: to, differs }: ComparedNumber): string {
  if (to == null) return MISSING;
  return `${differs ? '≠ ' : ''}${times(to.value)}`;
}

/** The 95 % interval of the ratio to the first result. */
export function comparedInterval({ ratio: to }: ComparedNumber): string {
  return interval(to?.low, to?.high, times);
}

/** True if a comparison has ratios to the first result. */
export function hasRatios({
  experiments,
  characteristics,
}: Pick<Comparison, 'experiments' | 'characteristics'>): boolean {
  const results = [...experiments.flatMap(({ values }) => values), ...characteristics];
  return results.some((value) => value.results.some(({ ratio: to }) => to != null));
}

/** A micro-benchmark, from the first result that has it. */
export function benchmarkIn(models: Model[], name: string): MicroBenchmark | undefined {
  for (const model of models) {
    const benchmark = model.benchmark(name);
    if (benchmark !== undefined) return benchmark;
  }
  return undefined;
}

/** The micro-benchmarks that any of the results has: the preparation, uFLIP's nine in its order, then others. */
export function benchmarksIn(models: Model[]): MicroBenchmark[] {
  const names = new Set(models.flatMap(({ benchmarks }) => benchmarks.map(({ name }) => name)));
  const ordered = [...names].toSorted((a, b) => rankOf(a) - rankOf(b));
  return ordered.flatMap((name) => benchmarkIn(models, name) ?? []);
}

/** The names of a micro-benchmark's experiments that any of the results has. */
export function experimentsIn(models: Model[], benchmark: string): string[] {
  const names = models.flatMap((model) =>
    (model.benchmark(benchmark)?.experiments ?? []).map(({ name }) => name),
  );
  return [...new Set(names)];
}

/** The experiment in each of the results; undefined in a result that lacks it. */
export function experimentIn(
  models: Model[],
  benchmark: string,
  experiment: string,
): (Experiment | undefined)[] {
  return models.map((model) => model.experiment(benchmark, experiment));
}

/** The title, breadcrumbs and tabs of a comparison's screen. */
export function comparisonPlace(models: Model[], route: CompareRoute): Place {
  const { ids } = route;
  const all = `Compare ${counted(models.length, 'drive')}`;
  const crumbs: Link[] = [
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
