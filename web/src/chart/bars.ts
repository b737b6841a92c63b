// Bars beside each other: how many of what.
import uPlot from 'uplot';
import type { Palette } from './palette';
import { axis, type ChartSpec, common } from './spec';

/** Bars of one colour; those of several parts stand on each other. */
export interface Part {
  name: string;
  values: number[];
  color(colors: Palette): string;
}

/** Bars, one for each name, of parts that stand on each other. */
export function bars(
  label: string,
  names: string[],
  parts: Part[],
  write: (value: number) => string,
  title: (index: number) => string,
): ChartSpec {
  // The first part stands at the bottom: what is drawn later covers the lower end.
  const heights = parts.map((_, last) =>
    names.map((_, i) => parts.slice(0, last + 1).reduce((sum, p) => sum + (p.values[i] ?? 0), 0)),
  );
  const drawn = parts.map((part, i) => ({ part, heights: heights[i] ?? [] })).reverse();
  const most = Math.max(1e-9, ...(heights.at(-1) ?? [0]));
  return {
    label,
    data: [names.map((_, i) => i), ...drawn.map((d) => d.heights)] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { points: { show: false }, drag: { x: false, y: false }, y: false },
      scales: {
        x: { time: false, range: () => [-0.6, names.length - 0.4] },
        y: { range: () => [0, most * 1.05] },
      },
      axes: [
        namesAxis(colors, names),
        { ...axis(colors), size: 62, values: (_u, at) => at.map(write) },
      ],
      series: [
        {},
        ...drawn.map(
          ({ part }): uPlot.Series => ({
            stroke: part.color(colors),
            fill: part.color(colors),
            width: 1,
            points: { show: false },
            ...(uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.75, 48] }) } : {}),
          }),
        ),
      ],
    }),
    tip: (u, left) => {
      const index = Math.round(u.posToVal(left, 'x'));
      if (index < 0 || index >= names.length) return null;
      const rows = parts.map((part): [string, string] => [
        part.name,
        write(part.values[index] ?? 0),
      ]);
      return { left: u.valToPos(index, 'x'), top: 8, title: title(index), rows };
    },
  };
}

function namesAxis(colors: Palette, names: string[]): uPlot.Axis {
  const widest = Math.max(...names.map((name) => name.length), 1) * 6.2 + 10;
  return {
    ...axis(colors),
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
