// Formats every number of the page. A missing number is an en dash, never 0.
import type { Estimate, Unit } from './data/views.gen';

/** The sign for a missing value. */
export const MISSING = '–';

/** A number with `digits` significant digits, a true minus sign and commas between thousands, never an exponent. */
function significant(value: number, digits: number): string {
  return new Intl.NumberFormat('en-US', {
    minimumSignificantDigits: digits,
    maximumSignificantDigits: digits,
  })
    .format(value)
    .replace('-', '−');
}

/** A value in the largest unit that gives at least 1 after rounding to three digits. */
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

/** A configured time without rounding: `100 µs`, `25.6 ms`, `0 s`. */
export function exactTime(ns: number): string {
  const [name, size] = TIMES.find(([, unit]) => Math.abs(ns) >= unit) ?? ['s', 1e9];
  return `${plain(ns / size)} ${name}`;
}

const LONG_TIMES = [
  ['d', 86_400e9],
  ['h', 3_600e9],
  ['min', 60e9],
] as const;

/** A time up to days, with three digits: `3.50 d`, `12.5 min`, `90.0 s`. */
export function longTime(ns: number | null | undefined): string {
  const unit = ns == null ? undefined : LONG_TIMES.find(([, size]) => ns >= 2 * size);
  return ns == null || unit === undefined ? time(ns) : `${significant(ns / unit[1], 3)} ${unit[0]}`;
}

/**
 * The labels of a time axis, unrounded and in one unit: `0`, `0.5 d`, `1 d`. Minutes, hours and days
 * have halves; seconds and smaller units have tenths.
 */
export function axisTimes(all: number[]): string[] {
  const fits = (size: number, parts: number) =>
    all.some((ns) => ns >= size) && all.every((ns) => Number.isInteger((ns / size) * parts));
  const unit = LONG_TIMES.find(([, s]) => fits(s, 2)) ?? TIMES.find(([, s]) => fits(s, 10));
  const [name, size] = unit ?? ['ns', 1];
  return all.map((ns) => (ns === 0 ? '0' : `${plain(ns / size)} ${name}`));
}

/** A share from 0 to 1 as a percentage with three digits: `12.3 %`, `0.0450 %`, `100 %`. */
export function percent(share: number | null | undefined): string {
  return share == null ? MISSING : `${decimal(100 * share)} %`;
}

/** A number with three digits, or an integer from 1000 on: `1.84`, `0.0456`, `16,284`. */
export function decimal(value: number | null | undefined): string {
  if (value == null) return MISSING;
  if (value === 0) return '0';
  return value >= 1000 ? plain(Math.round(value)) : significant(value, 3);
}

/** A number with at most three digits and no trailing zeros: `0.5`, `20`, `0.0002`. */
export function short(value: number): string {
  return new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 }).format(value);
}

/** A number with at most five digits and no trailing zeros: `0.5`, `61,256`, `130.63`. */
export function fine(value: number): string {
  return new Intl.NumberFormat('en-US', { maximumSignificantDigits: 5 })
    .format(value)
    .replace('-', '−');
}

/** An estimate with its interval, unless it is exact: `9 (8 to 11)`. */
export function estimate(
  estimated: Estimate | null | undefined,
  write: (value: number) => string,
): string {
  if (estimated == null) return MISSING;
  const { value, low, high } = estimated;
  const exact = low == null || high == null || low === high;
  return exact ? write(value) : `${write(value)} (${interval(low, high, write)})`;
}

/** A size in the largest binary unit that does not exceed it: `32 KiB`, `1.5 KiB`, `29.8 GiB`. */
export function bytes(size: number | null | undefined): string {
  if (size == null) return MISSING;
  const [name, unit] = SIZES.find(([, u]) => Math.abs(size) >= u) ?? ['B', 1];
  const value = size / unit;
  return `${Number.isInteger(value * 8) ? plain(value) : significant(value, 3)} ${name}`;
}

/** A count or an address, unrounded: `734,035,968`. */
export function count(value: number | null | undefined): string {
  return value == null ? MISSING : plain(value);
}

/** A count with its noun in the singular or the plural: `1 run`, `12 runs`, `2 processes`. */
export function counted(n: number, noun: string, plural = `${noun}s`): string {
  return `${count(n)} ${n === 1 ? noun : plural}`;
}

/** A throughput in bytes per second: `312 MiB/s`. */
export function throughput(bytesPerSecond: number | null | undefined): string {
  return bytesPerSecond == null ? MISSING : `${scaled(bytesPerSecond, SIZES)}/s`;
}

/** A ratio with two digits, as in the uFLIP paper: `×2.1`, `×0.62`, `×20`. */
export function ratio(value: number | null | undefined): string {
  return value == null
    ? MISSING
    : `×${value >= 100 ? plain(Math.round(value)) : String(Number(value.toPrecision(2)))}`;
}

/** Nanoseconds as milliseconds without the unit, for columns headed `ms`: `0.35`, `5.9`. */
export function milliseconds(ns: number | null | undefined): string {
  if (ns == null) return MISSING;
  return ns === 0 ? '0' : significant(ns / 1e6, ns >= 1e8 ? 3 : 2);
}

/** A number with at most `digits` significant digits. */
function rounded(value: number, digits: number): string {
  return new Intl.NumberFormat('en-US', { maximumSignificantDigits: digits })
    .format(value)
    .replace('-', '−');
}

/** A value in the largest of some units that does not exceed it, with at most `digits` digits. */
function inUnits(units: readonly (readonly [string, number])[]) {
  return (value: number, digits: number): string => {
    const [name, size] = units.find(([, s]) => Math.abs(value) >= s) ?? units.at(-1) ?? ['', 1];
    return value === 0 ? '0' : `${rounded(value / size, digits)} ${name}`;
  };
}

/** The formats that have a version with a variable number of digits. */
const FINER = new Map<(value: number) => string, (value: number, digits: number) => string>([
  [bytes, inUnits(SIZES)],
  [time, inUnits(TIMES)],
  [decimal, rounded],
  [short, rounded],
]);

/**
 * The labels of an axis: `write` formats each tick. If that gives two ticks the same label, such as
 * `658 MiB` twice, all of them have as many digits as they need to differ.
 */
export function distinctLabels(ticks: number[], write: (value: number) => string): string[] {
  const labels = ticks.map((tick) => write(tick));
  const different = new Set(ticks).size;
  const finer = FINER.get(write);
  if (finer === undefined || new Set(labels).size === different) return labels;
  for (let digits = 4; digits <= 15; digits++) {
    const longer = ticks.map((tick) => finer(tick, digits));
    if (new Set(longer).size === different) return longer;
  }
  return labels;
}

/** The labels of an axis of sizes; 0 has no unit. */
export function sizeLabels(ticks: number[]): string[] {
  return distinctLabels(ticks, bytes).map((label) => (label === '0 B' ? '0' : label));
}

/** The value of a varied parameter: `32 KiB`, `100 µs`, `−1`. */
export function parameter(value: number, unit: Unit): string {
  if (unit === 'bytes') return value === 0 ? '0' : bytes(value);
  if (unit === 'nanoseconds') return exactTime(value);
  return plain(value);
}

/** Both ends of an interval: `341 µs to 349 µs`, or a dash if there is none. */
export function interval(
  low: number | null | undefined,
  high: number | null | undefined,
  write: (value: number) => string,
): string {
  return low == null || high == null ? MISSING : `${write(low)} to ${write(high)}`;
}

/** The time between two moments in RFC 3339: `24 min 14 s`, `3.2 s`. */
export function elapsed(from: string, to: string | null | undefined): string {
  const seconds = to == null ? Number.NaN : (Date.parse(to) - Date.parse(from)) / 1000;
  if (!Number.isFinite(seconds) || seconds < 0) return MISSING;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours > 0) return `${plain(hours)} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${plain(seconds)} s`;
}

/** A moment in UTC: `2026-03-14 09:26 UTC`. Returns a text that is no date unchanged. */
export function moment(rfc3339: string): string {
  const parsed = new Date(rfc3339);
  if (Number.isNaN(parsed.getTime())) return rfc3339;
  return `${parsed.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** The day of a moment in UTC: `2026-03-14`. */
export function day(rfc3339: string): string {
  return moment(rfc3339).slice(0, 10);
}

/** A number with at most three decimals, a true minus sign and commas between thousands. */
function plain(value: number): string {
  return new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 })
    .format(value)
    .replace('-', '−');
}

/** The range of IOs in view: `IOs 1,200 to 2,400 of 5,120`, `all 5,120 IOs`. */
export function inView(from: number, to: number, whole: number): string {
  const [first, last] = [Math.max(0, Math.floor(from)), Math.min(whole, Math.ceil(to)) - 1];
  if (first === 0 && last === whole - 1) return whole === 1 ? '1 IO' : `all ${plain(whole)} IOs`;
  return `IOs ${plain(first)} to ${plain(last)} of ${plain(whole)}`;
}

/** The text with a capital letter first. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The name of an operation, from its code in the records: `read`, `write`, `trim`, `flush`. */
export const opName = (code: number | undefined) =>
  ['read', 'write', 'trim', 'flush'][code ?? 0] ?? `operation ${code}`;

/** The name of a percentile from 0 to 100: `p50`, `p99.9`, `min`, `max`. */
export function percentile(percent: number): string {
  if (percent === 0) return 'min';
  return percent === 100 ? 'max' : `p${plain(percent)}`;
}
