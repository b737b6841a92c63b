// The mean response times of the four baselines, for tables and strips.
import type { Characteristics, Estimate } from './views.gen';

/** The mean response times of SR, RR, SW and RW in nanoseconds. */
export function baselineTimes(
  characteristics: Characteristics | null | undefined,
): (Estimate | undefined)[] {
  return [
    characteristics?.sequential_read_ns,
    characteristics?.random_read_ns,
    characteristics?.sequential_write_ns,
    characteristics?.random_write_ns,
  ].map((estimate) => estimate ?? undefined);
}

/** The mean response times of SR, RR, SW and RW in milliseconds. */
export function baselineMs(
  characteristics: Characteristics | null | undefined,
): (number | undefined)[] {
  return baselineTimes(characteristics).map((e) => (e === undefined ? undefined : e.value / 1e6));
}

/** The exponents of the powers of ten around some times in ms; `least` and `most` widen them. */
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
