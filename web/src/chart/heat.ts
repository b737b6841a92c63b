// Bytes by time and address, as colours.
import type uPlot from 'uplot';
import type { HeatMap } from '../data/trace.gen';
import { bytes, longTime } from '../format';
import { BYTES, measureAxis, SINCE_START } from './lines';
import { heatColor } from './palette';
import { type ChartSpec, common } from './spec';

/** What the map shows. */
export type Shown = 'all' | 'read' | 'written';

/** The bytes of each cell. */
function cells(map: HeatMap, shown: Shown): number[] {
  if (shown !== 'all') return map[shown];
  return map.read.map((read, i) => read + (map.written[i] ?? 0));
}

/** A map of a trace. */
export function heatMap(map: HeatMap, shown: Shown): ChartSpec {
  const values = cells(map, shown);
  const columns = map.rows === 0 ? 0 : values.length / map.rows;
  const most = values.reduce((high, value) => Math.max(high, value), 1);
  const least = values.reduce((low, v) => (v > 0 ? Math.min(low, v) : low), most);
  const span: [number, number] = [columns * map.column_ns, map.rows * map.row_bytes];
  /** On a log scale, so that what is little is seen beside what is much. */
  const share = (value: number) =>
    most > least ? Math.log(value / least) / Math.log(most / least) : 1;
  return {
    label: `Bytes ${shown === 'all' ? 'read and written' : shown} by time and address: ${columns} columns of ${longTime(map.column_ns)}, ${map.rows} rows of ${bytes(map.row_bytes)}; the most in one is ${bytes(most)}.`,
    data: [
      [0, span[0]],
      [0, span[1]],
    ] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: () => [0, span[0] || 1] },
        y: { range: () => [0, span[1] || 1] },
      },
      axes: [
        { ...measureAxis(colors, SINCE_START, 'x'), grid: { show: false } },
        { ...measureAxis(colors, BYTES, 'y'), grid: { show: false } },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [
          (u) => {
            const { ctx } = u;
            ctx.save();
            for (const [i, value] of values.entries()) {
              if (value === 0) continue;
              const [column, row] = [Math.floor(i / map.rows), i % map.rows];
              const x = (at: number) => Math.round(u.valToPos(at * map.column_ns, 'x', true));
              const y = (at: number) => Math.round(u.valToPos(at * map.row_bytes, 'y', true));
              const [left, top] = [x(column), y(row + 1)];
              ctx.fillStyle = heatColor(colors, share(value));
              ctx.fillRect(left, top, Math.max(1, x(column + 1) - left), Math.max(1, y(row) - top));
            }
            ctx.restore();
          },
        ],
      },
    }),
    tip: (u, left, top) => {
      const column = Math.floor(u.posToVal(left, 'x') / map.column_ns);
      const row = Math.floor(u.posToVal(top, 'y') / map.row_bytes);
      if (column < 0 || row < 0 || column >= columns || row >= map.rows) return null;
      const i = column * map.rows + row;
      return {
        left,
        top,
        title: `from ${longTime(column * map.column_ns)}, address ${bytes(row * map.row_bytes)}`,
        rows: [
          ['read', bytes(map.read[i])],
          ['written', bytes(map.written[i])],
        ],
      };
    },
  };
}
