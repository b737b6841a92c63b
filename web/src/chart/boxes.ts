// Box plots of the response times of an experiment's runs.
import type uPlot from 'uplot';
import type { ValueView } from '../data/model';
import type { ParameterAxis } from './axes';
import { fade } from './palette';

/** The smallest distance between two values on the axis, in pixels of the canvas. */
export function leastGap(u: uPlot, values: ParameterAxis): number {
  const at = values.values.map((value) => u.valToPos(values.at(value), 'x', true));
  return Math.min(...at.slice(1).map((x, i) => x - (at[i] ?? 0)), u.bbox.width);
}

/** The maximum width of a box, in CSS pixels. */
const WIDEST = 11;

/**
 * Draws a box for each run, from its median to its 99th percentile, with a stem from its fastest to its
 * slowest IO. Repeats of one value are side by side.
 */
export function boxes(u: uPlot, values: ParameterAxis, views: ValueView[], color: string): void {
  const { ctx } = u;
  const most = Math.max(...views.map((view) => view.views.length), 1);
  const room = (leastGap(u, values) * 0.8) / most;
  const step = Math.min(WIDEST * devicePixelRatio, Math.max(room, 2 * devicePixelRatio));
  const width = Math.max(devicePixelRatio, step * 0.72);
  const y = (ns: number) => u.valToPos(Math.max(1, ns), 'y', true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  ctx.clip();
  for (const view of views) {
    const middle = u.valToPos(values.at(view.value), 'x', true);
    for (const [i, { facts }] of view.views.entries()) {
      if (facts === undefined) continue;
      const { min, p50, p99, max } = facts.latency_ns;
      const x = middle + (i - (view.views.length - 1) / 2) * step;
      ctx.fillStyle = fade(color, 0.35);
      const stem = Math.max(devicePixelRatio, width / 6);
      ctx.fillRect(x - stem / 2, y(max), stem, y(min) - y(max));
      ctx.fillStyle = fade(color, 0.34);
      const [top, bottom] = [y(p99), y(p50)];
      ctx.fillRect(x - width / 2, top, width, Math.max(devicePixelRatio, bottom - top));
      ctx.fillStyle = fade(color, 0.85);
      ctx.fillRect(x - width / 2, bottom - devicePixelRatio, width, 2 * devicePixelRatio);
    }
  }
  ctx.restore();
}
