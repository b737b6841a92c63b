// Single IOs as rows of a table, and the work of the drive during one of them.
import { COLUMNS } from './columns.gen';
import type { Activity, Ios } from './views.gen';

/** The name of a column of a record. */
export type ColumnName = (typeof COLUMNS)[number]['name'];

/** A recorded IO. */
export interface Io extends Record<ColumnName, number> {
  /** Its position in the run, from 0. */
  index: number;
  /** The row of the IO in a picture of IOs in flight; IOs that overlap have different lanes. */
  lane: number;
}

/** The IOs at positions in [from, to) that `ios` contains. */
export function rowsOf(ios: Ios, from: number, to: number): Io[] {
  const rows = ios.latency_ns.flatMap((_, i): Io[] => {
    const index = ios.from + i;
    if (index < from || index >= to) return [];
    const values = COLUMNS.map(({ name }) => [name, ios[name][i] ?? 0]);
    return [{ ...(Object.fromEntries(values) as Record<ColumnName, number>), index, lane: 0 }];
  });
  assignLanes(rows);
  return rows;
}

/** Assigns each IO the first free lane, so that IOs that overlap in time have different ones. */
function assignLanes(rows: Io[]): void {
  const free: number[] = [];
  for (const io of rows.toSorted((a, b) => a.submitted_ns - b.submitted_ns)) {
    const lane = free.findIndex((until) => until <= io.submitted_ns);
    io.lane = lane < 0 ? free.length : lane;
    free[io.lane] = io.submitted_ns + io.latency_ns;
  }
}

/** A background operation of the drive, and the time for which it overlaps an IO. */
export interface Overlap {
  activity: Activity;
  overlap_ns: number;
}

/** The background operations that overlap an IO, longest overlap first. */
export function during(io: Io, activities: Activity[]): Overlap[] {
  const end = io.submitted_ns + io.latency_ns;
  return activities
    .map((activity) => ({
      activity,
      overlap_ns: Math.min(end, activity.end_ns) - Math.max(io.submitted_ns, activity.start_ns),
    }))
    .filter(({ overlap_ns }) => overlap_ns > 0)
    .sort((a, b) => b.overlap_ns - a.overlap_ns);
}
