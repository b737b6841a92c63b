// An experiment of several results in one chart, with marks where they differ significantly.
import type uPlot from 'uplot';
import type { ComparedExperiment, ComparedValue, MicroBenchmark } from '../data/views.gen';
import { estimate, parameter, ratio, time } from '../format';
import { parameterAxis, timeSpan } from './axes';
import { fade, type Palette, resultStyle } from './palette';
import { nearest, parameterAxisOf, positions, type Span, scales } from './parameter';
import { type ChartSpec, common, POINTER, type Tip, timeAxis } from './spec';

/** The content of a chart of several results. */
export interface Overlay {
  benchmark: Pick<MicroBenchmark, 'title' | 'parameter' | 'unit'>;
  compared: ComparedExperiment;
  /** The names of the results, in their order. */
  names: string[];
  span: Span;
  /** True for a chart without tips, inside a link. */
  small?: boolean;
}

/** The range of all means and intervals of some experiments. */
export function comparedSpan(experiments: ComparedExperiment[]): Span {
  const estimates = experiments
    .flatMap(({ values }) => values)
    .flatMap(({ results }) => results)
    .flatMap(({ value }) => (value == null ? [] : [value]));
  return timeSpan(
    estimates.flatMap(({ value, low, high }) => [
      value,
      ...(low != null && low > 0 ? [low] : []),
      ...(high != null ? [high] : []),
    ]),
  );
}

/** True if any result differs significantly from the first at a value. */
export const isDifferent = ({ results }: ComparedValue): boolean =>
  results.some(({ differs }) => differs === true);

/** Creates the chart of several results' means against the parameter. */
export function overlayChart(of: Overlay): ChartSpec {
  const { benchmark, compared, names, span, small = false } = of;
  const axisOf = parameterAxis(compared.values.map(({ value }) => value));
  const places = positions(axisOf);
  const byValue = new Map(compared.values.map((value) => [value.value, value]));
  const columns = names.map((_, i) =>
    places.map(({ value }) => {
      if (value === undefined) return null;
      const mean = byValue.get(value)?.results[i]?.value?.value;
      return mean === undefined ? undefined : Math.max(1, mean);
    }),
  );
  const tip = (u: uPlot, left: number): Tip | null => {
    const value = nearest(axisOf, u.posToVal(left, 'x'));
    const compared = byValue.get(value);
    if (compared === undefined) return null;
    return {
      left: u.valToPos(axisOf.at(value), 'x'),
      top: 8,
      title: `${benchmark.parameter} ${parameter(value, benchmark.unit)}`,
      rows: compared.results.map(({ value: mean, ratio: to, differs }, i): [string, string] => [
        names[i] ?? '',
        `${time(mean?.value)}${to == null ? '' : ` · ${estimate(to, ratio)}`}${differs ? ' ≠' : ''}`,
      ]),
    };
  };
  const different = compared.values.filter(isDifferent).length;
  return {
    title: `Mean response time of ${benchmark.title} ${compared.experiment} against ${benchmark.parameter}`,
    label: `Mean response time of ${benchmark.title} ${compared.experiment} against ${benchmark.parameter}, of ${names.join(', ')}; they differ at ${different} of ${compared.values.length} values.`,
    data: [places.map(({ at }) => at), ...columns] as uPlot.AlignedData,
    keys: (colors) =>
      names.map((name, i) => {
        const { color, dash } = resultStyle(colors, i);
        return { name, color, sign: { width: 2, ...(dash === undefined ? {} : { dash }) } };
      }),
    options: (colors) => ({
      ...common,
      cursor: { show: !small, ...POINTER, y: false },
      scales: scales(axisOf, span),
      axes: [parameterAxisOf(colors, benchmark, axisOf), timeAxis(colors)],
      series: [{}, ...names.map((_, i) => series(i, small, colors))],
      hooks: {
        draw: [
          (u) => intervals(u, compared, axisOf.at, colors),
          (u) => {
            if (!small) differences(u, compared, axisOf.at, colors);
          },
        ],
      },
    }),
    ...(small ? {} : { tip }),
  };
}

function series(i: number, small: boolean, colors: Palette): uPlot.Series {
  const style = resultStyle(colors, i);
  return {
    stroke: style.color,
    width: small ? 1.5 : 2,
    points: {
      show: true,
      size: small ? 5 : 6.5,
      width: 1.5,
      stroke: style.color,
      fill: i % 2 === 0 ? style.color : colors.surface,
    },
    ...(style.dash ? { dash: style.dash } : {}),
  };
}

/** Draws the 95 % intervals of the means. */
function intervals(
  u: uPlot,
  { values }: ComparedExperiment,
  at: (value: number) => number,
  colors: Palette,
): void {
  const { ctx } = u;
  const [floor, ceiling] = [u.scales.y?.min ?? 1, u.scales.y?.max ?? Number.POSITIVE_INFINITY];
  ctx.save();
  ctx.lineWidth = 1.25 * devicePixelRatio;
  for (const { value, results } of values) {
    for (const [i, { value: mean }] of results.entries()) {
      if (mean?.low == null || mean.high == null) continue;
      const x = u.valToPos(at(value), 'x', true);
      ctx.strokeStyle = fade(resultStyle(colors, i).color, 0.8);
      ctx.beginPath();
      ctx.moveTo(x, u.valToPos(Math.max(floor, mean.low), 'y', true));
      ctx.lineTo(x, u.valToPos(Math.min(ceiling, mean.high), 'y', true));
      ctx.stroke();
    }
  }
  ctx.restore();
}

/** Draws `≠` above each value at which results differ significantly. */
function differences(
  u: uPlot,
  { values }: ComparedExperiment,
  at: (value: number) => number,
  colors: Palette,
): void {
  const { ctx } = u;
  ctx.save();
  ctx.fillStyle = colors.text;
  ctx.font = `700 ${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'center';
  for (const value of values.filter(isDifferent)) {
    const x = u.valToPos(at(value.value), 'x', true);
    ctx.fillText('≠', x, u.bbox.top + 11 * devicePixelRatio);
  }
  ctx.restore();
}
