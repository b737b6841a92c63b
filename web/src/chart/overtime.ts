// What pictures over the time of a simulation share: the same axis, zoomed together.
import type uPlot from 'uplot';
import { axisTimes, longTime } from '../format';
import { timeSteps } from './measure';
import type { Palette } from './palette';
import { axis } from './spec';
import type { Zoom } from './zoom.svelte';

/** Of the vertical axes, so that pictures stand in line. */
export const AXIS = 76;

/** The scale of what is in view. */
export const timeScale = (zoom: Zoom): uPlot.Scale => ({
  time: false,
  range: () => [zoom.from, zoom.to],
});

/** The axis of time since the measurement began. */
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

/** A stretch of time, from where to where. */
export const stretchWords = (from: number, to: number) => `${longTime(from)} to ${longTime(to)}`;

/** An axis of names, each at the middle of its rows. */
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
