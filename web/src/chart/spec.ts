// What all charts share: their parts, their axes, their marks.
import type uPlot from 'uplot';
import { exactTime } from '../format';
import { timeTicks } from './axes';
import type { Palette } from './palette';
import { pointPath, type Shape } from './shapes';

/** What is shown beside the pointer. */
export interface Tip {
  /** Where, in CSS pixels within the plot. */
  left: number;
  top: number;
  title: string;
  rows: [string, string][];
  /** Where a click leads. */
  href?: string;
  /** What is there, in words; the run unless said. */
  target?: string;
}

/** What a colour stands for. */
export interface Key {
  name: string;
  color: string;
  /** What is drawn in it, where that says more than a colour: a point, or a line. */
  sign?: { shape: Shape; hollow?: boolean } | { width: number; dash?: number[] };
}

/** The sign of a key, as attributes of a path within 18 by 10 pixels. */
export function keyPath({ color, sign }: Key): Record<string, string> {
  if (sign === undefined) return { d: 'M4 0h10v10H4z', fill: color };
  if ('width' in sign) {
    const dash = sign.dash === undefined ? {} : { 'stroke-dasharray': sign.dash.join(' ') };
    return {
      d: 'M0 5h18',
      fill: 'none',
      stroke: color,
      'stroke-width': String(sign.width),
      ...dash,
    };
  }
  const d = pointPath(sign.shape, [9, 5], 3.6);
  return sign.hollow
    ? { d, fill: 'none', stroke: color, 'stroke-width': '1.6' }
    : { d, fill: color };
}

/** What the colours of a scale stand for. */
export interface Ramp {
  name: string;
  /** From the first to the last, evenly apart. */
  colors: readonly string[];
  /** What is labelled, each at a share of the length. */
  ticks: { at: number; label: string }[];
}

/** A place of a plot, in CSS pixels. */
export interface Place {
  left: number;
  top: number;
}

/** A chart to be drawn. */
export interface ChartSpec {
  /** What it shows, for those who do not see it. */
  label: string;
  /** What stands above it where it is saved; its label unless said. */
  title?: string;
  data: uPlot.AlignedData;
  options(colors: Palette): Omit<uPlot.Options, 'width' | 'height'>;
  /** What lies at a place of the plot. */
  tip?: (plot: uPlot, left: number, top: number) => Tip | null;
  /** Where an arrow key leads from a place; some pixels on unless said. */
  step?: (plot: uPlot, from: Place | null, across: number, down: number) => Place | null;
  /** What its colours stand for, to stand in it where it is saved. */
  keys?(colors: Palette): Key[];
  ramp?(colors: Palette): Ramp;
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

/** Nothing that uPlot draws itself. */
export const NOTHING: uPlot.Series = { paths: () => null, points: { show: false } };

/** A pointer that marks where it is, and neither zooms nor selects by itself. */
export const POINTER: uPlot.Cursor = { points: { show: false }, drag: { x: false, y: false } };

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
