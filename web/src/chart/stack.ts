// Stacked areas over time.
import type uPlot from 'uplot';
import { MISSING } from '../format';
import { within } from './marks';
import { type Measure, measureAxis } from './measure';
import { AXIS, timeAxisBelow, timeRange, timeScale } from './overtime';
import type { Palette } from './palette';
import { type ChartSpec, common, NOTHING, POINTER } from './spec';
import type { Zoom } from './zoom.svelte';

/** A part of a stack, with a number for each time bucket; null if it has none. */
export interface StackPart {
  name: string;
  color(colors: Palette): string;
  values: (number | null)[];
}

/** A stack of parts over time. */
export interface Stack {
  title: string;
  label: string;
  bucket_ns: number;
  /** The parts, lowest first. */
  parts: StackPart[];
  up: Measure;
  zoom: Zoom;
  /** The name of the sum. */
  together: string;
}

/** The cumulative sums of the parts in each time bucket; null where a part has no number. */
export function heights(parts: StackPart[]): (number | null)[][] {
  const length = Math.max(0, ...parts.map(({ values }) => values.length));
  const sums: (number | null)[] = Array.from({ length }, () => 0);
  return parts.map(({ values }) => {
    for (const i of sums.keys()) {
      const [sum, value] = [sums[i], values[i] === undefined ? 0 : values[i]];
      sums[i] = sum == null || value == null ? null : sum + value;
    }
    return [...sums];
  });
}

/** Creates a chart of stacked areas. */
export function stackChart({
  title,
  label,
  bucket_ns,
  parts,
  up,
  zoom,
  together,
}: Stack): ChartSpec {
  const tops = heights(parts);
  const all = tops.at(-1) ?? [];
  const most = Math.max(0, ...all.map((value) => value ?? 0)) || 1;
  const bucketAt = (u: uPlot, left: number) => Math.floor(u.posToVal(left, 'x') / bucket_ns);
  return {
    title,
    label,
    data: [[...zoom.whole], [0, most]] as uPlot.AlignedData,
    keys: (colors) => parts.map(({ name, color }) => ({ name, color: color(colors) })),
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, y: false },
      scales: { x: timeScale(zoom), y: { range: () => [0, most * 1.06] } },
      axes: [timeAxisBelow(colors), { ...measureAxis(colors, up, 'y'), size: AXIS }],
      series: [{}, NOTHING],
      hooks: { draw: [(u) => paint(u, parts, tops, bucket_ns, colors)] },
    }),
    tip: (u, left) => {
      const i = bucketAt(u, left);
      if (i < 0 || i >= all.length) return null;
      const write = (value: number | null | undefined) =>
        value == null ? MISSING : up.write(value);
      return {
        left,
        top: 8,
        title: timeRange(i * bucket_ns, Math.min(zoom.whole[1], (i + 1) * bucket_ns)),
        rows: [
          ...parts
            .toReversed()
            .map(({ name, values }): [string, string] => [name, write(values[i])]),
          [together, write(all[i])],
        ],
      };
    },
    step: (u, from, across) => {
      const now = from === null ? bucketAt(u, 0) : bucketAt(u, from.left) + across;
      const i = Math.min(all.length - 1, Math.max(0, now));
      return { left: u.valToPos((i + 0.5) * bucket_ns, 'x'), top: 8 };
    },
  };
}

function paint(
  u: uPlot,
  parts: StackPart[],
  tops: (number | null)[][],
  bucket: number,
  colors: Palette,
): void {
  within(u, () => {
    const { ctx } = u;
    const [low, high] = [u.scales.x?.min ?? 0, u.scales.x?.max ?? 1];
    for (const [k, { color }] of parts.entries()) {
      ctx.fillStyle = color(colors);
      const [under, over] = [tops[k - 1], tops[k] ?? []];
      const first = Math.max(0, Math.floor(low / bucket));
      const last = Math.min(over.length, Math.ceil(high / bucket));
      for (let i = first; i < last; i++) {
        const [a, b] = [under?.[i] ?? 0, over[i]];
        if (b == null || b <= a) continue;
        const left = Math.round(u.valToPos(i * bucket, 'x', true));
        const right = Math.round(u.valToPos((i + 1) * bucket, 'x', true));
        const [top, bottom] = [u.valToPos(b, 'y', true), u.valToPos(a, 'y', true)];
        ctx.fillRect(left, top, Math.max(1, right - left), bottom - top);
      }
    }
  });
}
