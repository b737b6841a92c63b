// The charts of a command that runs: its results so far.
import type { RunningChart } from '../data/views.gen';
import { count, decimal } from '../format';
import { EVIDENCE_WRITERS } from '../judgement';
import { type Line, lineChart } from './lines';
import type { Palette } from './palette';
import type { ChartSpec } from './spec';

/** The colours of the series, in their order. */
const COLORS: Line['color'][] = [
  (colors: Palette) => colors.read,
  (colors: Palette) => colors.write,
  (colors: Palette) => colors.average,
  (colors: Palette) => colors.other.color,
];

/** Creates a chart of results so far, with a line for each series. */
export function runningChart({ title, x_axis, unit, series }: RunningChart): ChartSpec {
  const x = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort(
    (a, b) => a - b,
  );
  const lines = series.map(({ name, points }, nth): Line => {
    const values = new Map(points.map(([at, value]) => [at, value]));
    return {
      name,
      color: COLORS[nth % COLORS.length] ?? ((colors: Palette) => colors.read),
      dash: nth >= COLORS.length,
      sparse: true,
      values: x.map((at) => values.get(at) ?? null),
    };
  });
  const write = EVIDENCE_WRITERS[unit];
  return lineChart({
    heading: title,
    label: `${title} so far, ${count(x.length)} values.`,
    x,
    lines,
    across: { title: x_axis, write: (at) => count(at) },
    up: unit === 'ios_per_second' ? { title: 'IOPS', write: decimal } : { write },
    title: (at) => `${x_axis} ${count(at)}`,
  });
}
