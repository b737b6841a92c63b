// The marks on the chart of a run: its regions, its period, and levels of response times.
import type uPlot from 'uplot';
import { periodOf, type Region, type RunView, regionsOf } from '../data/model';
import { time } from '../format';
import { fade, type Palette } from './palette';

/** The minimum distance at which the lines of a run's period are drawn, in CSS pixels. */
const MIN_PERIOD = 5;

/** Runs `draw` with drawing clipped to the plot. */
export function within(u: uPlot, draw: () => void): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  // The axes have changed the alignment.
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  draw();
  ctx.restore();
}

/** The length of a bar below which no text fits, in CSS pixels; saves measuring the text. */
const WORDY = 90;

/** Writes text on the visible part of a bar, if it fits. */
export function wordsOn(
  u: uPlot,
  words: string,
  [left, right]: [number, number],
  middle: number,
  colors: Palette,
): void {
  const { ctx, bbox } = u;
  const [from, to] = [Math.max(left, bbox.left), Math.min(right, bbox.left + bbox.width)];
  if (to - from < WORDY * devicePixelRatio) return;
  ctx.font = `${10.5 * devicePixelRatio}px system-ui, sans-serif`;
  if (ctx.measureText(words).width + 8 * devicePixelRatio > to - from) return;
  ctx.fillStyle = colors.onActivity;
  ctx.fillText(words, from + 4 * devicePixelRatio, middle + 4 * devicePixelRatio);
}

/** Draws the regions and the period of a run behind its IOs. `at` converts a position to the axis. */
export function drawBehind(
  u: uPlot,
  view: RunView,
  at: (index: number) => number,
  { period, names }: { period: boolean; names: boolean },
  colors: Palette,
): void {
  within(u, () => {
    const regions = regionsOf(view);
    const start = regions.find(({ kind }) => kind === 'start-up')?.to ?? 0;
    if (period) periodLines(u, start, view, colors);
    for (const region of regions) shade(u, region, at, names, colors);
  });
}

function periodLines(u: uPlot, start: number, view: RunView, colors: Palette): void {
  const { ctx, bbox } = u;
  const period = periodOf(view);
  const [low, high] = [u.scales.x?.min ?? 0, u.scales.x?.max ?? 0];
  if (period === undefined || (period / (high - low)) * bbox.width < MIN_PERIOD * devicePixelRatio)
    return;
  ctx.strokeStyle = fade(colors.text, 0.45);
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  const first = start + Math.max(0, Math.ceil((low - start) / period)) * period;
  for (let at = first; at <= high; at += period) {
    const x = u.valToPos(at, 'x', true);
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

function shade(
  u: uPlot,
  { kind, name, from, to }: Region,
  at: (index: number) => number,
  named: boolean,
  colors: Palette,
): void {
  const { ctx, bbox } = u;
  const end = bbox.left + bbox.width;
  const place = (index: number) => {
    const x = u.valToPos(at(index), 'x', true);
    return Math.min(end + devicePixelRatio, Math.max(bbox.left - devicePixelRatio, x));
  };
  const [left, right] = [place(from), place(to)];
  if (right < bbox.left || left > end) return;
  const color = kind === 'affected' ? colors.write : colors.ignored;
  ctx.fillStyle = fade(color, 0.2);
  ctx.fillRect(left, bbox.top, Math.max(right - left, devicePixelRatio), bbox.height);
  ctx.fillStyle = fade(color, 0.8);
  for (const edge of from > 0 ? [left, right] : [right]) {
    ctx.fillRect(edge, bbox.top, devicePixelRatio, bbox.height);
  }
  if (!named) return;
  ctx.font = `600 ${10.5 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.fillStyle = colors.text;
  const inside = right - left > ctx.measureText(name).width + 10 * devicePixelRatio;
  const start = inside ? Math.max(left, bbox.left) : right;
  ctx.fillText(name, start + 5 * devicePixelRatio, bbox.top + 13 * devicePixelRatio);
}

/** A level of response times: its name, its time in ns, and its dashes. */
export type Level = [name: string, ns: number, dash: number[]];

/** The median, the mean and the 99th percentile of a run. */
export function levelsOf(view: RunView): Level[] {
  const latency = view.facts?.latency_ns;
  if (latency === undefined) return [];
  return [
    ['p50', latency.p50, [2, 3]],
    ['mean', latency.mean.value, []],
    ['p99', latency.p99, [6, 3]],
  ];
}

/** Draws a labelled line at each level. */
export function drawLevels(u: uPlot, levels: Level[], colors: Palette): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.font = `600 ${10.5 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'alphabetic';
  let last = Number.POSITIVE_INFINITY;
  for (const [name, ns, dash] of levels.toSorted((a, b) => a[1] - b[1])) {
    const y = u.valToPos(Math.max(1, ns), 'y', true);
    ctx.strokeStyle = colors.text;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash(dash.map((n) => n * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    // A label moves up to avoid the one below.
    const label = Math.min(y - 5 * devicePixelRatio, last - 15 * devicePixelRatio);
    const words = `${name} ${time(ns)}`;
    const [pad, height] = [4 * devicePixelRatio, 13 * devicePixelRatio];
    const right = bbox.left + bbox.width - 6 * devicePixelRatio;
    const width = ctx.measureText(words).width;
    ctx.fillStyle = fade(colors.surface, 0.88);
    ctx.fillRect(
      right - width - pad,
      label - height + 3 * devicePixelRatio,
      width + 2 * pad,
      height,
    );
    ctx.fillStyle = colors.text;
    ctx.fillText(words, right, label);
    last = label;
  }
  ctx.restore();
}
