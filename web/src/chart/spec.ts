// The specification of a chart, and the parts that all charts share.
import type uPlot from 'uplot';
import { exactTime } from '../format';
import { timeTicks } from './axes';
import type { Palette } from './palette';
import { pointPath, type Shape } from './shapes';

/** A tooltip. */
export interface Tip {
  /** Its position, in CSS pixels within the plot. */
  left: number;
  top: number;
  title: string;
  rows: [string, string][];
  /** The address that a click opens. */
  href?: string;
  /** The name of the target that a click opens; `run` by default. */
  target?: string;
}

/** An entry of a legend. */
export interface Key {
  name: string;
  color: string;
  /** The colour of every second dash of a line that alternates between two. */
  second?: string;
  /** The point or the line to show instead of a coloured square. */
  sign?: { shape: Shape; hollow?: boolean } | { width: number; dash?: number[] };
}

/** The sign of a legend's entry, as attributes of a path within 18 by 10 pixels. */
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

/** The legend of a colour scale. */
export interface Ramp {
  name: string;
  /** The colours, evenly spaced. */
  colors: readonly string[];
  /** The ticks, each at a position from 0 to 1. */
  ticks: { at: number; label: string }[];
}

/** A position in a plot, in CSS pixels. */
export interface Place {
  left: number;
  top: number;
}

/** The specification of a chart. */
export interface ChartSpec {
  /** The text alternative, for screen readers. */
  label: string;
  /** The title in a saved file, and the base of its name. */
  title: string;
  data: uPlot.AlignedData;
  options(colors: Palette): Omit<uPlot.Options, 'width' | 'height'>;
  /** The tooltip at a position of the plot. */
  tip?: (plot: uPlot, left: number, top: number) => Tip | null;
  /** The next position of the keyboard cursor; a few pixels further by default. */
  step?: (plot: uPlot, from: Place | null, across: number, down: number) => Place | null;
  /** The legend, for the page and for a saved file. */
  keys?(colors: Palette): Key[];
  /** The legend of the colour scale. */
  ramp?(colors: Palette): Ramp;
}

const FONT = '11px system-ui, sans-serif';

/** The style of an axis. */
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

/** The options that all charts share. */
export const common = {
  legend: { show: false },
  padding: [10, 18, 0, 0] as uPlot.Padding,
};

/** A series that uPlot does not draw; hooks draw the chart. */
export const NOTHING: uPlot.Series = { paths: () => null, points: { show: false } };

/** A cursor without points, selection and zoom. */
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
