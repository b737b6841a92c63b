// Line charts: lines on a common horizontal axis.
import uPlot from 'uplot';
import { MISSING } from '../format';
import { type Measure, measureAxis, measureScale } from './measure';
import { fade, type Palette } from './palette';
import { type ChartSpec, common, POINTER, type Tip } from './spec';

/** A line of a chart. */
export interface Line {
  name: string;
  values: (number | null)[];
  color(colors: Palette): string;
  dash?: boolean;
  /** True if most positions have no value: the values are points, and the line spans the positions without one. */
  sparse?: boolean;
  /** The ends of the interval at each position. */
  interval?: { low: number[]; high: number[] };
}

/** Lines with a common horizontal axis. */
export interface Lines {
  /** The title of the chart. */
  heading: string;
  label: string;
  x: number[];
  /**
   * True for filled steps: each value holds up to the next position, and the last position only ends the last step.
   */
  steps?: boolean;
  lines: Line[];
  across: Measure;
  up: Measure;
  /** The title of the tip at a position. */
  title(x: number, index: number): string;
}

/** The dashes of a dashed line. */
const DASH = [6, 4];

/** The values to draw: a log scale cannot show 0. */
const drawn = (measure: Measure, values: (number | null)[]) =>
  measure.log ? values.map((value) => (value !== null && value > 0 ? value : null)) : values;

/** The uPlot series of a line and of the edges of its interval. */
function series(colors: Palette, line: Line, steps: boolean): uPlot.Series[] {
  const color = line.color(colors);
  const stepped = steps ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  const main: uPlot.Series = {
    stroke: color,
    width: steps ? 1.25 : 1.75,
    points: { show: false },
    ...(line.dash ? { dash: DASH } : {}),
    ...(line.sparse ? { spanGaps: true, points: { show: true, size: 5, fill: color } } : {}),
    ...(stepped ? { paths: stepped, fill: fade(color, 0.18) } : {}),
  };
  const edge: uPlot.Series = { stroke: fade(color, 0.4), width: 1, points: { show: false } };
  return line.interval === undefined ? [main] : [main, edge, edge];
}

/** The bands between the edges of intervals. */
function bands(colors: Palette, all: Line[]): uPlot.Band[] {
  let next = 1;
  return all.flatMap((line): uPlot.Band[] => {
    const first = next;
    next += line.interval === undefined ? 1 : 3;
    if (line.interval === undefined) return [];
    return [{ series: [first + 2, first + 1], fill: fade(line.color(colors), 0.15) }];
  });
}

/** Creates a line chart. */
export function lineChart(chart: Lines): ChartSpec {
  const { heading, label, x, steps = false, lines, across, up, title } = chart;
  const columns = lines.flatMap(({ values, interval }) =>
    interval === undefined ? [values] : [values, interval.low, interval.high],
  );
  const tip = (u: uPlot, left: number): Tip | null => {
    const at = u.posToVal(left, 'x');
    const index = steps ? stepAt(x, at) : nearest(x, at, across.log ?? false);
    const [from, to] = [x[index], steps ? x[index + 1] : x[index]];
    if (from === undefined || to === undefined) return null;
    const rows = lines.map(({ name, values }): [string, string] => {
      const value = values[index];
      return [name, value == null ? MISSING : up.write(value)];
    });
    return { left: u.valToPos((from + to) / 2, 'x'), top: 8, title: title(from, index), rows };
  };
  return {
    title: heading,
    label,
    keys: (colors) =>
      lines.map(({ name, color, dash }) => ({
        name,
        color: color(colors),
        sign: { width: 2, ...(dash ? { dash: DASH } : {}) },
      })),
    data: [x, ...columns.map((column) => drawn(up, column))] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, y: false },
      scales: {
        x: { time: false, ...measureScale(across, x) },
        y: measureScale(up, columns.flat()),
      },
      axes: [measureAxis(colors, across, 'x'), measureAxis(colors, up, 'y')],
      series: [{}, ...lines.flatMap((line) => series(colors, line, steps))],
      bands: bands(colors, lines),
    }),
    tip,
  };
}

/** The index of the step that contains a position. */
function stepAt(x: number[], at: number): number {
  const after = x.findIndex((start) => start > at);
  return after < 0 ? x.length : after - 1;
}

/** The index of the nearest position; a log scale compares ratios. */
function nearest(x: number[], at: number, log: boolean): number {
  const distance = (value: number) => (log ? Math.abs(Math.log(value / at)) : Math.abs(value - at));
  return x.reduce((best, value, i) => (distance(value) < distance(x[best] ?? value) ? i : best), 0);
}
