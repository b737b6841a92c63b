// What all charts share: their parts, their axes, their marks.
import type uPlot from 'uplot';
import { exactTime } from '../format';
import { timeTicks } from './axes';
import type { Palette } from './palette';

/** What is shown beside the pointer. */
export interface Tip {
  /** Where, in CSS pixels within the plot. */
  left: number;
  top: number;
  title: string;
  rows: [string, string][];
  /** Where a click leads. */
  href?: string;
}

/** A chart to be drawn. */
export interface ChartSpec {
  /** What it shows, for those who do not see it. */
  label: string;
  data: uPlot.AlignedData;
  options(colors: Palette): Omit<uPlot.Options, 'width' | 'height'>;
  /** What lies at a place of the plot. */
  tip?: (plot: uPlot, left: number, top: number) => Tip | null;
}

const FONT = '11px system-ui, sans-serif';

/** The look of an axis. */
export function axis(colors: Palette, label?: string): uPlot.Axis {
  return {
    stroke: colors.text,
    font: FONT,
    labelFont: FONT,
    labelSize: 16,
    gap: 4,
    grid: { stroke: colors.grid, width: 1 },
    ticks: { stroke: colors.axis, width: 1, size: 4 },
    ...(label === undefined ? {} : { label }),
  };
}

/** A log axis of times. */
export function timeAxis(colors: Palette, label?: string): uPlot.Axis {
  return {
    ...axis(colors, label),
    scale: 'y',
    size: 54,
    splits: (u, _axis, low, high) => timeTicks(low, high, u.bbox.height / devicePixelRatio / 26),
    filter: (_u, splits) => splits,
    values: (_u, splits) => splits.map((ns) => exactTime(ns)),
  };
}

/** Scales, cursor and legend that all charts have. */
export const common = {
  legend: { show: false },
  padding: [10, 18, 0, 0] as uPlot.Padding,
};

/** Draws a cross. */
export function cross(u: uPlot, x: number, y: number, color: string): void {
  const size = 4 * devicePixelRatio;
  const { ctx } = u;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x - size, y - size);
  ctx.lineTo(x + size, y + size);
  ctx.moveTo(x + size, y - size);
  ctx.lineTo(x - size, y + size);
  ctx.stroke();
  ctx.restore();
}
