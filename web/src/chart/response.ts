// Charts of response times against the varied parameter: one experiment in full, or the means of several.
import type uPlot from 'uplot';
import { type RunView, repeatOf, type ValueView } from '../data/model';
import type { MicroBenchmark } from '../data/views.gen';
import { count, counted, interval, parameter, throughput, time } from '../format';
import { differs, remarks } from '../methodology';
import { runHref } from '../route';
import { experimentWords, progressWords } from '../words';
import { type ParameterAxis, parameterAxis } from './axes';
import { boxes, leastGap } from './boxes';
import { fade, isDashed, type LineStyle, lineStyle, type Palette } from './palette';
import { nearest, parameterAxisOf, positions, type Span, scales } from './parameter';
import { type ChartSpec, common, cross, type Key, POINTER, type Tip, timeAxis } from './spec';

/** An experiment with its runs, by value. */
export interface ExperimentViews {
  name: string;
  values: ValueView[];
}

/** All runs of some experiments. */
export const runViews = (experiments: ExperimentViews[]): RunView[] =>
  experiments.flatMap((e) => e.values).flatMap((v) => v.views);

/** True if any run has facts to draw. */
export function isMeasured(experiments: ExperimentViews[]): boolean {
  return runViews(experiments).some((view) => view.facts !== undefined);
}

type Column = (number | null | undefined)[];

/**
 * A uPlot column. Null (no facts, or a break of the axis) breaks the line; undefined (no such
 * value) does not.
 */
function column(
  places: { value: number | undefined }[],
  values: ValueView[],
  pick: (view: ValueView) => number | undefined,
): Column {
  const byValue = new Map(values.map((view) => [view.value, view]));
  return places.map(({ value }) => {
    if (value === undefined) return null;
    const view = byValue.get(value);
    return view === undefined ? undefined : (pick(view) ?? null);
  });
}

/** The latencies of the runs of a value. */
const latencies = (view: ValueView) => view.views.flatMap(({ facts }) => facts?.latency_ns ?? []);

/** A time that a log scale can show: at least 1 ns. */
const positive = (ns: number | undefined) =>
  ns === undefined || !Number.isFinite(ns) ? undefined : Math.max(1, ns);
const mean = (view: ValueView) => positive(view.mean?.value);
const least = (view: ValueView) => positive(Math.min(...latencies(view).map(({ min }) => min)));
const most = (view: ValueView) =>
  positive(Math.max(...latencies(view).map(({ max }) => max), Number.NEGATIVE_INFINITY));

/** The uPlot series of a line. The points of a dashed line are smaller, and leave points below them visible. */
export function line(style: LineStyle, width: number, surface: string): uPlot.Series[] {
  const size = width * 2 + (style.dash ? 1 : 3);
  const point = { show: true, size, width: 1.5, fill: surface };
  const first: uPlot.Series = {
    stroke: style.color,
    width,
    points: {
      ...point,
      stroke: style.color,
      fill: style.second ?? (style.dash ? surface : style.color),
    },
    ...(style.dash ? { dash: style.dash } : {}),
  };
  if (style.second === undefined) return [first];
  return [
    { ...first, points: { show: false } },
    {
      stroke: style.second,
      width,
      dash: [7, 7],
      points: { ...point, stroke: style.color, fill: style.second },
    },
  ];
}

/** Creates the chart of several experiments' means. A small chart has no tips: its card is a link. */
export function comparison(
  benchmark: MicroBenchmark,
  experiments: ExperimentViews[],
  span: Span,
  small: boolean,
): ChartSpec {
  const values = parameterAxis(experiments.flatMap((e) => e.values.map((v) => v.value)));
  const places = positions(values);
  // Dashed lines are on top: a solid line shows through the gaps of a dashed one, but not the reverse.
  const drawn = experiments.toSorted((a, b) => Number(isDashed(a.name)) - Number(isDashed(b.name)));
  const columns = drawn.map((e) => column(places, e.values, mean));
  const twice = drawn.map((e) => e.name.includes('/'));
  const tip = (u: uPlot, left: number): Tip | null => {
    const value = nearest(values, u.posToVal(left, 'x'));
    const rows = experiments.flatMap((e): [string, string][] => {
      const view = e.values.find((v) => v.value === value);
      return view === undefined ? [] : [[e.name, meanOrProgress(view)]];
    });
    return {
      left: u.valToPos(values.at(value), 'x'),
      top: 8,
      title: `${benchmark.parameter} ${parameter(value, benchmark.unit)}`,
      rows,
    };
  };
  return {
    title: `${benchmark.title}: mean response time against ${benchmark.parameter}`,
    keys: (colors) => experiments.map(({ name }) => experimentKey(colors, name)),
    label: `Mean response time against ${benchmark.parameter}. ${experiments.map((e) => summary(e, benchmark)).join(' ')}`,
    data: [
      places.map((p) => p.at),
      ...columns.flatMap((c, i) => (twice[i] ? [c, c] : [c])),
    ] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { show: !small, ...POINTER, y: false },
      scales: scales(values, span),
      axes: [parameterAxisOf(colors, benchmark, values), timeAxis(colors)],
      series: [
        {},
        ...drawn.flatMap((e) => line(lineStyle(colors, e.name), small ? 1.5 : 2, colors.surface)),
      ],
      hooks: {
        draw: [(u) => marks(u, colors, values, runViews(experiments))],
      },
    }),
    ...(small ? {} : { tip }),
  };
}

/**
 * Creates the chart of one experiment: its means with their intervals, and a band from its fastest to its
 * slowest IO. If `boxed`, it has a box plot of each run.
 */
export function experimentChart(
  benchmark: MicroBenchmark,
  experiment: ExperimentViews,
  span: Span,
  boxed = false,
): ChartSpec {
  const views = experiment.values;
  const values = parameterAxis(views.map((v) => v.value));
  const places = positions(values);
  const columns = [least, most, mean].map((pick) => column(places, views, pick));
  const isMix = experiment.name.includes('/');
  return {
    title: `${benchmark.title} ${experiment.name}: response time against ${benchmark.parameter}`,
    keys: (colors) => {
      const mean = experimentKey(colors, experiment.name);
      return [
        { ...mean, name: `mean of ${experiment.name}, with its 95 % interval` },
        { name: 'fastest to slowest IO', color: fade(mean.second ?? mean.color, 0.16) },
        ...(boxed
          ? [{ name: 'median to p99 of a run', color: fade(mean.second ?? mean.color, 0.34) }]
          : []),
      ];
    },
    label: `Response time of ${experiment.name} against ${benchmark.parameter}: mean, minimum and maximum. ${summary(experiment, benchmark)}`,
    data: [
      places.map((p) => p.at),
      ...columns,
      ...(isMix ? columns.slice(2) : []),
    ] as uPlot.AlignedData,
    options: (colors) => {
      const style = lineStyle(colors, experiment.name);
      const edge: uPlot.Series = {
        stroke: fade(style.color, 0.55),
        width: 1,
        points: { show: false },
      };
      return {
        ...common,
        cursor: { ...POINTER, y: false },
        scales: scales(values, span),
        axes: [parameterAxisOf(colors, benchmark, values), timeAxis(colors)],
        series: [{}, edge, edge, ...line(style, 2, colors.surface)],
        bands: [{ series: [2, 1], fill: fade(style.second ?? style.color, 0.16) }],
        hooks: {
          // The boxes are below the lines.
          drawAxes: boxed ? [(u) => boxes(u, values, views, style.second ?? style.color)] : [],
          draw: [
            (u) => isolatedRanges(u, values, views, style.color),
            (u) => whiskers(u, values, views, style.color),
            ...(boxed ? [] : [(u: uPlot) => repeatDots(u, values, views, style.color)]),
            (u) => differing(u, values, views, colors),
            (u) => marks(u, colors, values, runViews([experiment])),
          ],
        },
      };
    },
    tip: (u, left) => {
      const value = nearest(values, u.posToVal(left, 'x'));
      const view = views.find((v) => v.value === value);
      return view === undefined ? null : valueTip(u, benchmark, values, view);
    },
  };
}

/** The entry of an experiment in a legend. */
export function experimentKey(colors: Palette, name: string): Key {
  const { color, second, dash } = lineStyle(colors, name);
  return {
    name: experimentLabel(name),
    color,
    ...(second === undefined ? {} : { second }),
    sign: { width: 2, ...(dash === undefined ? {} : { dash }) },
  };
}

/** The name of an experiment with its words: `SR (sequential reads)`. */
const experimentLabel = (name: string) => {
  const words = experimentWords(name);
  return words === name ? name : `${name} (${words})`;
};

/** Draws a bar from minimum to maximum where no band is: at values up to 0 or at a single value. */
function isolatedRanges(u: uPlot, values: ParameterAxis, views: ValueView[], color: string): void {
  const { ctx } = u;
  ctx.save();
  ctx.fillStyle = fade(color, 0.22);
  for (const view of views) {
    const [low, high] = [least(view), most(view)];
    if ((view.value > 0 && views.length > 1) || low === undefined || high === undefined) continue;
    const x = u.valToPos(values.at(view.value), 'x', true);
    const [top, bottom] = [u.valToPos(high, 'y', true), u.valToPos(low, 'y', true)];
    const width = 6 * devicePixelRatio;
    ctx.fillRect(x - width / 2, top, width, Math.max(1, bottom - top));
  }
  ctx.restore();
}

/** Draws the 95 % intervals of the means. */
function whiskers(u: uPlot, values: ParameterAxis, views: ValueView[], color: string): void {
  const { ctx } = u;
  const half = 3.5 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.25 * devicePixelRatio;
  ctx.beginPath();
  const [floor, ceiling] = [u.scales.y?.min ?? 1, u.scales.y?.max ?? Number.POSITIVE_INFINITY];
  for (const view of views) {
    const { low, high } = view.mean ?? {};
    if (low == null || high == null) continue;
    const x = u.valToPos(values.at(view.value), 'x', true);
    // An end beyond the scale, such as a lower end at or below 0, stops at the edge of the plot.
    for (const [end, edge] of [
      [Math.max(low, floor), low < floor],
      [Math.min(high, ceiling), high > ceiling],
    ] as const) {
      const [from, to] = [
        u.valToPos(view.mean?.value ?? end, 'y', true),
        u.valToPos(end, 'y', true),
      ];
      ctx.moveTo(x, from);
      ctx.lineTo(x, to);
      if (edge) continue;
      ctx.moveTo(x - half, to);
      ctx.lineTo(x + half, to);
    }
  }
  ctx.stroke();
  ctx.restore();
}

/** Draws the means of the repeats as small dots to the right of their common mean. */
function repeatDots(u: uPlot, values: ParameterAxis, views: ValueView[], color: string): void {
  const { ctx } = u;
  const most = Math.max(...views.map((view) => view.views.length), 1);
  const room = leastGap(u, values) / (most + 2);
  const step = Math.min(4 * devicePixelRatio, Math.max(room, devicePixelRatio));
  ctx.save();
  ctx.fillStyle = fade(color, 0.75);
  for (const view of views) {
    if (view.views.length < 2) continue;
    const x = u.valToPos(values.at(view.value), 'x', true);
    for (const [i, { facts }] of view.views.entries()) {
      const ns = positive(facts?.latency_ns.mean.value);
      if (ns === undefined) continue;
      ctx.beginPath();
      const at = x + 3 * devicePixelRatio + step * (i + 1);
      ctx.arc(at, u.valToPos(ns, 'y', true), 1.5 * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
    }
  }
  ctx.restore();
}

/** Draws `≠` above each value whose repeats differ significantly. */
function differing(u: uPlot, values: ParameterAxis, views: ValueView[], colors: Palette): void {
  const { ctx } = u;
  ctx.save();
  ctx.fillStyle = colors.text;
  ctx.font = `700 ${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'center';
  for (const view of views.filter(({ together }) => differs(together))) {
    const x = u.valToPos(values.at(view.value), 'x', true);
    ctx.fillText('≠', x, u.bbox.top + 11 * devicePixelRatio);
  }
  ctx.restore();
}

/** Draws a cross at the lower edge for each value with a run that failed or is not done. */
function marks(u: uPlot, colors: Palette, values: ParameterAxis, views: RunView[]): void {
  const y = u.bbox.top + u.bbox.height - 7 * devicePixelRatio;
  const marked = new Map<number, string>();
  for (const { run } of views) {
    const { status } = run.progress;
    if (status === 'failed') marked.set(run.value, colors.failed);
    else if (status !== 'done' && !marked.has(run.value)) marked.set(run.value, colors.ignored);
  }
  for (const [value, color] of marked) cross(u, u.valToPos(values.at(value), 'x', true), y, color);
}

function meanOrProgress({ mean: estimate, views }: ValueView): string {
  const odd = views.find(({ run }) => run.progress.status !== 'done')?.run.progress.status;
  return `${time(estimate?.value)}${odd === undefined ? '' : ` (${odd})`}`;
}

function valueTip(
  u: uPlot,
  benchmark: MicroBenchmark,
  values: ParameterAxis,
  view: ValueView,
): Tip | null {
  const [first] = view.views;
  if (first === undefined) return null;
  const rows = view.views.length > 1 ? repeatRows(view) : runRows(first);
  for (const { run } of view.views) {
    if (run.progress.status !== 'done')
      rows.push([runName(view, run), progressWords(run.progress)]);
  }
  return {
    left: u.valToPos(values.at(view.value), 'x'),
    top: 8,
    title: `${benchmark.parameter} ${parameter(view.value, benchmark.unit)}`,
    rows: [...rows, ...remarks(view).map((remark): [string, string] => ['note', remark])],
    href: runHref(first.result, first.run.id),
  };
}

/** The name of a run in a tip. */
const runName = (view: ValueView, run: RunView['run']) =>
  view.views.length > 1 ? `repeat ${repeatOf(run)}` : 'run';

function runRows({ facts }: RunView): [string, string][] {
  if (facts === undefined) return [];
  const latency = facts.latency_ns;
  return [
    ['mean', time(latency.mean.value)],
    ['95 % interval', interval(latency.mean.low, latency.mean.high, (ns) => time(ns))],
    ['min', time(latency.min)],
    ['p50', time(latency.p50)],
    ['p99', time(latency.p99)],
    ['max', time(latency.max)],
    ['throughput', throughput(facts.throughput_bytes_per_s)],
    ['IOs', count(facts.ios)],
  ];
}

function repeatRows(view: ValueView): [string, string][] {
  const { mean: estimate, together, views } = view;
  return [
    [`mean of ${counted(together?.runs.length ?? 1, 'run')}`, time(estimate?.value)],
    ['95 % interval', interval(estimate?.low, estimate?.high, (ns) => time(ns))],
    ...views.map(({ run, facts }): [string, string] => [
      `mean of repeat ${repeatOf(run)}`,
      time(facts?.latency_ns.mean.value),
    ]),
    ['min', time(least(view))],
    ['max', time(most(view))],
  ];
}

/** An experiment in a sentence: its mean at the first and the last value. */
function summary({ name, values }: ExperimentViews, benchmark: MicroBenchmark): string {
  const known = values.filter((view) => view.mean !== undefined);
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return `${name}: no runs.`;
  const at = (view: ValueView) =>
    `${time(view.mean?.value)} at ${parameter(view.value, benchmark.unit)}`;
  return first === last ? `${name}: ${at(first)}.` : `${name}: from ${at(first)} to ${at(last)}.`;
}
