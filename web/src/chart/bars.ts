// Bar charts.
import uPlot from 'uplot';
import { count, distinctLabels } from '../format';
import { COUNT_STEPS } from './axes';
import { AXIS_WIDTH } from './measure';
import type { Palette } from './palette';
import { axis, type ChartSpec, common, POINTER } from './spec';

/** Bars of one colour; the bars of several parts are stacked. */
export interface Part {
  name: string;
  values: number[];
  color(colors: Palette): string;
}

/** A bar chart with one bar for each name. */
export interface Bars {
  /** The title of the chart. */
  heading: string;
  label: string;
  names: string[];
  /** The title of the axis with the names. */
  axis: string;
  parts: Part[];
  /** The title of the tip at a bar. */
  title(index: number): string;
  /** The format of values that are not counts. */
  write?(value: number): string;
}

/** Creates a bar chart. */
export function barChart(bars: Bars): ChartSpec {
  const { heading, label, names, axis: below, parts, title, write } = bars;
  // The first part is at the bottom. Higher stacks are drawn first, and lower ones cover them.
  const heights = parts.map((_, last) =>
    names.map((_, i) => parts.slice(0, last + 1).reduce((sum, p) => sum + (p.values[i] ?? 0), 0)),
  );
  const drawn = parts.map((part, i) => ({ part, heights: heights[i] ?? [] })).reverse();
  const all = heights.at(-1) ?? [];
  // An axis of counts reaches at least 1.
  const most = Math.max(write === undefined ? 1 : 1e-9, ...all);
  // A value of 0 has no bar, not even a thin one.
  const columns = drawn.map((d) => d.heights.map((height) => height || null));
  return {
    title: heading,
    label,
    keys: (colors) => parts.map(({ name, color }) => ({ name, color: color(colors) })),
    data: [names.map((_, i) => i), ...columns] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, y: false },
      scales: {
        x: { time: false, range: () => [-0.6, names.length - 0.4] },
        y: { range: () => [0, most * 1.05] },
      },
      axes: [
        namesAxis(colors, names, below),
        // Counts have no ticks between 0 and 1.
        {
          ...axis(colors),
          size: AXIS_WIDTH,
          ...(write === undefined ? { incrs: COUNT_STEPS } : {}),
          values: (_u, at) => distinctLabels(at, write ?? count),
        },
      ],
      series: [{}, ...drawn.map(({ part }) => series(part.color(colors)))],
    }),
    tip: (u, left) => {
      const index = Math.round(u.posToVal(left, 'x'));
      if (index < 0 || index >= names.length) return null;
      const rows = parts.map(({ name, values }): [string, string] => [
        name,
        (write ?? count)(values[index] ?? 0),
      ]);
      return { left: u.valToPos(index, 'x'), top: 8, title: title(index), rows };
    },
  };
}

function series(color: string): uPlot.Series {
  const paths = uPlot.paths.bars?.({ size: [0.75, 48] });
  return {
    stroke: color,
    fill: color,
    width: 1,
    points: { show: false },
    ...(paths ? { paths } : {}),
  };
}

function namesAxis(colors: Palette, names: string[], title: string): uPlot.Axis {
  const widest = Math.max(...names.map((name) => name.length), 1) * 6.2 + 10;
  return {
    ...axis(colors, title),
    grid: { show: false },
    size: 28,
    splits: (u) => {
      const room = u.bbox.width / devicePixelRatio / (names.length + 0.2);
      const every = Math.max(1, Math.ceil(widest / room));
      return names.flatMap((_, i) => (i % every === 0 ? [i] : []));
    },
    filter: (_u, splits) => splits,
    values: (_u, splits) => splits.map((i) => names[i] ?? ''),
  };
}
