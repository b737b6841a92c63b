// Pictures of an IO and its neighbours: their response times, and the time when they were in flight.
import type uPlot from 'uplot';
import type { Io } from '../data/neighbours';
import type { Activity } from '../data/views.gen';
import { bytes, count, counted, exactTime, opName, time } from '../format';
import { activityWords } from '../words';
import { COUNT_STEPS, timeSpan } from './axes';
import { within, wordsOn } from './marks';
import { activityColor, fade, type Palette } from './palette';
import {
  axis,
  type ChartSpec,
  common,
  type Key,
  NOTHING,
  type Place,
  POINTER,
  type Tip,
  timeAxis,
} from './spec';
import type { Zoom } from './zoom.svelte';

/** An IO with its neighbours, and the background operations around them. */
export interface Neighbourhood {
  ios: Io[];
  /** The IO in question, one of `ios`. */
  here: Io;
  activities: Activity[];
  href(index: number): string;
}

/** The width of vertical axes in CSS pixels; a common width aligns charts. */
export const WIDTH = 74;

/** The colour of an IO. */
export function colorOf(colors: Palette, io: Io): string {
  if (io.errno !== 0) return colors.failed;
  if (io.op > 1) return colors.other.color;
  return io.op === 0 ? colors.read : colors.write;
}

/** The legend of IOs. */
export function ioKeys(colors: Palette, ios: Io[]): Key[] {
  const present = (is: (io: Io) => boolean) => ios.some((io) => io.errno === 0 && is(io));
  return [
    { name: 'read', color: colors.read, there: present((io) => io.op === 0) },
    { name: 'write', color: colors.write, there: present((io) => io.op === 1) },
    { name: 'trim or flush', color: colors.other.color, there: present((io) => io.op > 1) },
    { name: 'failed', color: colors.failed, there: ios.some((io) => io.errno !== 0) },
  ].flatMap(({ name, color, there }) => (there ? [{ name, color }] : []));
}

/** The legend of background operations. */
export const activityKeys = (colors: Palette, activities: Activity[]): Key[] =>
  [...new Set(activities.map(({ kind }) => kind))]
    .sort()
    .map((kind) => ({ name: kind, color: activityColor(colors, kind) }));

/** The tip of an IO. */
export function ioTip(io: Io, { here, href }: Neighbourhood, place: Place): Tip {
  const since = io.submitted_ns - here.submitted_ns;
  return {
    ...place,
    title: `${opName(io.op)} ${count(io.index)}${io.errno === 0 ? '' : `, failed with errno ${io.errno}`}`,
    rows: [
      ['response time', time(io.latency_ns)],
      ['submitted', since < 0 ? `${time(-since)} before` : `${time(since)} after`],
      ['offset', count(io.offset_bytes)],
      ['length', bytes(io.length_bytes)],
    ],
    ...(io.index === here.index ? {} : { href: href(io.index), target: 'IO' }),
  };
}

/** The IO `across` positions from IO `index`; `here` without an `index`. */
export function beside(
  ios: Io[],
  index: number | undefined,
  across: number,
  here: Io,
): Io | undefined {
  if (index === undefined) return here;
  const at = ios.findIndex((io) => io.index === index);
  return ios[Math.min(ios.length - 1, Math.max(0, at + across))];
}

/** Creates the chart of response times by position. */
export function responseBars(scene: Neighbourhood): ChartSpec {
  const { ios, here } = scene;
  const [first, last] = [ios[0]?.index ?? 0, ios.at(-1)?.index ?? 1];
  const span = timeSpan(ios.map((io) => Math.max(1, io.latency_ns)));
  const at = (u: uPlot, left: number) => {
    const index = Math.round(u.posToVal(left, 'x'));
    return ios.find((io) => io.index === index);
  };
  const place = (u: uPlot, io: Io): Place => ({
    left: u.valToPos(io.index, 'x'),
    top: u.valToPos(Math.max(1, io.latency_ns), 'y'),
  });
  return {
    title: `Response times around IO ${count(here.index)}`,
    label: `Response times of IOs ${count(first)} to ${count(last)}; IO ${count(here.index)} took ${time(here.latency_ns)}.`,
    data: [
      [first, last],
      [span[0], span[1]],
    ] as uPlot.AlignedData,
    keys: (colors) => ioKeys(colors, ios),
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, y: false },
      scales: {
        x: { time: false, range: () => [first - 1, last + 1] },
        y: { distr: 3, log: 10, range: () => span },
      },
      axes: [
        {
          ...axis(colors, 'position of the IO in the run'),
          size: 30,
          incrs: COUNT_STEPS,
          values: (_u, splits) => splits.map(count),
        },
        { ...timeAxis(colors), size: WIDTH },
      ],
      series: [{}, NOTHING],
      hooks: {
        draw: [
          (u) =>
            within(u, () => {
              const { ctx, bbox } = u;
              const room = bbox.width / (last - first + 2);
              const wide = Math.max(devicePixelRatio, Math.min(room * 0.7, 18 * devicePixelRatio));
              const bottom = bbox.top + bbox.height;
              for (const io of ios) {
                const [x, y] = [
                  u.valToPos(io.index, 'x', true),
                  u.valToPos(Math.max(1, io.latency_ns), 'y', true),
                ];
                const color = colorOf(colors, io);
                ctx.fillStyle = io === here ? color : fade(color, 0.55);
                ctx.fillRect(x - wide / 2, y, wide, bottom - y);
                if (io !== here) continue;
                ctx.fillStyle = colors.text;
                triangle(ctx, x, y - 4 * devicePixelRatio);
              }
            }),
        ],
      },
    }),
    tip: (u, left) => {
      const io = at(u, left);
      return io === undefined ? null : ioTip(io, scene, place(u, io));
    },
    step: (u, from, across) => {
      const now = from === null ? undefined : at(u, from.left)?.index;
      const next = beside(ios, now, across, here);
      return next === undefined ? null : place(u, next);
    },
  };
}

/** Draws a triangle that points down at a position. */
export function triangle(ctx: CanvasRenderingContext2D, x: number, y: number): void {
  const side = 5 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x - side, y - 1.6 * side);
  ctx.lineTo(x + side, y - 1.6 * side);
  ctx.closePath();
  ctx.fill();
}

/** A bar: an IO in flight, or a background operation. */
interface Bar {
  row: number;
  from: number;
  to: number;
  io?: Io;
  activity?: Activity;
}

/** The bars and the names of their rows: lanes of IOs, then the busy units of the drive. */
function barsOf({ ios, here, activities }: Neighbourhood): { bars: Bar[]; rows: string[] } {
  const lanes = 1 + Math.max(0, ...ios.map(({ lane }) => lane));
  const units = [...new Set(activities.map(({ unit }) => unit))].sort((a, b) => a - b);
  const zero = here.submitted_ns;
  const inFlight = ios.map((io): Bar => {
    const from = io.submitted_ns - zero;
    return { row: io.lane, from, to: from + io.latency_ns, io };
  });
  const meanwhile = activities.map((activity): Bar => {
    const row = lanes + units.indexOf(activity.unit);
    return { row, from: activity.start_ns - zero, to: activity.end_ns - zero, activity };
  });
  const laneNames = Array.from({ length: lanes }, (_, i) =>
    lanes === 1 ? 'IOs' : i === 0 ? 'IOs 1' : `${i + 1}`,
  );
  return {
    bars: [...inFlight, ...meanwhile],
    rows: [...laneNames, ...units.map((unit) => `unit ${unit}`)],
  };
}

/** The height of the picture in CSS pixels. */
export const flightHeight = (scene: Neighbourhood) =>
  Math.round(Math.min(480, barsOf(scene).rows.length * 26) + 52);

/** The first submission and the last completion, in ns relative to the submission of `here`. */
export function flightSpan({ ios, here }: Neighbourhood): [number, number] {
  let [low, high] = [0, here.latency_ns];
  for (const io of ios) {
    low = Math.min(low, io.submitted_ns - here.submitted_ns);
    high = Math.max(high, io.submitted_ns - here.submitted_ns + io.latency_ns);
  }
  return [low, Math.max(high, low + 1)];
}

/** A time relative to the submission of the IO, with its sign. */
const sinceHere = (ns: number) =>
  ns === 0 ? '0' : `${ns < 0 ? '−' : '+'}${exactTime(Math.abs(ns))}`;

/** The axis of time relative to the submission of the IO. */
export const sinceAxis = (colors: Palette): uPlot.Axis => ({
  ...axis(colors, 'time since the submission of the IO'),
  size: 30,
  space: 84,
  incrs: COUNT_STEPS,
  values: (_u, splits) => splits.map(sinceHere),
});

/** Creates the picture of IOs in flight, with the background operations of the drive below them. */
export function flightChart(scene: Neighbourhood, zoom: Zoom): ChartSpec {
  const { ios, here, activities } = scene;
  const { bars, rows } = barsOf(scene);
  const at = (u: uPlot, left: number, top: number) => {
    const [x, y] = [u.posToVal(left, 'x'), u.posToVal(top, 'y')];
    const slack = u.posToVal(3, 'x') - u.posToVal(0, 'x');
    return bars.find(
      ({ row, from, to }) => Math.floor(y) === row && x >= from - slack && x <= to + slack,
    );
  };
  const middle = (u: uPlot, bar: Bar): Place => ({
    left: u.valToPos(Math.max(zoom.from, Math.min(zoom.to, (bar.from + bar.to) / 2)), 'x'),
    top: u.valToPos(bar.row + 0.5, 'y'),
  });
  return {
    title: `IOs in flight around IO ${count(here.index)}`,
    label: `${counted(ios.length, 'IO')} from submission to completion${activities.length > 0 ? `, and ${counted(activities.length, 'background operation')} of the drive on ${counted(rows.filter((name) => name.startsWith('unit')).length, 'unit')}` : ''}.`,
    data: [[...zoom.whole], [0, rows.length]] as uPlot.AlignedData,
    keys: (colors) => [...ioKeys(colors, ios), ...activityKeys(colors, activities)],
    options: (colors) => ({
      ...common,
      cursor: POINTER,
      scales: {
        x: { time: false, range: () => [zoom.from, zoom.to] },
        y: { dir: -1, range: () => [0, rows.length] },
      },
      axes: [
        sinceAxis(colors),
        {
          ...axis(colors),
          scale: 'y',
          size: WIDTH,
          grid: { show: false },
          ticks: { show: false },
          splits: () => rows.map((_, i) => i + 0.5),
          filter: (u, splits) => {
            const every = Math.ceil((12 * rows.length * devicePixelRatio) / u.bbox.height);
            return splits.filter((_, i) => i % Math.max(1, every) === 0);
          },
          values: (_u, splits) => splits.map((row) => rows[Math.floor(row)] ?? ''),
        },
      ],
      series: [{}, NOTHING],
      hooks: {
        drawClear: [(u) => shadeHere(u, here, colors)],
        draw: [(u) => paintBars(u, bars, here, colors)],
      },
    }),
    tip: (u, left, top) => {
      const bar = at(u, left, top);
      if (bar?.io !== undefined) return ioTip(bar.io, scene, { left, top });
      if (bar?.activity === undefined) return null;
      const { activity } = bar;
      return {
        left,
        top,
        title: `${activity.kind} of block ${activity.block}`,
        rows: [
          ['took', time(activity.end_ns - activity.start_ns)],
          ['began', sinceHere(bar.from)],
          ...activityWords(activity).map((words): [string, string] => ['', words]),
          ['unit', count(activity.unit)],
        ],
      };
    },
    step: (u, from, across, down) => {
      const visible = bars.filter((bar) => bar.to >= zoom.from && bar.from <= zoom.to);
      const now = from === null ? undefined : at(u, from.left, from.top);
      if (now === undefined) {
        const mine = visible.find(({ io }) => io === here) ?? visible[0];
        return mine === undefined ? null : middle(u, mine);
      }
      const score = (bar: Bar) =>
        across !== 0
          ? bar.row === now.row
            ? (bar.from - now.from) * across
            : -1
          : (bar.row - now.row) * down * 1e15 + Math.abs(bar.from - now.from);
      const next = visible
        .filter((bar) => (across !== 0 ? score(bar) > 0 : (bar.row - now.row) * down > 0))
        .sort((a, b) => score(a) - score(b))[0];
      return next === undefined ? null : middle(u, next);
    },
  };
}

/** Shades the time when the IO was in flight. */
function shadeHere(u: uPlot, here: Io, colors: Palette): void {
  within(u, () => {
    const { ctx, bbox } = u;
    const [left, right] = [u.valToPos(0, 'x', true), u.valToPos(here.latency_ns, 'x', true)];
    ctx.fillStyle = fade(colors.ignored, 0.16);
    ctx.fillRect(left, bbox.top, Math.max(devicePixelRatio, right - left), bbox.height);
  });
}

function paintBars(u: uPlot, bars: Bar[], here: Io, colors: Palette): void {
  within(u, () => {
    const { ctx } = u;
    const one = u.valToPos(1, 'y', true) - u.valToPos(0, 'y', true);
    const high = Math.min(one * 0.72, 18 * devicePixelRatio);
    for (const { row, from, to, io, activity } of bars) {
      const [left, right] = [u.valToPos(from, 'x', true), u.valToPos(to, 'x', true)];
      const top = u.valToPos(row + 0.5, 'y', true) - high / 2;
      const wide = Math.max(1.5 * devicePixelRatio, right - left - devicePixelRatio);
      if (io !== undefined) {
        const color = colorOf(colors, io);
        ctx.fillStyle = io === here ? color : fade(color, 0.55);
        ctx.fillRect(left, top, wide, high);
        if (io !== here) continue;
        ctx.strokeStyle = colors.text;
        ctx.lineWidth = 2 * devicePixelRatio;
        ctx.strokeRect(left, top, wide, high);
      } else if (activity !== undefined) {
        ctx.fillStyle = activityColor(colors, activity.kind);
        ctx.fillRect(left, top, wide, high);
        const words = `${activity.kind}, block ${activity.block}`;
        wordsOn(u, words, [left, left + wide], top + high / 2, colors);
      }
    }
  });
}
