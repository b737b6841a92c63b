// Words for the numbers and settings of a sweep, and the order of its tables.
import { bytes, decimal, MISSING, time } from '../format';
import type {
  Effect,
  ExploredSweep,
  Interaction,
  Objective,
  Setting,
  SkippedPoint,
} from './views.gen';

/** The value of a factor. */
type Level = Setting['level'];

/** The format of a number of a simulation, which follows from its name. */
export function writer(field: string): (value: number) => string {
  if (/(^|[._])(latency_)?ns($|\.)/.test(field)) return time;
  if (/(^|[._])bytes($|_)/.test(field)) return bytes;
  return decimal;
}

/** A level with at most four digits. */
export function levelText(level: Level | null | undefined): string {
  if (level == null) return MISSING;
  return typeof level === 'number' ? String(Number(level.toPrecision(4))) : level;
}

/** An objective with its direction. */
export const objectiveText = ({ goal, field }: Objective): string =>
  `${field} (${goal === 'minimize' ? 'less' : 'more'} is better)`;

/** The settings of a point as pairs of factor and level. */
export function settingRows(factors: string[], levels: (Level | null)[]): [string, string][] {
  return factors.flatMap((factor, i): [string, string][] => {
    const level = levels[i];
    return level == null ? [] : [[factor, levelText(level)]];
  });
}

/** The direction of an effect in a word. */
export const signWord = (sign: number): string =>
  sign > 0 ? 'raises' : sign < 0 ? 'lowers' : 'not significant';

/** The effects on an objective, largest first; those that are not significant come last. */
export function bySize<T extends Effect | Interaction>(effects: T[], field: string): T[] {
  const size = ({ difference }: T) => Math.abs(difference.value);
  const insignificant = ({ sign }: T) => (sign === 0 ? 1 : 0);
  return effects
    .filter(({ objective }) => objective === field)
    .sort((a, b) => insignificant(a) - insignificant(b) || size(b) - size(a));
}

/** The reasons for skipping points, each with its number of points, most frequent first. */
export function byReason(
  skipped: SkippedPoint[],
): { reason: string; count: number; first: SkippedPoint }[] {
  const reasons = new Map<string, { reason: string; count: number; first: SkippedPoint }>();
  for (const point of skipped) {
    const known = reasons.get(point.reason);
    if (known === undefined) {
      reasons.set(point.reason, { reason: point.reason, count: 1, first: point });
    } else known.count += 1;
  }
  return [...reasons.values()].sort((a, b) => b.count - a.count);
}

/** The numbers of the points on the Pareto front. */
export const frontOf = ({ sweep }: ExploredSweep): Set<number> =>
  new Set(sweep.front.map(({ point }) => point));

/** The order of points in a table. */
export interface Order {
  /** The column: −1 is the number of the point; factors count from 0, and objectives follow them. */
  column: number;
  down: boolean;
}

/** The points in an order; points without a value come last. */
export function ordered(
  { points, sweep }: ExploredSweep,
  { column, down }: Order,
): ExploredSweep['points'] {
  const key = (point: ExploredSweep['points'][number]) => {
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
