// How numbers are written, everywhere. A missing number is an en dash, never 0.
import type { Estimate, Unit } from './data/views.gen';

/** What stands where there is no datum. */
export const MISSING = '–';

/** A number with `digits` significant digits, without exponent, a true minus sign, thousands apart by commas. */
function significant(value: number, digits: number): string {
  return new Intl.NumberFormat('en-US', {
    minimumSignificantDigits: digits,
    maximumSignificantDigits: digits,
  })
    .format(value)
    .replace('-', '−');
}

/** The largest unit in which the value, rounded to three digits, is at least one. */
function scaled(value: number, units: readonly (readonly [string, number])[]): string {
  for (const [name, size] of units) {
    if (Math.abs(Number((value / size).toPrecision(3))) >= 1) {
      return `${significant(value / size, 3)} ${name}`;
    }
  }
  const [name, size] = units.at(-1) ?? ['', 1];
  return `${value === 0 ? '0' : significant(value / size, 3)} ${name}`;
}

const TIMES = [
  ['s', 1e9],
  ['ms', 1e6],
  ['µs', 1e3],
  ['ns', 1],
] as const;

const SIZES = [
  ['TiB', 1024 ** 4],
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
  ['B', 1],
] as const;

/** A response time with three digits: `345 µs`, `1.00 ms`. */
export function time(ns: number | null | undefined): string {
  return ns == null ? MISSING : scaled(ns, TIMES);
}

/** A time that was chosen, not measured, in full: `100 µs`, `25.6 ms`, `0 s`. */
export function exactTime(ns: number): string {
  const [name, size] = TIMES.find(([, unit]) => Math.abs(ns) >= unit) ?? ['s', 1e9];
  return `${plain(ns / size)} ${name}`;
}

const LONG_TIMES = [
  ['d', 86_400e9],
  ['h', 3_600e9],
  ['min', 60e9],
] as const;

/** A time that may be days, with three digits: `3.50 d`, `12.5 min`, `90.0 s`. */
export function longTime(ns: number | null | undefined): string {
  const unit = ns == null ? undefined : LONG_TIMES.find(([, size]) => ns >= 2 * size);
  return ns == null || unit === undefined ? time(ns) : `${significant(ns / unit[1], 3)} ${unit[0]}`;
}

/**
 * Times on an axis, in full and in one unit: `0`, `0.5 d`, `1 d`. Halves of what clocks and
 * calendars count read well, of seconds and below any tenth.
 */
export function axisTimes(all: number[]): string[] {
  const fits = (size: number, parts: number) =>
    all.some((ns) => ns >= size) && all.every((ns) => Number.isInteger((ns / size) * parts));
  const unit = LONG_TIMES.find(([, s]) => fits(s, 2)) ?? TIMES.find(([, s]) => fits(s, 10));
  const [name, size] = unit ?? ['ns', 1];
  return all.map((ns) => (ns === 0 ? '0' : `${plain(ns / size)} ${name}`));
}

/** A share as a percentage with three digits: `12.3 %`, `0.0450 %`, `100 %`. */
export function percent(share: number | null | undefined): string {
  return share == null ? MISSING : `${decimal(100 * share)} %`;
}

/** A number with three digits, or whole where it is large: `1.84`, `0.0456`, `16,284`. */
export function decimal(value: number | null | undefined): string {
  if (value == null) return MISSING;
  if (value === 0) return '0';
  return value >= 1000 ? plain(Math.round(value)) : significant(value, 3);
}

/** A number with three digits at most, where it is round: `0.5`, `20`, `0.0002`. */
export function short(value: number): string {
  return new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 }).format(value);
}

/** A number with five digits at most, where it is round: `0.5`, `61,256`, `130.63`. */
export function fine(value: number): string {
  return new Intl.NumberFormat('en-US', { maximumSignificantDigits: 5 })
    .format(value)
    .replace('-', '−');
}

/** A value that is estimated, with its interval where it is not exact: `9 (8 to 11)`. */
export function estimate(
  found: Estimate | null | undefined,
  write: (value: number) => string,
): string {
  if (found == null) return MISSING;
  const { value, low, high } = found;
  const exact = low == null || high == null || low === high;
  return exact ? write(value) : `${write(value)} (${interval(low, high, write)})`;
}

/** A size in the largest binary unit that holds it: `32 KiB`, `1.5 KiB`, `29.8 GiB`. */
export function bytes(size: number | null | undefined): string {
  if (size == null) return MISSING;
  const [name, unit] = SIZES.find(([, u]) => Math.abs(size) >= u) ?? ['B', 1];
  const value = size / unit;
  return `${Number.isInteger(value * 8) ? plain(value) : significant(value, 3)} ${name}`;
}

/** An address, in full: `734,035,968`. */
export function count(value: number | null | undefined): string {
  return value == null ? MISSING : plain(value);
}

/** Bytes over time: `312 MiB/s`. */
export function throughput(bytesPerSecond: number | null | undefined): string {
  return bytesPerSecond == null ? MISSING : `${scaled(bytesPerSecond, SIZES)}/s`;
}

/** A ratio with two digits, as in the paper: `×2.1`, `×0.62`, `×20`. */
export function ratio(value: number | null | undefined): string {
  return value == null
    ? MISSING
    : `×${value >= 100 ? plain(Math.round(value)) : String(Number(value.toPrecision(2)))}`;
}

/** Milliseconds without their unit, for columns headed `ms`: `0.345`, `5.90`. */
export function milliseconds(ns: number | null | undefined): string {
  if (ns == null) return MISSING;
  return ns === 0 ? '0' : significant(ns / 1e6, ns >= 1e8 ? 3 : 2);
}

/** The value of a varied parameter, in full: `32 KiB`, `100 µs`, `−1`. */
export function parameter(value: number, unit: Unit): string {
  if (unit === 'bytes') return value === 0 ? '0' : bytes(value);
  if (unit === 'nanoseconds') return exactTime(value);
  return plain(value);
}

/** Both ends of an interval: `341 µs to 349 µs`, or a dash where there is none. */
export function interval(
  low: number | null | undefined,
  high: number | null | undefined,
  write: (value: number) => string,
): string {
  return low == null || high == null ? MISSING : `${write(low)} to ${write(high)}`;
}

/** How long something took: `24 min 14 s`, `3.2 s`. */
export function elapsed(from: string, to: string | null | undefined): string {
  const seconds = to == null ? Number.NaN : (Date.parse(to) - Date.parse(from)) / 1000;
  if (!Number.isFinite(seconds) || seconds < 0) return MISSING;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours > 0) return `${plain(hours)} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${plain(seconds)} s`;
}

/** A moment, in UTC: `2026-03-14 09:26 UTC`. What is no date is left as it stands. */
export function moment(rfc3339: string): string {
  const parsed = new Date(rfc3339);
  if (Number.isNaN(parsed.getTime())) return rfc3339;
  return `${parsed.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** The day of a moment, in UTC: `2026-03-14`. What is no date is left as it stands. */
export function day(rfc3339: string): string {
  return moment(rfc3339).slice(0, 10);
}

/** Up to three decimals, a true minus sign, thousands apart. */
function plain(value: number): string {
  return new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 })
    .format(value)
    .replace('-', '−');
}

/** Which IOs are in view: `IOs 1,200 to 2,400 of 5,120`, `all 5,120 IOs`. */
export function inView(from: number, to: number, whole: number): string {
  const [first, last] = [Math.max(0, Math.floor(from)), Math.min(whole, Math.ceil(to)) - 1];
  if (first === 0 && last === whole - 1) return `all ${plain(whole)} IOs`;
  return `IOs ${plain(first)} to ${plain(last)} of ${plain(whole)}`;
}

/** An operation by its code in the records: `read`, `write`, `trim`, `flush`. */
export const opName = (code: number | undefined) =>
  ['read', 'write', 'trim', 'flush'][code ?? 0] ?? `operation ${code}`;

/** The name of a percentile, in percent: `p50`, `p99.9`, `min`, `max`. */
export function percentile(percent: number): string {
  if (percent === 0) return 'min';
  return percent === 100 ? 'max' : `p${plain(percent)}`;
}
