// The curves of a table: its numbers against one of its columns.
import type { Table } from '../data/table';
import { count } from '../format';
import { type Line, lineChart } from './lines';
import type { Palette } from './palette';
import type { ChartSpec } from './spec';

/** The colours of the curves, in their order. */
const COLORS: Line['color'][] = [
  (colors: Palette) => colors.read,
  (colors: Palette) => colors.write,
  (colors: Palette) => colors.average,
  (colors: Palette) => colors.other.color,
];

/** The maximum number of curves. */
export const MAX_CURVES = COLORS.length;

/** Writes integers in full, and other numbers with six significant digits. */
const write = (value: number) =>
  Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(6)));

/** Creates the curves of some columns against column `across`, or against the row numbers. */
export function tableChart(table: Table, across: number | undefined, shown: number[]): ChartSpec {
  const places = across === undefined ? undefined : table.columns[across]?.numbers;
  const name = across === undefined ? 'row' : (table.columns[across]?.name ?? '');
  const order = table.rows
    .map((_, row) => row)
    .filter((row) => places === undefined || places[row] != null)
    .sort((a, b) => (places === undefined ? a - b : (places[a] ?? 0) - (places[b] ?? 0)));
  const lines = shown.slice(0, MAX_CURVES).map((column, nth): Line => {
    const numbers = table.columns[column]?.numbers ?? [];
    return {
      name: table.columns[column]?.name ?? '',
      color: COLORS[nth] ?? ((colors: Palette) => colors.read),
      sparse: order.length <= 100,
      values: order.map((row) => numbers[row] ?? null),
    };
  });
  const names = lines.map((line) => line.name).join(', ');
  return lineChart({
    heading: names,
    label: `${names} against ${name}, ${count(order.length)} rows.`,
    x: order.map((row) => places?.[row] ?? row + 1),
    lines,
    across: { title: name, write },
    up: { title: lines.length === 1 ? (lines[0]?.name ?? '') : 'value', write },
    title: (x) => `${name} ${write(x)}`,
  });
}
