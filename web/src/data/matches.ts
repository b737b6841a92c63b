// Searches the IOs in a page by expression. The answer has the form of a server's, from fewer IOs.
import { COLUMNS } from './columns.gen';
import { recorded, runsOf } from './model';
import type { QueryModule } from './query';
import type { Ios, Manifest, Matches, RunMatches } from './views.gen';

/** An IO with its run. */
interface Found {
  run: number;
  position: number;
  values: number[];
}

const LATENCY = COLUMNS.findIndex(({ name }) => name === 'latency_ns');
const latencyOf = ({ values }: Found) => values[LATENCY] ?? 0;

/** The IOs of a run that the page contains, each once, in the order of completion. */
function iosOf(run: number, parts: Ios[]): Found[] {
  const all = new Map<number, Found>();
  for (const part of parts.filter((one) => one.run === run)) {
    for (const i of part.latency_ns.keys()) {
      const position = part.from + i;
      all.set(position, { run, position, values: COLUMNS.map(({ name }) => part[name]?.[i] ?? 0) });
    }
  }
  return [...all.values()].sort((a, b) => a.position - b.position);
}

/** Searches the IOs that a page contains. */
export function search(
  query: QueryModule,
  where: string,
  limit: number,
  manifest: Manifest,
  parts: Ios[],
): Matches {
  const canonical = query.parse(where);
  const found: Found[] = [];
  const runs: RunMatches[] = [];
  let [read, excluded] = [0, 0];
  for (const benchmark of manifest.micro_benchmarks) {
    for (const experiment of benchmark.experiments) {
      query.name(benchmark.name, experiment.name);
      for (const { id, value, progress } of experiment.runs) {
        const ios = recorded(progress) ?? 0;
        if (ios === 0) continue;
        if (query.decided(id) === false) {
          excluded += ios;
          continue;
        }
        const known = iosOf(id, parts);
        const matching = known.filter((one) => query.matches(one));
        read += known.length;
        if (matching.length === 0) continue;
        found.push(...matching);
        runs.push({
          run: id,
          micro_benchmark: benchmark.name,
          experiment: experiment.name,
          value,
          ios,
          matched: matching.length,
          slowest_ns: Math.max(...matching.map(latencyOf)),
        });
      }
    }
  }
  const ios = runsOf(manifest.micro_benchmarks).reduce(
    (sum, run) => sum + (recorded(run.progress) ?? 0),
    0,
  );
  const slowest = found.sort((a, b) => latencyOf(b) - latencyOf(a)).slice(0, limit);
  const columns = Object.fromEntries(
    COLUMNS.map(({ name }, column) => [name, slowest.map(({ values }) => values[column] ?? 0)]),
  );
  return {
    query: canonical,
    ios,
    matched: found.length,
    excluded,
    unread: ios - excluded - read,
    runs,
    slowest: {
      run: slowest.map(({ run }) => run),
      position: slowest.map(({ position }) => position),
      ...columns,
    } as unknown as Matches['slowest'],
  };
}
