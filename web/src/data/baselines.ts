// The response times of the four baselines, as tables and strips show them.
import type { Characteristics, Estimate } from './views.gen';

/** The mean response times of SR, RR, SW and RW. */
export function baselineTimes(found: Characteristics | null | undefined): (Estimate | undefined)[] {
  return [
    found?.sequential_read_ns,
    found?.random_read_ns,
    found?.sequential_write_ns,
    found?.random_write_ns,
  ].map((estimate) => estimate ?? undefined);
}

/** The same in ms. */
export function baselineMs(found: Characteristics | null | undefined): (number | undefined)[] {
  return baselineTimes(found).map((e) => (e === undefined ? undefined : e.value / 1e6));
}

/** The decades of ms that hold some times, and those of the paper's drives if so wished. */
export function decadesOf(
  times: (number | undefined)[],
  [least, most]: [number, number] = [Number.POSITIVE_INFINITY, 0],
): { low: number; high: number } {
  const known = times.filter((ms): ms is number => ms !== undefined && ms > 0);
  if (known.length === 0 && most === 0) return { low: -1, high: 1 };
  const low = Math.floor(Math.log10(Math.min(least, ...known)));
  const high = Math.ceil(Math.log10(Math.max(most, ...known)));
  return { low, high: Math.max(high, low + 1) };
}
