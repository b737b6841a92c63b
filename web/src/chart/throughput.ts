// Charts of IOs per second against the varied parameter.
import type uPlot from 'uplot';
import type { Model } from '../data/model';
import type { DepthCell, MicroBenchmark } from '../data/views.gen';
import { count, decimal, estimate, parameter, time } from '../format';
import { runHref } from '../route';
import { parameterAxis } from './axes';
import { isDashed, lineStyle } from './palette';
import { nearest, parameterAxisOf, positions } from './parameter';
import { type ExperimentViews, experimentKey, line } from './response';
import { axis, type ChartSpec, common, POINTER, type Tip } from './spec';

/** An experiment with its IOs per second by value. */
export interface ThroughputViews {
  name: string;
  /** The id of the measurement. */
  result: string;
  cells: Map<number, DepthCell>;
}

/** The rates of experiments that vary the IOs in flight, from the facts; empty if they do not. */
export function throughputOf(model: Model, experiments: ExperimentViews[]): ThroughputViews[] {
  const byRun = new Map(
    (model.facts.depths ?? []).flatMap(({ cells }) =>
      cells.flatMap((cell) => cell.runs.map((run) => [run, cell] as const)),
    ),
  );
  const all = experiments.map(({ name, values }) => {
    const cells = values.flatMap(({ value, views }) => {
      const cell = byRun.get(views[0]?.run.id ?? -1);
      return cell === undefined ? [] : [[value, cell] as const];
    });
    return { name, result: model.id, cells: new Map(cells) };
  });
  const varies = ({ cells }: ThroughputViews) =>
    new Set([...cells.values()].map((cell) => cell.queue_depth)).size > 1;
  return all.filter(varies);
}

const iops = (value: number) => count(Math.round(value));

/** Creates the chart of IOs per second against the parameter, with intervals. */
export function throughputChart(
  benchmark: MicroBenchmark,
  experiments: ThroughputViews[],
): ChartSpec {
  const values = parameterAxis(experiments.flatMap(({ cells }) => [...cells.keys()]));
  const places = positions(values);
  const drawn = experiments.toSorted((a, b) => Number(isDashed(a.name)) - Number(isDashed(b.name)));
  const columns = drawn.map(({ cells }) =>
    places.map(({ value }) =>
      value === undefined ? null : (cells.get(value)?.iops.value ?? undefined),
    ),
  );
  const all = experiments.flatMap(({ cells }) => [...cells.values()]);
  const most = Math.max(...all.map(({ iops }) => iops.high ?? iops.value), 1);
  const tip = (u: uPlot, left: number): Tip | null => {
    const value = nearest(values, u.posToVal(left, 'x'));
    const here = experiments.flatMap(({ name, cells }) => {
      const cell = cells.get(value);
      return cell === undefined ? [] : [{ name, cell }];
    });
    const run = here[0]?.cell.runs[0];
    return {
      left: u.valToPos(values.at(value), 'x'),
      top: 8,
      title: `${benchmark.parameter} ${parameter(value, benchmark.unit)}`,
      rows: here.flatMap(({ name, cell }): [string, string][] => [
        [name, `${estimate(cell.iops, iops)} IOPS at ${time(cell.mean_latency_ns.value)}`],
      ]),
      ...(experiments.length === 1 && run !== undefined
        ? { href: runHref(experiments[0]?.result ?? '', run) }
        : {}),
    };
  };
  const first = (cells: Map<number, DepthCell>) => [...cells][0];
  const last = (cells: Map<number, DepthCell>) => [...cells].at(-1);
  const words = (at: [number, DepthCell] | undefined) =>
    at === undefined ? 'no runs' : `${iops(at[1].iops.value)} at ${at[0]}`;
  return {
    title: `${benchmark.title}: IOs per second against ${benchmark.parameter}`,
    keys: (colors) => experiments.map(({ name }) => experimentKey(colors, name)),
    label: `IOs per second against ${benchmark.parameter}. ${experiments
      .map(({ name, cells }) => `${name}: from ${words(first(cells))} to ${words(last(cells))}.`)
      .join(' ')}`,
    data: [places.map((p) => p.at), ...columns] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, y: false },
      scales: {
        x: { time: false, range: () => [values.min, values.max] },
        y: { range: () => [0, 1.05 * most] },
      },
      axes: [
        parameterAxisOf(colors, benchmark, values),
        {
          ...axis(colors),
          scale: 'y',
          size: 62,
          values: (_u, splits) => splits.map((rate) => decimal(rate)),
        },
      ],
      series: [
        {},
        ...drawn.flatMap(({ name }) => {
          const { second: _, ...style } = lineStyle(colors, name);
          return line(style, 2, colors.surface);
        }),
      ],
      hooks: {
        draw: drawn.map(
          ({ name, cells }) =>
            (u: uPlot) =>
              intervals(u, [...cells], values, lineStyle(colors, name).color),
        ),
      },
    }),
    tip,
  };
}

/** Draws the 95 % intervals of rates. */
function intervals(
  u: uPlot,
  cells: [number, DepthCell][],
  values: ReturnType<typeof parameterAxis>,
  color: string,
): void {
  const { ctx } = u;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.25 * devicePixelRatio;
  ctx.beginPath();
  for (const [value, { iops }] of cells) {
    if (iops.low == null || iops.high == null) continue;
    const x = u.valToPos(values.at(value), 'x', true);
    ctx.moveTo(x, u.valToPos(iops.low, 'y', true));
    ctx.lineTo(x, u.valToPos(iops.high, 'y', true));
  }
  ctx.stroke();
  ctx.restore();
}
