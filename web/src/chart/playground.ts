// The curve of write amplification in the playground, beside the theory.
import { count, distinctLabels, short } from '../format';
import type { CurveOf } from '../playground/player.svelte';
import { type Line, lineChart } from './lines';
import type { Measure } from './measure';
import type { Palette } from './palette';
import type { ChartSpec, Key } from './spec';

const RATIO: Measure = {
  write: (ratio) => `×${short(ratio)}`,
  labels: (ratios) => distinctLabels(ratios, short).map((label) => `×${label}`),
};

const simulated = (colors: Palette) => colors.write;
const theory = (colors: Palette) => colors.text;
const before = (colors: Palette) => colors.ignored;

/** The legend of the curve. */
export const curveKeys = (colors: Palette, hasTheory: boolean, hasBefore: boolean): Key[] => [
  { name: 'simulated', color: simulated(colors), sign: { width: 2 } },
  ...(hasTheory
    ? [{ name: 'theory', color: theory(colors), sign: { width: 2, dash: [5, 3] } }]
    : []),
  ...(hasBefore
    ? [{ name: 'before the last change', color: before(colors), sign: { width: 2 } }]
    : []),
];

/** Interpolates a curve at a position; null beyond its last point. */
function valueAt({ host, ratio }: CurveOf, place: number): number | null {
  const next = host.findIndex((at) => at >= place);
  if (next < 0) return null;
  if (next === 0) return ratio[0] ?? null;
  const [x0 = 0, x1 = 1, y0 = 0, y1 = 0] = [
    host[next - 1],
    host[next],
    ratio[next - 1],
    ratio[next],
  ];
  return y0 + ((place - x0) / (x1 - x0)) * (y1 - y0);
}

/** Creates the chart. `predicted` is the theory's value, or 0 if there is no theory. */
export function amplificationCurve(
  curve: CurveOf,
  predicted: number,
  earlier: CurveOf | undefined,
): ChartSpec {
  const x = curve.host.length > 1 ? curve.host : [0, 1];
  const lines: Line[] = [
    {
      name: 'simulated',
      values: curve.host.length > 1 ? curve.ratio : [null, null],
      color: simulated,
    },
  ];
  if (predicted > 0) {
    lines.push({ name: 'theory', values: x.map(() => predicted), color: theory, dash: true });
  }
  if (earlier !== undefined) {
    lines.push({
      name: 'before the last change',
      values: x.map((place) => valueAt(earlier, place)),
      color: before,
    });
  }
  const last = curve.ratio.at(-1);
  const now = last === undefined ? 'not measured yet' : `now ${RATIO.write(last)}`;
  const beside = predicted > 0 ? `, theory ${RATIO.write(predicted)}` : '';
  return lineChart({
    heading: 'Write amplification',
    label: `Write amplification by pages that the host wrote: ${now}${beside}.`,
    x,
    lines,
    across: { write: (pages) => count(Math.round(pages)), title: 'pages written by the host' },
    up: {
      ...RATIO,
      range: [
        1,
        1.08 * Math.max(1.5, ...lines.flatMap((line) => line.values.map((value) => value ?? 1))),
      ],
    },
    title: (pages) => `after ${count(Math.round(pages))} host pages`,
  });
}
