// The runs that a twin was fitted to: the time on the drive, and the time on the twin.
import type uPlot from 'uplot';
import type { RunFit } from '../data/twin.gen';
import { counted, exactTime, ratio, time } from '../format';
import { timeSpan, timeTicks } from './axes';
import { nearest, neighbour } from './front';
import { within } from './marks';
import { fade, type Palette } from './palette';
import { axis, type ChartSpec, common, NOTHING, POINTER, timeAxis } from './spec';

/** The number of a run to show: its mean response time, or its 99th percentile. */
export type FittedNumber = 'mean' | 'p99';

/** Creates the chart of fitted runs; points on the diagonal have the same time on both. */
export function fittedChart(runs: RunFit[], number: FittedNumber): ChartSpec {
  const nth = number === 'mean' ? 0 : 1;
  const dots = runs
    .map((run) => ({
      title: run.title,
      x: { value: run.measured_ns[nth] },
      y: { value: run.twin_ns[nth] },
    }))
    .filter(({ x, y }) => x.value > 0 && y.value > 0)
    .sort((a, b) => a.x.value - b.x.value);
  const span = timeSpan(dots.flatMap(({ x, y }) => [x.value, y.value]));
  const name = number === 'mean' ? 'mean response time' : '99th percentile';
  const scale = { distr: 3, log: 10, range: () => span } as uPlot.Scale;
  return {
    title: `Fitted runs, ${name}`,
    label: `The ${name} of ${counted(dots.length, 'run')} on the drive and on the twin.`,
    data: [span, span] as unknown as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, x: false, y: false },
      scales: { x: { ...scale, time: false }, y: scale },
      axes: [
        {
          ...axis(colors, `${name} on the drive`),
          size: 46,
          splits: (u, _axis, low, high) =>
            timeTicks(low, high, u.bbox.width / devicePixelRatio / 60),
          filter: (_u, splits) => splits,
          values: (_u, splits) => splits.map((ns) => exactTime(ns)),
        },
        timeAxis(colors, `${name} on the twin`),
      ],
      series: [{}, NOTHING],
      hooks: { draw: [(u) => paint(u, dots, span, colors)] },
    }),
    tip: (u, left, top) => {
      const dot = nearest(u, dots, left, top);
      if (dot === undefined) return null;
      const { x, y, title } = dot;
      return {
        left: u.valToPos(x.value, 'x'),
        top: u.valToPos(y.value, 'y'),
        title,
        rows: [
          ['on the drive', time(x.value)],
          ['on the twin', time(y.value)],
          ['twin to drive', ratio(y.value / x.value)],
        ],
      };
    },
    step: (u, from, right, down) => neighbour(u, dots, from, right - down),
  };
}

/** Draws the points, and the diagonal. */
function paint(
  u: uPlot,
  dots: { x: { value: number }; y: { value: number } }[],
  [low, high]: [number, number],
  colors: Palette,
): void {
  within(u, () => {
    const { ctx } = u;
    ctx.strokeStyle = colors.axis;
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(u.valToPos(low, 'x', true), u.valToPos(low, 'y', true));
    ctx.lineTo(u.valToPos(high, 'x', true), u.valToPos(high, 'y', true));
    ctx.stroke();
    ctx.fillStyle = fade(colors.write, 0.75);
    for (const { x, y } of dots) {
      ctx.beginPath();
      const place = [u.valToPos(x.value, 'x', true), u.valToPos(y.value, 'y', true)] as const;
      ctx.arc(...place, 3.5 * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
    }
  });
}
