// The axes of charts of response times against a parameter.
import type uPlot from 'uplot';
import type { MicroBenchmark } from '../data/views.gen';
import { parameter } from '../format';
import { labelled, type ParameterAxis } from './axes';
import type { Palette } from './palette';
import { axis } from './spec';

/** A range of response times in ns. */
export type Span = [number, number];

/** The positions on the axis with their values; a break has no value. */
export function positions(axisOf: ParameterAxis): { at: number; value: number | undefined }[] {
  const values = axisOf.values.map((value) => ({ at: axisOf.at(value), value }));
  const breaks = axisOf.breaks.map((at) => ({ at, value: undefined }));
  return [...values, ...breaks].sort((a, b) => a.at - b.at);
}

/** The uPlot axis of a parameter. */
export function parameterAxisOf(
  colors: Palette,
  benchmark: Pick<MicroBenchmark, 'parameter' | 'unit'>,
  values: ParameterAxis,
): uPlot.Axis {
  const write = (value: number) => parameter(value, benchmark.unit);
  return {
    ...axis(colors, benchmark.parameter),
    size: 28,
    splits: (u) => {
      const unitsPerPixel = ((values.max - values.min) * devicePixelRatio) / u.bbox.width;
      const width = (value: number) => (write(value).length * 6.2 + 10) * unitsPerPixel;
      return labelled(values, width).map(values.at);
    },
    filter: (_u, splits) => splits,
    values: (_u, splits) => splits.map((at) => write(nearest(values, at))),
  };
}

/** The value nearest to a position on the axis. */
export function nearest(values: ParameterAxis, at: number): number {
  return values.values.reduce(
    (best, value) =>
      Math.abs(values.at(value) - at) < Math.abs(values.at(best) - at) ? value : best,
    values.values[0] ?? 0,
  );
}

/** The uPlot scales: the parameter across, response times upwards on a log scale. */
export function scales(values: ParameterAxis, span: Span): uPlot.Scales {
  return {
    x: { time: false, range: () => [values.min, values.max] },
    y: { distr: 3, log: 10, range: () => span },
  };
}
