// The heat map of a trace: bytes by time and address.
import type uPlot from 'uplot';
import type { HeatMap } from '../data/trace.gen';
import { bytes, longTime } from '../format';
import { BYTES, measureAxis, sinceStart } from './measure';
import { heatColor, type Palette } from './palette';
import { type ChartSpec, common, NOTHING, POINTER } from './spec';

/** The bytes that the map counts. */
export type MapContent = 'all' | 'read' | 'written';

/** The cells of a map, with the least and the most bytes in a cell that is not empty. */
export interface Cells {
  bytes: number[];
  columns: number;
  least: number;
  most: number;
}

/** The cells of a map for a kind of bytes. */
export function cellsOf(map: HeatMap, shown: MapContent): Cells {
  const cells =
    shown === 'all' ? map.read.map((read, i) => read + (map.written[i] ?? 0)) : map[shown];
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const value of cells) {
    if (value > 0) least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return { bytes: cells, columns: map.rows === 0 ? 0 : cells.length / map.rows, least, most };
}

/** The end of a map's time axis, in nanoseconds. */
export function mapEnd(map: HeatMap): number {
  return map.rows === 0 ? 0 : (map.read.length / map.rows) * map.column_ns;
}

/** Creates the heat map of a trace. */
export function heatMap(map: HeatMap, shown: MapContent): ChartSpec {
  const cells = cellsOf(map, shown);
  const [end, top] = [mapEnd(map), map.rows * map.row_bytes];
  const of = shown === 'all' ? 'read and written' : shown;
  const across = sinceStart(end);
  return {
    title: `Bytes ${of} by time and address`,
    ramp: (colors) => ({
      name: 'bytes in a cell, on a log scale',
      colors: colors.heat,
      ticks: [
        ...(cells.most > cells.least ? [{ at: 0, label: bytes(cells.least) }] : []),
        { at: 1, label: bytes(cells.most) },
      ],
    }),
    label: `Bytes ${of} by time and address: ${cells.columns} columns of ${longTime(map.column_ns)}, ${map.rows} rows of ${bytes(map.row_bytes)}; the most in one cell is ${bytes(cells.most)}.`,
    data: [
      [0, end],
      [0, top],
    ] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: POINTER,
      scales: {
        x: { time: false, range: () => [0, end || 1] },
        y: { range: () => [0, top || 1] },
      },
      axes: [
        { ...measureAxis(colors, across, 'x'), grid: { show: false } },
        { ...measureAxis(colors, BYTES, 'y'), grid: { show: false } },
      ],
      series: [{}, NOTHING],
      hooks: { draw: [(u) => paint(u, map, cells, colors)] },
    }),
    tip: (u, left, top) => {
      const column = Math.floor(u.posToVal(left, 'x') / map.column_ns);
      const row = Math.floor(u.posToVal(top, 'y') / map.row_bytes);
      if (column < 0 || row < 0 || column >= cells.columns || row >= map.rows) return null;
      const i = column * map.rows + row;
      const [from, address] = [column * map.column_ns, row * map.row_bytes];
      return {
        left,
        top,
        title: `${longTime(from)} to ${longTime(from + map.column_ns)}`,
        rows: [
          ['from address', bytes(address)],
          ['to below', bytes(address + map.row_bytes)],
          ['read', bytes(map.read[i])],
          ['written', bytes(map.written[i])],
        ],
      };
    },
  };
}

function paint(u: uPlot, map: HeatMap, cells: Cells, colors: Palette): void {
  const { least, most } = cells;
  /** A log scale, which keeps small values visible beside large ones. */
  const share = (value: number) =>
    most > least ? Math.log(value / least) / Math.log(most / least) : 1;
  const x = (column: number) => Math.round(u.valToPos(column * map.column_ns, 'x', true));
  const y = (row: number) => Math.round(u.valToPos(row * map.row_bytes, 'y', true));
  for (const [i, value] of cells.bytes.entries()) {
    if (value === 0) continue;
    const [column, row] = [Math.floor(i / map.rows), i % map.rows];
    const [left, top] = [x(column), y(row + 1)];
    u.ctx.fillStyle = heatColor(colors, share(value));
    u.ctx.fillRect(left, top, Math.max(1, x(column + 1) - left), Math.max(1, y(row) - top));
  }
}
