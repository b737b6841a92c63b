// The histogram of response times, on a log axis of time.
import type uPlot from 'uplot';
import type { LatencyHistogram } from '../../data/views.gen';
import { count, counted, exactTime, percent, percentile, time } from '../../format';
import { timeSpan, timeTicks } from '../axes';
import { within } from '../marks';
import { fade, type Palette } from '../palette';
import type { RunChart, RunChartScene } from '../run-charts';
import { axis, type ChartSpec, common, NOTHING, POINTER, type Tip } from '../spec';

/** The percentiles to mark. */
const MARKED = [50, 99, 99.9];

/** The scale of the vertical axis, which counts IOs. */
export type CountScale = 'log' | 'linear';

/** The percentiles of a histogram, each with its response time in ns. */
export const percentilesOf = (histogram: LatencyHistogram) =>
  histogram.percentiles as [number, number][];

/** The time axis of the whole run, which makes parts of it comparable. */
function spanOf({ bins }: LatencyHistogram, { view }: RunChartScene): [number, number] {
  const latency = view.facts?.latency_ns;
  const ends = bins.flatMap(({ from_ns, to_ns }) => [from_ns, to_ns]);
  return timeSpan(latency === undefined ? ends : [...ends, latency.min, latency.max]);
}

/** The distribution of response times. */
export default {
  view: 'histogram',
  title: 'Distribution of response times',
  caption: (words) => `Counts ${words}, except failed ones.`,
  empty: ({ ios }) => (ios > 0 ? undefined : 'All of these IOs failed.'),
  height: 330,
  options: {
    name: 'Scale of counts',
    choices: [
      ['log', 'log'],
      ['linear', 'linear'],
    ],
  },
  chart: (data, scene) => {
    const scale = scene.option === 'linear' ? 'linear' : 'log';
    return histogramChart(data, scale, scene.color, scene.words, spanOf(data, scene));
  },
  table: {
    name: 'Percentiles',
    columns: [{ title: 'percentile' }, { title: 'response time', unit: 'ns' }],
    rows: (data) =>
      percentilesOf(data).map(([p, ns]) => [
        [p, percentile(p)],
        [ns, time(ns)],
      ]),
  },
} satisfies RunChart<'histogram'>;

/** Creates the histogram of a run or a part of it; a fixed `span` keeps the axis while the part changes. */
export function histogramChart(
  histogram: LatencyHistogram,
  scale: CountScale,
  color: (colors: Palette) => string,
  of: string,
  span = timeSpan(histogram.bins.flatMap(({ from_ns, to_ns }) => [from_ns, to_ns])),
): ChartSpec {
  const { bins, ios } = histogram;
  const most = Math.max(1, ...bins.map((bin) => bin.ios));
  const low = scale === 'log' ? 0.5 : 0;
  return {
    title: `Distribution of response times of ${of}`,
    label: `Distribution of the response times of ${counted(ios, 'IO')} among ${of}; the most frequent are from ${time(bins.find((bin) => bin.ios === most)?.from_ns)}.`,
    data: [
      [span[0], span[1]],
      [low, most],
    ] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, y: false },
      scales: {
        x: { time: false, distr: 3, log: 10, range: () => span },
        y:
          scale === 'log'
            ? { distr: 3, log: 10, range: () => [low, most * 1.6] }
            : { range: () => [0, most * 1.08] },
      },
      axes: [
        {
          ...axis(colors, 'response time'),
          size: 30,
          splits: (u) => timeTicks(...span, u.bbox.width / devicePixelRatio / 62),
          filter: (_u, splits) => splits,
          values: (_u, splits) => splits.map((ns) => exactTime(ns)),
        },
        countAxis(colors, scale, most),
      ],
      series: [{}, NOTHING],
      hooks: { draw: [(u) => paint(u, histogram, low, color(colors), colors)] },
    }),
    tip: (u, left) => tipAt(u, histogram, left),
    step: (u, from, across) => {
      const middle = ({ from_ns, to_ns }: { from_ns: number; to_ns: number }) =>
        u.valToPos(Math.sqrt(from_ns * to_ns), 'x');
      const places = bins.map(middle);
      const left =
        from === null
          ? places[0]
          : across < 0
            ? places.findLast((place) => place < from.left - 0.5)
            : places.find((place) => place > from.left + 0.5);
      return left === undefined ? null : { left, top: 20 };
    },
  };
}

function countAxis(colors: Palette, scale: CountScale, most: number): uPlot.Axis {
  const base = { ...axis(colors), scale: 'y', size: 62 };
  if (scale === 'linear') return { ...base, values: (_u, splits) => splits.map(count) };
  const decades = Array.from({ length: Math.ceil(Math.log10(most)) + 1 }, (_, i) => 10 ** i);
  return {
    ...base,
    splits: () => decades.filter((n) => n <= most * 1.6),
    filter: (_u, splits) => splits,
    values: (_u, splits) => splits.map(count),
  };
}

function paint(
  u: uPlot,
  histogram: LatencyHistogram,
  low: number,
  color: string,
  colors: Palette,
): void {
  const { ctx, bbox } = u;
  const x = (ns: number) => u.valToPos(ns, 'x', true);
  const bottom = u.valToPos(low, 'y', true);
  within(u, () => {
    ctx.fillStyle = fade(color, 0.75);
    for (const { from_ns, to_ns, ios } of histogram.bins) {
      const [left, top] = [x(from_ns), u.valToPos(ios, 'y', true)];
      ctx.fillRect(
        left,
        top,
        Math.max(devicePixelRatio, x(to_ns) - left - devicePixelRatio),
        bottom - top,
      );
    }
    ctx.font = `600 ${10.5 * devicePixelRatio}px system-ui, sans-serif`;
    let right = Number.NEGATIVE_INFINITY;
    let row = 0;
    for (const [p, ns] of percentilesOf(histogram)) {
      if (!MARKED.includes(p)) continue;
      const at = x(ns);
      ctx.fillStyle = colors.text;
      ctx.fillRect(at, bbox.top, devicePixelRatio, bbox.height);
      const words = percentile(p);
      const wide = ctx.measureText(words).width + 10 * devicePixelRatio;
      row = at < right ? row + 1 : 0;
      const fits = at + wide < bbox.left + bbox.width;
      const start = fits ? at + 5 * devicePixelRatio : at - wide + 5 * devicePixelRatio;
      ctx.fillText(words, start, bbox.top + (12 + 13 * row) * devicePixelRatio);
      right = at + wide;
    }
  });
}

function tipAt(u: uPlot, { bins, ios }: LatencyHistogram, left: number): Tip | null {
  const ns = u.posToVal(left, 'x');
  const at = bins.findIndex((bin) => bin.from_ns <= ns && ns < bin.to_ns);
  const bin = bins[at];
  if (bin === undefined) return null;
  const below = bins.slice(0, at).reduce((sum, b) => sum + b.ios, 0);
  return {
    left,
    top: 20,
    title: `${time(bin.from_ns)} to ${time(bin.to_ns)}`,
    rows: [
      ['IOs', count(bin.ios)],
      ['share', percent(bin.ios / ios)],
      ['faster', percent(below / ios)],
      ['slower', percent((ios - below - bin.ios) / ios)],
    ],
  };
}
