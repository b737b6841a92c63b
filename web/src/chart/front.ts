// The points of a sweep by two of its objectives, and their Pareto front.
import type uPlot from 'uplot';
import { frontOf, objectiveText, settingRows, writer } from '../data/sweep';
import type { Estimate, ExploredSweep, Objective } from '../data/views.gen';
import { count, counted, estimate } from '../format';
import { within } from './marks';
import { type Measure, measureAxis, measureScale } from './measure';
import { fade, type Palette } from './palette';
import { type ChartSpec, common, NOTHING, type Place, POINTER, type Tip } from './spec';

/** The distance from a point within which the pointer shows its tip, in CSS pixels. */
const NEAR = 30;

interface Dot {
  point: number;
  x: Estimate;
  y: Estimate;
  front: boolean;
  settings: [string, string][];
}

/** The points that have both objectives; those on the front come last and are drawn on top. */
function dotsOf(explored: ExploredSweep, [across, up]: [number, number]): Dot[] {
  const front = frontOf(explored);
  const dots = explored.points.flatMap(({ point, levels, values }): Dot[] => {
    const [x, y] = [values[across], values[up]];
    if (x == null || y == null) return [];
    const settings = settingRows(explored.sweep.factors, levels);
    return [{ point, x, y, front: front.has(point), settings }];
  });
  return [...dots.filter((dot) => !dot.front), ...dots.filter((dot) => dot.front)];
}

/** The range of some estimates and their intervals, with a margin. */
function spanOf(estimates: Estimate[]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { value, low: from, high: to } of estimates) {
    [low, high] = [Math.min(low, from ?? value), Math.max(high, to ?? value)];
  }
  if (!Number.isFinite(low)) return [0, 1];
  const room = 0.06 * (high - low) || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** Creates the chart of a sweep's points by two objectives, given by their indices. */
export function frontChart(explored: ExploredSweep, chosen: [number, number]): ChartSpec {
  const { objectives, front } = explored.sweep;
  const [first, second] = chosen.map((nth) => objectives[nth]);
  if (first === undefined || second === undefined) throw new Error('no such objective');
  const dots = dotsOf(explored, chosen);
  const [across, up] = [first, second].map(
    (objective, i): Measure => ({
      title: objectiveText(objective),
      write: writer(objective.field),
      range: spanOf(dots.map((dot) => (i === 0 ? dot.x : dot.y))),
    }),
  ) as [Measure, Measure];
  // With more than two objectives, a point on the front may be dominated in the two that the chart
  // shows.
  const line = objectives.length === 2 && chosen[0] !== chosen[1];
  const near = (u: uPlot, left: number, top: number): Tip | null => {
    const dot = nearest(u, dots, left, top);
    if (dot === undefined) return null;
    return {
      left: u.valToPos(dot.x.value, 'x'),
      top: u.valToPos(dot.y.value, 'y'),
      title: `point ${count(dot.point)}${dot.front ? ', on the front' : ''}`,
      rows: [
        [first.field, estimate(dot.x, across.write)],
        [second.field, estimate(dot.y, up.write)],
        ...dot.settings,
      ],
    };
  };
  // Arrow keys follow the front, or all points if there is no front.
  const stops = dots.filter((dot) => dot.front || front.length === 0);
  stops.sort((a, b) => a.x.value - b.x.value);
  return {
    title: 'Pareto front',
    label: `${counted(dots.length, 'point')} by ${first.field} and ${second.field}, ${count(front.length)} of them on the Pareto front.`,
    data: [across.range, up.range] as unknown as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, x: false, y: false },
      scales: { x: { time: false, ...measureScale(across, []) }, y: measureScale(up, []) },
      axes: [measureAxis(colors, across, 'x'), measureAxis(colors, up, 'y')],
      series: [{}, NOTHING],
      hooks: { draw: [(u) => paint(u, dots, line ? stops : [], first.goal, colors)] },
    }),
    tip: near,
    step: (u, from, right, down) => neighbour(u, stops, from, right - down),
    keys: (colors) => [
      { name: 'on the front', color: colors.write },
      { name: 'other points', color: colors.ignored },
    ],
  };
}

/** A point of a chart by two quantities. */
export interface PointAt {
  x: { value: number };
  y: { value: number };
}

/** The point under the pointer, if one is near. */
export function nearest<D extends PointAt>(
  u: uPlot,
  dots: D[],
  left: number,
  top: number,
): D | undefined {
  let [best, least]: [D | undefined, number] = [undefined, NEAR ** 2];
  for (const dot of dots) {
    const across = u.valToPos(dot.x.value, 'x') - left;
    const distance = across ** 2 + (u.valToPos(dot.y.value, 'y') - top) ** 2;
    // Of points at one position, the one on the front comes last.
    if (distance <= least) [best, least] = [dot, distance];
  }
  return best;
}

/** The next position of the keyboard cursor along the horizontal axis. Starts at the first point. */
export function neighbour(
  u: uPlot,
  stops: PointAt[],
  from: Place | null,
  by: number,
): Place | null {
  const places = stops.map(
    (dot): Place => ({
      left: u.valToPos(dot.x.value, 'x'),
      top: u.valToPos(dot.y.value, 'y'),
    }),
  );
  const now =
    from === null
      ? -1
      : places.findIndex(({ left, top }) => Math.hypot(left - from.left, top - from.top) < 1);
  const next = now < 0 ? 0 : Math.min(places.length - 1, Math.max(0, now + by));
  return places[next] ?? null;
}

/** Draws the points, and the front as a staircase: the edge of the region that the points dominate. */
function paint(
  u: uPlot,
  dots: Dot[],
  front: Dot[],
  goal: Objective['goal'],
  colors: Palette,
): void {
  const at = ({ x, y }: Dot): [number, number] => [
    u.valToPos(x.value, 'x', true),
    u.valToPos(y.value, 'y', true),
  ];
  within(u, () => {
    const { ctx } = u;
    ctx.strokeStyle = fade(colors.write, 0.6);
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.beginPath();
    let before: [number, number] | undefined;
    for (const [x, y] of front.map(at)) {
      const [lastX, lastY] = before ?? [x, y];
      if (before === undefined) ctx.moveTo(x, y);
      ctx.lineTo(goal === 'minimize' ? x : lastX, goal === 'minimize' ? lastY : y);
      ctx.lineTo(x, y);
      before = [x, y];
    }
    ctx.stroke();
    for (const dot of dots) {
      const [x, y] = at(dot);
      const color = dot.front ? colors.write : colors.ignored;
      if (dot.front) whiskers(u, dot, x, y, color);
      ctx.fillStyle = dot.front ? color : fade(color, 0.75);
      ctx.beginPath();
      ctx.arc(x, y, (dot.front ? 4.5 : 3) * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
    }
  });
}

/** Draws the intervals of a point. */
function whiskers(u: uPlot, dot: Dot, x: number, y: number, color: string): void {
  const { ctx } = u;
  ctx.strokeStyle = fade(color, 0.6);
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  if (dot.x.low != null && dot.x.high != null) {
    ctx.moveTo(u.valToPos(dot.x.low, 'x', true), y);
    ctx.lineTo(u.valToPos(dot.x.high, 'x', true), y);
  }
  if (dot.y.low != null && dot.y.high != null) {
    ctx.moveTo(x, u.valToPos(dot.y.low, 'y', true));
    ctx.lineTo(x, u.valToPos(dot.y.high, 'y', true));
  }
  ctx.stroke();
}
