// The free blocks of a drive over time: minimum and maximum of each time bucket.
import type uPlot from 'uplot';
import type { FreeBlocksReport } from '../data/simulation.gen';
import { count, longTime } from '../format';
import { COUNT_STEPS } from './axes';
import { within } from './marks';
import { AXIS, timeAxisBelow, timeRange, timeScale } from './overtime';
import { fade, type Palette } from './palette';
import { axis, type ChartSpec, common, NOTHING, POINTER } from './spec';
import type { Zoom } from './zoom.svelte';

/** The range of the vertical axis: the minimum to the maximum, with a margin. */
function spanOf({ curve }: FreeBlocksReport): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const { min, max } of curve.buckets) [low, high] = [Math.min(low, min), Math.max(high, max)];
  if (!Number.isFinite(low)) return [0, 1];
  const room = Math.max(1, (high - low) * 0.12);
  return [Math.max(0, low - room), high + room];
}

/** Creates the chart of the free blocks of all lanes together. */
export function freeBlocks(free: FreeBlocksReport, zoom: Zoom): ChartSpec {
  const { buckets, bucket_ns: bucket } = free.curve;
  const span = spanOf(free);
  const most = Math.max(0, ...buckets.map(({ max }) => max));
  const bucketAt = (u: uPlot, left: number) => Math.floor(u.posToVal(left, 'x') / bucket);
  const title = 'Free blocks over time';
  return {
    title,
    label: `${title}: ${count(free.min)} to ${count(most)}, in buckets of ${longTime(bucket)}.`,
    keys: (colors) => [
      { name: 'minimum', color: colors.other.color, sign: { width: 2 } },
      { name: 'minimum to maximum', color: fade(colors.other.color, 0.3) },
      { name: 'overall minimum', color: colors.text, sign: { width: 1, dash: [4, 4] } },
    ],
    data: [[...zoom.whole], span] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, y: false },
      scales: { x: timeScale(zoom), y: { range: () => span } },
      axes: [
        timeAxisBelow(colors),
        {
          ...axis(colors, 'free blocks'),
          scale: 'y',
          size: AXIS - 16,
          incrs: COUNT_STEPS,
          values: (_u, splits) => splits.map(count),
        },
      ],
      series: [{}, NOTHING],
      hooks: { draw: [(u) => paint(u, free, colors)] },
    }),
    tip: (u, left) => {
      const i = bucketAt(u, left);
      const range = buckets[i];
      if (range === undefined) return null;
      return {
        left,
        top: 8,
        title: timeRange(i * bucket, Math.min(zoom.whole[1], (i + 1) * bucket)),
        rows: [
          ['minimum', count(range.min)],
          ['maximum', count(range.max)],
        ],
      };
    },
    step: (u, from, across) => {
      const now = from === null ? bucketAt(u, 0) : bucketAt(u, from.left) + across;
      const i = Math.min(buckets.length - 1, Math.max(0, now));
      return { left: u.valToPos((i + 0.5) * bucket, 'x'), top: 8 };
    },
  };
}

/** Draws each bucket from its minimum to its maximum, and the overall minimum as a dashed line. */
function paint(u: uPlot, { curve, min }: FreeBlocksReport, colors: Palette): void {
  within(u, () => {
    const { ctx, bbox } = u;
    const { buckets, bucket_ns: bucket } = curve;
    const [low, high] = [u.scales.x?.min ?? 0, u.scales.x?.max ?? 1];
    const line = 1.5 * devicePixelRatio;
    const first = Math.max(0, Math.floor(low / bucket));
    const last = Math.min(buckets.length, Math.ceil(high / bucket));
    for (const [i, { min, max }] of buckets.slice(first, last).entries()) {
      const left = Math.round(u.valToPos((first + i) * bucket, 'x', true));
      const right = Math.round(u.valToPos((first + i + 1) * bucket, 'x', true));
      const [top, bottom] = [u.valToPos(max, 'y', true), u.valToPos(min, 'y', true)];
      const wide = Math.max(1, right - left);
      ctx.fillStyle = fade(colors.other.color, 0.3);
      ctx.fillRect(left, top, wide, bottom - top);
      ctx.fillStyle = colors.other.color;
      ctx.fillRect(left, bottom - line / 2, wide, line);
    }
    const y = u.valToPos(min, 'y', true);
    ctx.strokeStyle = colors.text;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.setLineDash([]);
  });
}
