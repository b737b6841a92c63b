// Single IOs as rows of a table, and the work of the drive during one of them.
import type { Activity, Ios } from './views.gen';

/** A recorded IO. */
export interface Io {
  /** Its position in the run, from 0. */
  index: number;
  submitted_ns: number;
  latency_ns: number;
  offset_bytes: number;
  length_bytes: number;
  op: number;
  stream: number;
  errno: number;
  late_ns: number;
  /** The row of the IO in a picture of IOs in flight; IOs that overlap have different lanes. */
  lane: number;
}

/** The IOs at positions in [from, to) that `ios` contains. */
export function rowsOf(ios: Ios, from: number, to: number): Io[] {
  const rows = ios.latency_ns.flatMap((latency_ns, i): Io[] => {
    const index = ios.from + i;
    if (index < from || index >= to) return [];
    const of = (column: number[]) => column[i] ?? 0;
    return [
      {
        index,
        submitted_ns: of(ios.submitted_ns),
        latency_ns,
        offset_bytes: of(ios.offset_bytes),
        length_bytes: of(ios.length_bytes),
        op: of(ios.op),
        stream: of(ios.stream),
        errno: of(ios.errno),
        late_ns: of(ios.late_ns),
        lane: 0,
      },
    ];
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
