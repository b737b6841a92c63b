// Heat maps: a grid of cells, coloured by a number.
import type uPlot from 'uplot';
import { distinctLabels } from '../format';
import { timeTicks } from './axes';
import { within } from './marks';
import { between, type Palette, pointColor } from './palette';
import { type ChartSpec, common, NOTHING, POINTER, type Ramp, type Tip } from './spec';

/** The colour scale of a heat map, with the format of its numbers. */
export interface Scale {
  name: string;
  low: number;
  high: number;
  log?: boolean;
  /** True if ticks must be integers. */
  whole?: boolean;
  write(value: number): string;
}

/** The cells of a heat map. */
export interface Cells {
  title: string;
  label: string;
  columns: number;
  rows: number;
  /** The width of a column on the axis; the first column begins at 0. */
  width: number;
  /** The number of a cell, or null for an empty one. */
  value(column: number, row: number): number | null;
  scale: Scale;
  tip(column: number, row: number): Omit<Tip, 'left' | 'top'> | null;
  /** True if row 0 is at the top. */
  downwards: boolean;
  x(colors: Palette): { scale: uPlot.Scale; axis: uPlot.Axis };
  y(colors: Palette): uPlot.Axis;
}

/** The position of a number on a scale, from 0 to 1. */
export function shareOf({ low, high, log }: Scale, value: number): number {
  if (high <= low) return 1;
  if (!log) return (value - low) / (high - low);
  return Math.log(Math.max(low, value) / low) / Math.log(high / low);
}

/** The number of labels that a scale has room for. */
const LABELS = 5;

/** The ticks of a scale: round numbers on a log scale, else evenly spaced ones. */
function labelled({ low, high, log, whole }: Scale): number[] {
  if (high <= low) return [high];
  if (log) return timeTicks(low, high, LABELS);
  const step = (high - low) / (LABELS - 1);
  const even = whole ? Math.ceil(step) : step;
  const count = Math.floor((high - low) / even + 1e-9) + 1;
  return Array.from({ length: count }, (_, i) => low + i * even);
}

/** The legend of a colour scale. */
export const scaleRamp = (scale: Scale, colors: readonly string[]): Ramp => ({
  name: scale.name,
  colors,
  ticks: rampTicks(scale),
});

/** The ticks of a scale, without those that would repeat a label. */
function rampTicks(scale: Scale): Ramp['ticks'] {
  const values = labelled(scale);
  const labels = distinctLabels(values, scale.write);
  return values.flatMap((value, i) => {
    const label = labels[i] ?? '';
    return labels.indexOf(label) < i ? [] : [{ at: shareOf(scale, value), label }];
  });
}

/** Draws each cell as a pixel of a canvas. */
function draw(cells: Cells, colors: readonly string[]): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [Math.max(1, cells.columns), Math.max(1, cells.rows)];
  const pen = canvas.getContext('2d');
  if (pen === null) return canvas;
  const image = pen.createImageData(canvas.width, canvas.height);
  const points = new Uint32Array(image.data.buffer);
  for (let row = 0; row < cells.rows; row++) {
    for (let column = 0; column < cells.columns; column++) {
      const value = cells.value(column, row);
      if (value === null) continue;
      const at = cells.downwards ? row : cells.rows - 1 - row;
      points[at * canvas.width + column] = pointColor(between(colors, shareOf(cells.scale, value)));
    }
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

/** Creates a heat map. */
export function cellChart(cells: Cells): ChartSpec {
  const { columns, rows, width, downwards } = cells;
  const cellAt = (u: uPlot, left: number, top: number): [number, number] => [
    Math.floor(u.posToVal(left, 'x') / width),
    Math.floor(u.posToVal(top, 'y')),
  ];
  return {
    title: cells.title,
    label: cells.label,
    data: [
      [0, columns * width],
      [0, rows],
    ] as uPlot.AlignedData,
    ramp: (colors) => scaleRamp(cells.scale, colors.heat),
    options: (colors) => {
      const drawn = draw(cells, colors.heat);
      const { scale, axis } = cells.x(colors);
      return {
        ...common,
        cursor: POINTER,
        scales: {
          x: scale,
          y: { ...(downwards ? { dir: -1 as const } : {}), range: () => [0, rows || 1] },
        },
        axes: [axis, cells.y(colors)],
        series: [{}, NOTHING],
        hooks: { draw: [(u) => paint(u, drawn, columns * width)] },
      };
    },
    tip: (u, left, top) => {
      const [column, row] = cellAt(u, left, top);
      if (column < 0 || row < 0 || column >= columns || row >= rows) return null;
      const tip = cells.tip(column, row);
      return tip === null ? null : { ...tip, left, top };
    },
    step: (u, from, across, down) => {
      const [column, row] = from === null ? [0, 0] : cellAt(u, from.left, from.top);
      const within = (value: number, most: number) => Math.min(most - 1, Math.max(0, value));
      const perPixel = (u.posToVal(1, 'x') - u.posToVal(0, 'x')) / width;
      const stride = Math.max(1, Math.round(perPixel));
      const next = within(column + across * stride, columns);
      const line = within(row + (downwards ? down : -down), rows);
      return { left: u.valToPos((next + 0.5) * width, 'x'), top: u.valToPos(line + 0.5, 'y') };
    },
  };
}

function paint(u: uPlot, drawn: HTMLCanvasElement, end: number): void {
  within(u, () => {
    const { ctx, bbox } = u;
    const [left, right] = [u.valToPos(0, 'x', true), u.valToPos(end, 'x', true)];
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(drawn, left, bbox.top, right - left, bbox.height);
  });
}
