// The common parts of charts over the time of a simulation, which zoom together.
import type uPlot from 'uplot';
import { axisTimes, longTime } from '../format';
import { timeSteps } from './measure';
import type { Palette } from './palette';
import { axis } from './spec';
import type { Zoom } from './zoom.svelte';

/** The width of vertical axes in CSS pixels; a common width aligns charts. */
export const AXIS = 76;

/** The uPlot scale of the time in view. */
export const timeScale = (zoom: Zoom): uPlot.Scale => ({
  time: false,
  range: () => [zoom.from, zoom.to],
});

/** The horizontal axis of time since the start of the measurement. */
export function timeAxisBelow(
  colors: Palette,
  title = 'time since the measurement began',
): uPlot.Axis {
  return {
    ...axis(colors, title),
    size: 30,
    grid: { show: false },
    splits: (u, _axis, low, high) => timeSteps(low, high, u.bbox.width / devicePixelRatio / 78),
    filter: (_u, splits) => splits,
    values: (_u, splits) => axisTimes(splits),
  };
}

/** A range of time in words. */
export const timeRange = (from: number, to: number) => `${longTime(from)} to ${longTime(to)}`;

/** A vertical axis with a name in the middle of each group of rows. */
export function namesBeside(colors: Palette, names: { at: number; name: string }[]): uPlot.Axis {
  return {
    ...axis(colors),
    scale: 'y',
    size: AXIS,
    grid: { show: false },
    ticks: { show: false },
    splits: (u) => {
      const room = u.bbox.height / devicePixelRatio / Math.max(1, names.length);
      const every = Math.max(1, Math.ceil(13 / room));
      return names.flatMap(({ at }, i) => (i % every === 0 ? [at] : []));
    },
    filter: (_u, splits) => splits,
    values: (_u, splits) => splits.map((place) => names.find(({ at }) => at === place)?.name ?? ''),
  };
}
