// The timeline of a drive: each background operation as a bar on its unit.
import type uPlot from 'uplot';
import type { Activity } from '../data/views.gen';
import { count, counted, longTime, time } from '../format';
import { activityWords } from '../words';
import { within, wordsOn } from './marks';
import { activityKeys } from './neighbours';
import { namesBeside, timeAxisBelow, timeScale } from './overtime';
import { activityColor, type Palette } from './palette';
import { type ChartSpec, common, NOTHING, type Place, POINTER, type Tip } from './spec';
import type { Zoom } from './zoom.svelte';

/** The distance from a bar within which the pointer shows its tip, in CSS pixels. */
const NEAR = 4;

/** The height of a timeline in CSS pixels. */
export const timelineHeight = (units: number) =>
  Math.round(Math.min(560, Math.max(90, units * 18)) + 52);

/** Creates a timeline of `activities`, sorted by start, on `units`. */
export function timeline(activities: Activity[], units: number[], zoom: Zoom): ChartSpec {
  const rowOf = new Map(units.map((unit, row) => [unit, row]));
  const rows = units.map((unit) => activities.filter((activity) => activity.unit === unit));
  const at = (u: uPlot, { left, top }: Place): Activity | undefined => {
    const [x, slack] = [u.posToVal(left, 'x'), u.posToVal(NEAR, 'x') - u.posToVal(0, 'x')];
    const distance = ({ start_ns, end_ns }: Activity) => Math.max(0, start_ns - x, x - end_ns);
    return rows[Math.floor(u.posToVal(top, 'y'))]
      ?.filter((activity) => distance(activity) <= slack)
      .sort((a, b) => distance(a) - distance(b) || length(a) - length(b))[0];
  };
  const place = (u: uPlot, activity: Activity): Place => {
    const middle = (activity.start_ns + activity.end_ns) / 2;
    return {
      left: u.valToPos(Math.min(zoom.to, Math.max(zoom.from, middle)), 'x'),
      top: u.valToPos((rowOf.get(activity.unit) ?? 0) + 0.5, 'y'),
    };
  };
  return {
    title: 'Background operations over time',
    label: `${counted(activities.length, 'background operation')} on ${counted(units.length, 'unit')} over time.`,
    data: [[...zoom.whole], [0, units.length]] as uPlot.AlignedData,
    keys: (colors) => activityKeys(colors, activities),
    options: (colors) => ({
      ...common,
      cursor: POINTER,
      scales: { x: timeScale(zoom), y: { dir: -1, range: () => [0, units.length || 1] } },
      axes: [
        timeAxisBelow(colors),
        namesBeside(
          colors,
          units.map((unit, row) => ({ at: row + 0.5, name: `unit ${unit}` })),
        ),
      ],
      series: [{}, NOTHING],
      hooks: { draw: [(u) => paint(u, rows, colors)] },
    }),
    tip: (u, left, top) => {
      const activity = at(u, { left, top });
      return activity === undefined ? null : tipOf(activity, { left, top });
    },
    step: (u, from, across, down) => {
      const now = from === null ? undefined : at(u, from);
      const row = Math.min(
        units.length - 1,
        Math.max(0, from === null ? 0 : Math.floor(u.posToVal(from.top, 'y')) + down),
      );
      const visible = (rows[row] ?? []).filter(
        ({ start_ns, end_ns }) => end_ns >= zoom.from && start_ns <= zoom.to,
      );
      const place_ = now?.start_ns ?? zoom.from;
      const next =
        across > 0
          ? visible.find(({ start_ns }) => start_ns > place_)
          : across < 0
            ? visible.findLast(({ start_ns }) => start_ns < place_)
            : (visible.find(({ start_ns }) => start_ns >= place_) ?? visible.at(-1));
      return next === undefined ? null : place(u, next);
    },
  };
}

const length = ({ start_ns, end_ns }: Activity) => end_ns - start_ns;

function tipOf(activity: Activity, place: Place): Tip {
  return {
    ...place,
    title: `${activity.kind} of block ${activity.block}`,
    rows: [
      ['took', time(length(activity))],
      ['began at', longTime(activity.start_ns)],
      ...activityWords(activity).map((words): [string, string] => ['', words]),
      ['unit', count(activity.unit)],
    ],
  };
}

function paint(u: uPlot, rows: Activity[][], colors: Palette): void {
  within(u, () => {
    const { ctx, bbox } = u;
    const [low, high] = [u.scales.x?.min ?? 0, u.scales.x?.max ?? 1];
    const one = bbox.height / Math.max(1, rows.length);
    const tall = Math.max(1, Math.min(one - devicePixelRatio, 22 * devicePixelRatio));
    for (const [row, activities] of rows.entries()) {
      const top = u.valToPos(row + 0.5, 'y', true) - tall / 2;
      for (const { kind, start_ns, end_ns, block } of activities) {
        if (end_ns < low || start_ns > high) continue;
        const [left, right] = [u.valToPos(start_ns, 'x', true), u.valToPos(end_ns, 'x', true)];
        const wide = Math.max(devicePixelRatio, right - left - 0.5 * devicePixelRatio);
        ctx.fillStyle = activityColor(colors, kind);
        ctx.fillRect(left, top, wide, tall);
        if (tall < 11 * devicePixelRatio) continue;
        wordsOn(u, `${kind}, block ${block}`, [left, left + wide], top + tall / 2, colors);
      }
    }
  });
}
