// The colour analysis of an experiment: every IO of every run as a point, coloured by its response time.
import type uPlot from 'uplot';
import type { Colours } from '../data/views.gen';
import type { Part, Piece, Windows } from '../data/windows.svelte';
import { count, counted, exactTime, time } from '../format';
import { COUNT_STEPS, timeTicks } from './axes';
import { between, channels, fade, type Palette, pointColor, SLOWNESS } from './palette';
import {
  axis,
  type ChartSpec,
  common,
  NOTHING,
  type Place,
  POINTER,
  type Ramp,
  type Tip,
} from './spec';
import type { Zoom } from './zoom.svelte';

/** A row of the picture: a run. */
export interface ColourRun {
  run: number;
  /** The value of the parameter. */
  value: string;
  /** The value of the parameter and the number of the repeat. */
  label: string;
  ios: number;
  /** The number of IOs that the run's statistics exclude, or else the number in its start-up. */
  startUp: number;
  /** The name of the region with these IOs. */
  startUpName: string;
}

/** The decoded codes of a piece: one for each point, by run. */
export interface Codes {
  low_ns: number;
  high_ns: number;
  rows: Map<number, Uint8Array>;
}

/** A range of response times in ns: the times of the first and the last colour. */
export type Span = readonly [low: number, high: number];

/** The maximum and the minimum height of a row, in CSS pixels. */
const ROW = { most: 36, least: 7 };

/** The height of the picture without its rows, in CSS pixels. */
const BELOW = 56;

/** The maximum width of the vertical axis, in CSS pixels. */
const LABELS = 120;

/** The height of a label on the vertical axis, in CSS pixels. */
const LABEL = 13;

/** Decodes the base64 codes of a colour analysis. */
export function decode(colours: Colours): Piece<Codes> {
  const rows = colours.rows.map(({ run, codes }): [number, Uint8Array] => [
    run,
    Uint8Array.from(atob(codes), (character) => character.charCodeAt(0)),
  ]);
  const { from, to, ios_per_column: step, low_ns, high_ns } = colours;
  return { from, to, step, data: { low_ns, high_ns, rows: new Map(rows) } };
}

/** The response time of a code in ns; undefined for code 0, which means that all IOs failed. */
export function timeOf(code: number, { low_ns, high_ns }: Codes): number | undefined {
  return code === 0 ? undefined : low_ns * (high_ns / low_ns) ** ((code - 1) / 254);
}

/** The colours of all 256 codes on a range, as pixels. */
function table(codes: Codes, [low, high]: Span, failed: string): Uint32Array {
  const reach = Math.log(high / low) || 1;
  return Uint32Array.from({ length: 256 }, (_, code) => {
    const ns = timeOf(code, codes);
    return pointColor(
      ns === undefined ? channels(failed) : between(SLOWNESS, Math.log(ns / low) / reach),
    );
  });
}

/** The height of a picture with `rows` rows, in CSS pixels. */
export function heightOf(rows: number): number {
  const each = Math.min(ROW.most, Math.max(ROW.least, 460 / Math.max(1, rows)));
  return Math.round(rows * each) + BELOW;
}

/** The legend of response times. */
export function slownessRamp([low, high]: Span): Ramp {
  const reach = Math.log(high / low) || 1;
  return {
    name: 'response time',
    colors: SLOWNESS,
    ticks: timeTicks(low, high, 6).map((ns) => ({
      at: Math.log(ns / low) / reach,
      label: exactTime(ns),
    })),
  };
}

/** The content of a picture. */
export interface ColourScene {
  title: string;
  runs: ColourRun[];
  windows: Windows<Codes>;
  span: Span;
  zoom: Zoom;
  /** The address that a click on a point opens. */
  href(run: ColourRun, from: number, count: number): string;
}

/** Creates the picture. */
export function colourChart(scene: ColourScene): ChartSpec {
  const { runs, windows, span, title } = scene;
  const canvas = document.createElement('canvas');
  return {
    title,
    label: `${title}: every IO of ${counted(runs.length, 'run')} as a point, coloured by its response time, from ${time(span[0])} to ${time(span[1])}.`,
    data: [
      [0, windows.total],
      [0, runs.length],
    ] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: POINTER,
      scales: {
        x: { time: false, range: () => [scene.zoom.from, scene.zoom.to] },
        y: { dir: -1, range: () => [0, runs.length || 1] },
      },
      axes: [
        {
          ...axis(colors, 'position of the IO in the run'),
          size: 30,
          space: 72,
          grid: { show: false },
          incrs: COUNT_STEPS,
          values: (_u, splits) => splits.map(count),
        },
        rowAxis(colors, runs),
      ],
      series: [{}, NOTHING],
      hooks: { draw: [(u) => paint(u, scene, canvas, colors)] },
    }),
    tip: (u, left, top) => tipAt(u, scene, left, top),
    step: (u, from, across, down) => stepFrom(u, scene, from, across, down),
    keys: (colors) => [{ name: 'failed', color: colors.failedPoint }],
    ramp: () => slownessRamp(span),
  };
}

/** Groups successive runs of one value; rows are half-open, [from, to). */
function groups(runs: ColourRun[]): { value: string; from: number; to: number }[] {
  const all: { value: string; from: number; to: number }[] = [];
  for (const [row, { value }] of runs.entries()) {
    const last = all.at(-1);
    if (last?.value === value) last.to = row + 1;
    else all.push({ value, from: row, to: row + 1 });
  }
  return all;
}

/** The labels of rows: of each run if there is room, else of each value in the middle of its runs. */
function rowLabels(runs: ColourRun[], room: number): { at: number; label: string }[] {
  if (room >= LABEL) return runs.map(({ label }, row) => ({ at: row + 0.5, label }));
  const all = groups(runs);
  const every = Math.max(1, Math.ceil((LABEL * all.length) / (room * runs.length)));
  return all
    .filter((_, i) => i % every === 0)
    .map(({ value, from, to }) => ({ at: (from + to) / 2, label: value }));
}

function rowAxis(colors: Palette, runs: ColourRun[]): uPlot.Axis {
  const labels = (u: uPlot) =>
    rowLabels(runs, u.bbox.height / devicePixelRatio / Math.max(1, runs.length));
  const room = (heightOf(runs.length) - BELOW) / Math.max(1, runs.length);
  const widest = Math.max(...rowLabels(runs, room).map(({ label }) => label.length), 4);
  return {
    ...axis(colors),
    scale: 'y',
    size: Math.min(LABELS, widest * 6.4 + 14),
    grid: { show: false },
    ticks: { show: false },
    splits: (u) => labels(u).map(({ at }) => at),
    filter: (_u, splits) => splits,
    values: (u) => labels(u).map(({ label }) => label),
  };
}

/** The position of a row in device pixels, with a gap before the runs of another value. */
function bounds(u: uPlot, runs: ColourRun[], row: number): { top: number; height: number } {
  const top = Math.round(u.valToPos(row, 'y', true));
  const height = Math.round(u.valToPos(row + 1, 'y', true)) - top;
  const other = runs[row + 1] !== undefined && runs[row + 1]?.value !== runs[row]?.value;
  const gap = other && height > 4 * devicePixelRatio ? Math.round(devicePixelRatio) : 0;
  return { top, height: height - gap };
}

function paint(u: uPlot, scene: ColourScene, canvas: HTMLCanvasElement, colors: Palette): void {
  const { ctx, bbox } = u;
  const { runs, windows, zoom, span } = scene;
  const width = Math.max(1, Math.round(bbox.width));
  if (canvas.width !== width || canvas.height !== runs.length) {
    [canvas.width, canvas.height] = [width, Math.max(1, runs.length)];
  }
  const pen = canvas.getContext('2d');
  if (pen === null) return;
  const image = pen.createImageData(width, canvas.height);
  const points = new Uint32Array(image.data.buffer);
  for (const part of windows.over(zoom.from, zoom.to)) {
    fill(points, width, part, runs, zoom, table(part.piece.data, span, colors.failedPoint));
  }
  pen.putImageData(image, 0, 0);
  ctx.save();
  ctx.imageSmoothingEnabled = false;
  for (const row of runs.keys()) {
    const { top, height } = bounds(u, runs, row);
    ctx.drawImage(canvas, 0, row, width, 1, bbox.left, top, bbox.width, height);
  }
  ctx.restore();
  marks(u, scene, colors);
}

/** Fills the pixels of a part of the picture. A pixel with several IOs shows the slowest. */
function fill(
  points: Uint32Array,
  width: number,
  { from, to, piece }: Part<Codes>,
  runs: ColourRun[],
  zoom: Zoom,
  colors: Uint32Array,
): void {
  const perPoint = zoom.span / width;
  const [first, last] = [from, to].map((at) =>
    Math.min(width, Math.max(0, Math.round((at - zoom.from) / perPoint))),
  ) as [number, number];
  for (const [row, { run, ios }] of runs.entries()) {
    const codes = piece.data.rows.get(run);
    if (codes === undefined) continue;
    for (let x = first; x < last; x++) {
      const begin = zoom.from + x * perPoint;
      if (begin >= ios) break;
      const start = Math.floor((begin - piece.from) / piece.step);
      const end = Math.max(start + 1, Math.ceil((begin + perPoint - piece.from) / piece.step) - 1);
      let code = -1;
      for (let i = Math.max(0, start); i < end && i < codes.length; i++) {
        code = Math.max(code, codes[i] ?? 0);
      }
      if (code >= 0) points[row * width + x] = colors[code] ?? 0;
    }
  }
}

/** Draws the end of each run's start-up, and the border of the plot. */
function marks(u: uPlot, { runs, zoom }: ColourScene, colors: Palette): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const [row, { startUp }] of runs.entries()) {
    if (startUp <= zoom.from || startUp > zoom.to) continue;
    const { top, height } = bounds(u, runs, row);
    const x = Math.round(u.valToPos(startUp, 'x', true));
    ctx.fillStyle = colors.surface;
    ctx.fillRect(x - devicePixelRatio, top, 3 * devicePixelRatio, height);
    ctx.fillStyle = colors.startUp;
    ctx.fillRect(x, top, devicePixelRatio, height);
  }
  ctx.strokeStyle = fade(colors.axis, 0.8);
  ctx.lineWidth = devicePixelRatio;
  ctx.strokeRect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.restore();
}

/** The run and the IOs at a position of the plot, with the slowest response time of these IOs. */
function pointAt(u: uPlot, { runs, windows }: ColourScene, left: number, top: number) {
  const row = runs[Math.floor(u.posToVal(top, 'y'))];
  const at = u.posToVal(left, 'x');
  const next = u.posToVal(left + 1, 'x');
  const part = windows.over(Math.max(0, at), Math.max(at + 1e-9, at))[0];
  if (row === undefined || part === undefined || at < 0 || at >= row.ios) return undefined;
  const { piece } = part;
  const codes = piece.data.rows.get(row.run);
  if (codes === undefined) return undefined;
  const first = Math.floor((at - piece.from) / piece.step);
  const end = Math.max(first + 1, Math.ceil((next - piece.from) / piece.step) - 1);
  let best = first;
  for (let i = first; i < end && i < codes.length; i++) {
    if ((codes[i] ?? 0) > (codes[best] ?? 0)) best = i;
  }
  const code = codes[best];
  if (code === undefined) return undefined;
  const from = piece.from + best * piece.step;
  const ns = timeOf(code, piece.data);
  return { row, from, count: Math.min(piece.step, row.ios - from), ns };
}

function tipAt(u: uPlot, scene: ColourScene, left: number, top: number): Tip | null {
  const point = pointAt(u, scene, left, top);
  if (point === undefined) return null;
  const { row, from, count: ios, ns } = point;
  const where = ios === 1 ? `IO ${count(from)}` : `IOs ${count(from)} to ${count(from + ios - 1)}`;
  const rows: [string, string][] = [
    [ios === 1 ? 'response time' : 'slowest', ns === undefined ? 'failed' : `about ${time(ns)}`],
    ['run', count(row.run)],
  ];
  if (from < row.startUp) rows.push(['part of the run', row.startUpName]);
  const target = ios === 1 ? 'IO' : 'run there';
  return {
    left,
    top,
    title: `${row.label}, ${where}`,
    rows,
    href: scene.href(row, from, ios),
    target,
  };
}

/** The position of the next run or the next point. */
function stepFrom(
  u: uPlot,
  { runs, windows }: ColourScene,
  from: Place | null,
  across: number,
  down: number,
): Place {
  const row = from === null ? 0 : Math.floor(u.posToVal(from.top, 'y')) + down;
  const at = from === null ? (u.scales.x?.min ?? 0) : u.posToVal(from.left, 'x');
  const step = windows.over(at, at + 1e-9)[0]?.piece.step ?? 1;
  const perPixel = u.posToVal(1, 'x') - u.posToVal(0, 'x');
  const way = from === null ? 0 : across * Math.max(step, perPixel);
  const [low, high] = [u.scales.x?.min ?? 0, u.scales.x?.max ?? 1];
  const next = Math.min(high - Math.min(step, perPixel) / 2, Math.max(low, at + way));
  // A point wider than a pixel is addressed by its middle.
  const middle = step > perPixel ? (Math.floor(next / step) + 0.5) * step : next;
  const at_ = Math.min(runs.length - 1, Math.max(0, row)) + 0.5;
  return { left: u.valToPos(Math.max(middle, low), 'x'), top: u.valToPos(at_, 'y') };
}
