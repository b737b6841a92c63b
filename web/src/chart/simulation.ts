// The charts of a simulation.
import type {
  AmplificationReport,
  CleaningReport,
  EraseReport,
  LatencyHeatMap,
  UtilizationReport,
  WearMapReport,
} from '../data/simulation.gen';
import {
  bytes,
  count,
  counted,
  decimal,
  distinctLabels,
  exactTime,
  longTime,
  percent,
  short,
  time,
} from '../format';
import { timeTicks } from './axes';
import { barChart } from './bars';
import { type Cells, cellChart } from './cells';
import type { Measure } from './measure';
import { AXIS, namesBeside, timeAxisBelow, timeRange, timeScale } from './overtime';
import type { Cause, Palette } from './palette';
import { axis, type ChartSpec } from './spec';
import { type StackPart, stackChart } from './stack';
import type { Zoom } from './zoom.svelte';

/** The causes in the order of stacking, lowest first. */
const ORDER: Cause[] = [
  'host',
  'cleaning',
  'switch merges',
  'partial merges',
  'full merges',
  'mapping',
  'folding',
  'wear',
];

/** The causes of some counts, in the order of stacking; unknown ones come last. */
export function causesOf(counts: Record<string, unknown>): string[] {
  const place = (cause: string) => (ORDER as string[]).indexOf(cause);
  const last = (at: number) => (at < 0 ? ORDER.length : at);
  return Object.keys(counts).sort((a, b) => last(place(a)) - last(place(b)));
}

/** The colour of a cause. */
export const causeColor = (cause: string) => (colors: Palette) =>
  colors.causes[cause as Cause] ?? colors.other.color;

const PAGES: Measure = { write: (pages) => count(Math.round(pages)) };
const TIMES: Measure = {
  write: (ratio) => `×${short(ratio)}`,
  labels: (ratios) => distinctLabels(ratios, short).map((label) => `×${label}`),
};

/** The quantity of the chart over time. */
export type Flash = 'amplification' | 'programs' | 'reads' | 'erases';

const FLASH: Record<Flash, { title: string; together: string; up: Measure }> = {
  amplification: {
    title: 'Write amplification over time, by cause',
    together: 'write amplification',
    up: TIMES,
  },
  programs: { title: 'Flash pages programmed over time, by cause', together: 'pages', up: PAGES },
  reads: { title: 'Flash pages read over time, by cause', together: 'pages', up: PAGES },
  erases: { title: 'Blocks erased over time, by cause', together: 'blocks', up: PAGES },
};

/** Creates the chart of flash operations over time by cause, as counts or per page that the host wrote. */
export function flashOverTime(over: AmplificationReport, shown: Flash, zoom: Zoom): ChartSpec {
  const counts = over[shown === 'amplification' ? 'programs' : shown];
  // Older documents lack the bytes that the host wrote; the pages programmed for it stand in.
  const page = over.page_bytes ?? 0;
  const host =
    page > 0 ? (over.host_bytes ?? []).map((bytes) => bytes / page) : (over.programs.host ?? []);
  const parts = causesOf(counts).map((cause): StackPart => {
    const values = counts[cause] ?? [];
    // A bucket in which the host wrote nothing has no write amplification.
    const relative = values.map((pages, i) => (host[i] ? pages / host[i] : null));
    const color = causeColor(cause);
    return { name: cause, color, values: shown === 'amplification' ? relative : values };
  });
  const { title, together, up } = FLASH[shown];
  return stackChart({
    title,
    label: `${title}: ${parts.map(({ name }) => name).join(', ')}, in buckets of ${longTime(over.bucket_ns)}.`,
    bucket_ns: over.bucket_ns,
    parts,
    up,
    zoom,
    together,
  });
}

/** Creates the heat map of each unit's utilization over time. */
export function busyMap({ units, bucket_ns: bucket }: UtilizationReport, zoom: Zoom): ChartSpec {
  const busy = units.map((unit) => unit.busy_by_bucket_ns);
  const columns = Math.max(1, ...busy.map((times) => times.length));
  const end = zoom.whole[1];
  // The last bucket may be shorter than the others.
  const share = (column: number, row: number) => {
    const long = Math.min(bucket, Math.max(1, end - column * bucket));
    return Math.min(1, (busy[row]?.[column] ?? 0) / long);
  };
  const title = 'Utilization of the units';
  return cellChart({
    title,
    label: `${title}: ${counted(units.length, 'unit')} over ${longTime(end)}, in buckets of ${longTime(bucket)}.`,
    columns,
    rows: units.length,
    width: bucket,
    value: share,
    scale: {
      name: 'share of the time',
      low: 0,
      high: 1,
      write: (part) => `${short(100 * part)} %`,
    },
    tip: (column, row) => ({
      title: `unit ${row}, ${timeRange(column * bucket, Math.min(end, (column + 1) * bucket))}`,
      rows: [
        ['busy', percent(share(column, row))],
        ['busy time', time(busy[row]?.[column] ?? 0)],
        ['busy overall', percent(units[row]?.busy_share ?? 0)],
      ],
    }),
    downwards: true,
    x: (colors) => ({ scale: timeScale(zoom), axis: timeAxisBelow(colors) }),
    y: (colors) =>
      namesBeside(
        colors,
        units.map((_, row) => ({ at: row + 0.5, name: `unit ${row}` })),
      ),
  });
}

/** Creates the chart of each unit's busy time by cause, as shares of the whole time. */
export function unitsByCause({ units }: UtilizationReport): ChartSpec {
  const causes = [...new Set(units.flatMap(({ commands }) => commands.map(({ cause }) => cause)))];
  const ordered = causesOf(Object.fromEntries(causes.map((cause) => [cause, 0])));
  const share = (unit: number, cause: string) =>
    (units[unit]?.commands ?? [])
      .filter((use) => use.cause === cause)
      .reduce((sum, use) => sum + use.busy_share, 0);
  return barChart({
    heading: 'Utilization of the units by cause',
    label: 'Utilization of each unit by cause, in percent of the time.',
    title: (unit) => `unit ${unit}`,
    names: units.map((_, unit) => String(unit)),
    axis: 'unit',
    parts: ordered.map((cause) => ({
      name: cause,
      values: units.map((_, unit) => 100 * share(unit, cause)),
      color: causeColor(cause),
    })),
    write: (share) => `${short(share)} %`,
  });
}

/** The time from which the wear map counts erases. */
export type Since = 'measurement' | 'new';

/** The maximum number of cells in a line. */
const ACROSS = 128;

/** The layout of the wear map: the number of lines, the first line of each unit, and the cells in a line. */
export function wearLayout({ units }: WearMapReport): {
  lines: number;
  first: number[];
  across: number;
} {
  const most = Math.max(1, ...units.map(({ erases }) => erases.length));
  const across = Math.min(ACROSS, most);
  const first: number[] = [];
  let lines = 0;
  for (const { erases } of units) {
    first.push(lines);
    // An empty line separates units that take several lines.
    lines += Math.ceil(erases.length / across) + (most > across ? 1 : 0);
  }
  return { lines: Math.max(1, lines - (most > across ? 1 : 0)), first, across };
}

/** The height of the wear map in CSS pixels. */
export const wearHeight = (map: WearMapReport) =>
  Math.round(Math.min(620, Math.max(60, wearLayout(map).lines * 14)) + 40);

/** Creates the wear map: the erases of each block, or of each group of blocks. */
export function wearMap(map: WearMapReport, since: Since): ChartSpec {
  const { lines, first, across } = wearLayout(map);
  const each = map.blocks_per_cell;
  const values = map.units.map((unit) => (since === 'new' ? unit.erases_since_new : unit.erases));
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const of of values) {
    for (const erases of of) [low, high] = [Math.min(low, erases), Math.max(high, erases)];
  }
  const cellOf = (column: number, line: number): { unit: number; cell: number } | null => {
    const unit = first.findLastIndex((start) => start <= line);
    const cell = (line - (first[unit] ?? 0)) * across + column;
    return cell < (values[unit]?.length ?? 0) ? { unit, cell } : null;
  };
  const words = since === 'new' ? 'since the drive was new' : 'in the measurement';
  const blocks = map.units.reduce((sum, unit) => sum + unit.blocks, 0);
  const cells: Cells = {
    title: `Erases of each block ${words}`,
    label: `Erases ${words} of ${counted(blocks, 'block')}${each > 1 ? `, ${count(each)} to a cell` : ''}: ${count(Number.isFinite(low) ? low : 0)} to ${count(high)}.`,
    columns: across,
    rows: lines,
    width: 1,
    value: (column, line) => {
      const at = cellOf(column, line);
      return at === null ? null : (values[at.unit]?.[at.cell] ?? null);
    },
    scale: {
      name: `erases ${words}${each > 1 ? `, of ${count(each)} blocks together` : ''}`,
      low: Number.isFinite(low) ? low : 0,
      high,
      whole: true,
      write: count,
    },
    tip: (column, line) => {
      const at = cellOf(column, line);
      const unit = at === null ? undefined : map.units[at.unit];
      if (at === null || unit === undefined) return null;
      const block = unit.first_block + at.cell * each;
      const last = Math.min(unit.first_block + unit.blocks, block + each) - 1;
      const most = unit.most_since_new?.[at.cell];
      return {
        title: each > 1 ? `blocks ${block} to ${last}` : `block ${block}`,
        rows: [
          ['erases in the measurement', count(unit.erases[at.cell])],
          ['since new', count(unit.erases_since_new[at.cell])],
          ...(most == null ? [] : [['most of any block', count(most)] as [string, string]]),
          ['unit', count(unit.unit)],
        ],
      };
    },
    downwards: true,
    x: (colors) => ({
      scale: { time: false, range: () => [0, across] },
      axis: {
        ...axis(colors),
        size: 10,
        grid: { show: false },
        ticks: { show: false },
        values: () => [],
      },
    }),
    y: (colors) =>
      namesBeside(
        colors,
        map.units.map(({ unit, erases }, i) => ({
          at: (first[i] ?? 0) + Math.ceil(erases.length / across) / 2,
          name: `unit ${unit}`,
        })),
      ),
  };
  return cellChart(cells);
}

/** Creates the histogram of blocks by erases since the drive was new. */
export function erasesHistogram({ histogram }: EraseReport): ChartSpec {
  const { counts, from, width } = histogram;
  const begin = (i: number) => from + i * width;
  return barChart({
    heading: 'Blocks by erases since the drive was new',
    label: 'Blocks by their number of erases since the drive was new.',
    names: counts.map((_, i) => count(Math.floor(begin(i)))),
    axis: width > 1 ? 'erases, from' : 'erases',
    parts: [{ name: 'blocks', values: counts, color: (colors) => colors.other.color }],
    title: (i) =>
      width > 1
        ? `${decimal(begin(i))} to below ${decimal(begin(i + 1))} erases`
        : counted(begin(i), 'erase'),
  });
}

/** Creates the histogram of cleaned blocks by their valid pages. */
export function victims(report: CleaningReport): ChartSpec {
  const counts = report.victims_by_valid_pages;
  return barChart({
    heading: 'Valid pages of cleaned blocks',
    label: 'Cleaned blocks by their number of valid pages.',
    names: counts.map((_, pages) => count(pages)),
    axis: 'valid pages of a cleaned block',
    parts: [{ name: 'blocks', values: counts, color: causeColor('cleaning') }],
    title: (pages) => counted(pages, 'valid page'),
  });
}

/** The IOs that the latency map counts. */
export type IoClass = 'all' | 'reads' | 'writes' | 'others';

/** Creates the heat map of latencies over time. */
export function latencyMap(map: LatencyHeatMap, ioClass: IoClass, zoom: Zoom): ChartSpec {
  const { bucket_ns, limits_ns } = map;
  const lists = ioClass === 'all' ? [map.reads, map.writes, map.others] : [map[ioClass]];
  const columns = Math.max(1, ...lists.map((list) => list.length));
  const rows = Math.max(1, limits_ns.length - 1);
  const ios = (column: number, row: number) =>
    lists.reduce((sum, list) => sum + (list[column]?.[row] ?? 0), 0);
  let most = 1;
  for (let column = 0; column < columns; column++) {
    for (let row = 0; row < rows; row++) most = Math.max(most, ios(column, row));
  }
  const limit = (row: number) => Math.max(1, limits_ns[row] ?? 1);
  const end = zoom.whole[1];
  return cellChart({
    title: 'Latencies over time',
    label: `Latencies over time, from ${time(limit(0))} to ${time(limit(rows))}; at most ${counted(most, 'IO')} in a cell, in buckets of ${longTime(bucket_ns)}.`,
    columns,
    rows,
    width: bucket_ns,
    value: (column, row) => ios(column, row) || null,
    scale: {
      name: 'IOs in a cell',
      low: 1,
      high: most,
      log: true,
      write: (n) => count(Math.round(n)),
    },
    tip: (column, row) => ({
      title: timeRange(column * bucket_ns, Math.min(end, (column + 1) * bucket_ns)),
      rows: [
        ['latency from', time(limit(row))],
        ['to below', time(limit(row + 1))],
        ['IOs', count(ios(column, row))],
      ],
    }),
    downwards: false,
    x: (colors) => ({ scale: timeScale(zoom), axis: timeAxisBelow(colors) }),
    y: (colors) => latencyAxis(colors, limits_ns),
  });
}

/** The axis of latencies: rows are bins of equal width on a log scale, and ticks are at round times. */
function latencyAxis(colors: Palette, limits: number[]) {
  const [low, high] = [Math.max(1, limits[0] ?? 1), Math.max(2, limits.at(-1) ?? 2)];
  const place = (ns: number) => ((limits.length - 1) * Math.log(ns / low)) / Math.log(high / low);
  const at = new Map(timeTicks(low, high, 9).map((ns) => [place(ns), ns]));
  return {
    ...axis(colors),
    scale: 'y',
    size: AXIS,
    grid: { show: false },
    splits: () => [...at.keys()],
    filter: (_u: unknown, splits: number[]) => splits,
    values: (_u: unknown, splits: number[]) => splits.map((split) => exactTime(at.get(split) ?? 0)),
  };
}

/** Creates the chart of write amplification in each window of the warm-up. */
export function warmUp(windows: number[], capacity: number): ChartSpec {
  return barChart({
    heading: 'Write amplification during the warm-up',
    label: `Write amplification in each window of the warm-up; a window is the capacity of the drive, ${bytes(capacity)}.`,
    names: windows.map((_, i) => count(i + 1)),
    axis: 'window of the warm-up',
    parts: [
      { name: 'write amplification', values: windows, color: (colors) => colors.other.color },
    ],
    title: (i) => `window ${count(i + 1)}`,
    write: short,
  });
}
