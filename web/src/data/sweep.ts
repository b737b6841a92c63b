// The numbers and settings of a sweep, in words. Nothing is computed here but the order.
import { bytes, decimal, MISSING, time } from '../format';
import type { Effect, Explored, Interaction, Objective, Setting, Skipped } from './views.gen';

/** What a factor is set to. */
type Level = Setting['level'];

/** How a number of a simulation is written: its name says what it is of. */
export function writer(field: string): (value: number) => string {
  if (/(^|[._])(latency_)?ns($|\.)/.test(field)) return time;
  if (/(^|[._])bytes($|_)/.test(field)) return bytes;
  return decimal;
}

/** A level, short enough to be read. */
export function levelText(level: Level | null | undefined): string {
  if (level == null) return MISSING;
  return typeof level === 'number' ? String(Number(level.toPrecision(4))) : level;
}

/** An objective with what is better. */
export const objectiveText = ({ goal, field }: Objective): string =>
  `${field} (${goal === 'minimize' ? 'less' : 'more'} is better)`;

/** The settings of a point, factor by factor. */
export function settingRows(factors: string[], levels: (Level | null)[]): [string, string][] {
  return factors.flatMap((factor, i): [string, string][] => {
    const level = levels[i];
    return level == null ? [] : [[factor, levelText(level)]];
  });
}

/** What a change does, in a word. */
export const signWord = (sign: number): string =>
  sign > 0 ? 'raises' : sign < 0 ? 'lowers' : 'not sure';

/** Those of an objective, the largest first; what is not sure comes last. */
export function bySize<T extends Effect | Interaction>(found: T[], field: string): T[] {
  const size = ({ difference }: T) => Math.abs(difference.value);
  const unsure = ({ sign }: T) => (sign === 0 ? 1 : 0);
  return found
    .filter(({ objective }) => objective === field)
    .sort((a, b) => unsure(a) - unsure(b) || size(b) - size(a));
}

/** Why points were skipped: each reason once, with how many points it is of, most first. */
export function byReason(skipped: Skipped[]): { reason: string; count: number; first: Skipped }[] {
  const reasons = new Map<string, { reason: string; count: number; first: Skipped }>();
  for (const point of skipped) {
    const known = reasons.get(point.reason);
    if (known === undefined) {
      reasons.set(point.reason, { reason: point.reason, count: 1, first: point });
    } else known.count += 1;
  }
  return [...reasons.values()].sort((a, b) => b.count - a.count);
}

/** The numbers of the points on the front. */
export const frontOf = ({ sweep }: Explored): Set<number> =>
  new Set(sweep.front.map(({ point }) => point));

/** How points are ordered: by a factor or an objective, by its place among all columns. */
export interface Order {
  column: number;
  down: boolean;
}

/** The points in an order; what has no value comes last. */
export function ordered({ points, sweep }: Explored, { column, down }: Order): Explored['points'] {
  const key = (point: Explored['points'][number]) => {
    if (column < 0) return point.point;
    const factors = sweep.factors.length;
    return column < factors ? point.levels[column] : point.values[column - factors]?.value;
  };
  const sign = down ? -1 : 1;
  return points.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x == null || y == null) return Number(x == null) - Number(y == null);
    if (typeof x === 'number' && typeof y === 'number') return sign * (x - y);
    return sign * (String(x) < String(y) ? -1 : Number(String(x) > String(y)));
  });
}
