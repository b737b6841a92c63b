// The positions of values on axes, and the choice of ticks.

/** The tick steps of an axis of integers. */
export const COUNT_STEPS = Array.from({ length: 15 }, (_, i) =>
  [1, 2, 5].map((n) => n * 10 ** i),
).flat();

/** An axis of parameter values: powers of two are equally far apart. */
export interface ParameterAxis {
  /** The position of a value on the axis. */
  at(value: number): number;
  /** The values, ascending. */
  values: number[];
  /** The positions at which lines are broken, after values that are not on the log scale. */
  breaks: number[];
  min: number;
  max: number;
}

/**
 * Creates the axis of some values. Zero and negative values have no position on a log scale. They are to the left
 * of the scale, one step apart.
 */
export function parameterAxis(all: Iterable<number>): ParameterAxis {
  const values = [...new Set(all)].sort((a, b) => a - b);
  const special = values.filter((value) => value <= 0);
  const least = values.find((value) => value > 0) ?? 1;
  const first = Math.log2(least) - special.length;
  const at = (value: number) =>
    value > 0 ? Math.log2(value) : first + Math.max(0, special.indexOf(value));
  const positions = values.map(at);
  const margin = Math.max(0.25, ((positions.at(-1) ?? 0) - (positions[0] ?? 0)) * 0.03);
  return {
    at,
    values,
    breaks: special.map((value) => at(value) + 0.5),
    min: (positions[0] ?? 0) - margin,
    max: (positions.at(-1) ?? 0) + margin,
  };
}

/** The values to label so that labels do not overlap; `width` returns the width of a label in axis units. */
export function labelled(axis: ParameterAxis, width: (value: number) => number): number[] {
  const special = axis.values.filter((value) => value <= 0);
  const powers = axis.values.filter((value) => value > 0 && isPowerOfTwoOfLeast(axis, value));
  const fits = (chosen: number[]) =>
    chosen.slice(1).every((value, i) => {
      const before = chosen[i] ?? value;
      return axis.at(value) - axis.at(before) >= (width(value) + width(before)) / 2;
    });
  for (const lead of [special, special.slice(0, 1), []]) {
    for (let step = 1; step <= Math.max(1, powers.length / 2); step++) {
      const chosen = [...lead, ...powers.filter((_, i) => i % step === 0)];
      if (fits(chosen)) return chosen;
    }
  }
  return axis.values.slice(0, 1);
}

/** True if a value is a power of two times the smallest positive value. */
function isPowerOfTwoOfLeast(axis: ParameterAxis, value: number): boolean {
  const least = axis.values.find((v) => v > 0) ?? 1;
  return Number.isInteger(Math.log2(value / least));
}

/** The range of a log axis for some times; both ends are 1, 2 or 5 times a power of ten. */
export function timeSpan(times: Iterable<number>): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const time of times) {
    if (time < low) low = time;
    if (time > high) high = time;
  }
  if (high === 0) return [1, high > low ? high : 10];
  const span: [number, number] = [roundDown(Math.max(1, low)), roundUp(Math.max(1, high))];
  return span[0] < span[1] ? span : [span[0], span[0] * 10];
}

function roundDown(time: number): number {
  const decade = 10 ** Math.floor(Math.log10(time) + 1e-9);
  return ([5, 2].find((n) => n * decade <= time * (1 + 1e-9)) ?? 1) * decade;
}

function roundUp(time: number): number {
  const decade = 10 ** Math.floor(Math.log10(time) + 1e-9);
  return ([1, 2, 5].find((n) => n * decade >= time * (1 - 1e-9)) ?? 10) * decade;
}

/** The ticks of a log axis of times with room for `most` labels. */
export function timeTicks(low: number, high: number, most: number): number[] {
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = logTicks(low, high, steps);
    if (ticks.length <= Math.max(2, most) && ticks.length >= 2) return ticks;
  }
  const decades = logTicks(low, high, [1]);
  if (decades.length < 2) return logTicks(low, high, [1, 2, 5]);
  const every = Math.ceil(decades.length / Math.max(2, most));
  return decades.filter((_, i) => i % every === 0);
}

function logTicks(low: number, high: number, steps: readonly number[]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) {
      const tick = step * 10 ** power;
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return ticks;
}
