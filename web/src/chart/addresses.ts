// Pictures of the addresses of an IO and its neighbours.
import type uPlot from 'uplot';
import type { Io } from '../data/neighbours';
import { bytes, count, counted, sizeLabels } from '../format';
import { within } from './marks';
import {
  beside,
  colorOf,
  ioKeys,
  ioTip,
  type Neighbourhood,
  sinceAxis,
  triangle,
  WIDTH,
} from './neighbours';
import { fade, type Palette } from './palette';
import { axis, type ChartSpec, common, NOTHING, type Place, POINTER } from './spec';
import type { Zoom } from './zoom.svelte';

const SIZE_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** Creates the chart of the IOs as boxes: times in flight are horizontal, addresses vertical. */
export function addressMap(scene: Neighbourhood, zoom: Zoom): ChartSpec {
  const { ios, here } = scene;
  let [low, high] = [Number.POSITIVE_INFINITY, 1];
  for (const { offset_bytes, length_bytes } of ios) {
    [low, high] = [Math.min(low, offset_bytes), Math.max(high, offset_bytes + length_bytes)];
  }
  const room = Math.max(here.length_bytes, (high - low) * 0.04);
  const at = (u: uPlot, left: number, top: number) => {
    const reach = 8;
    let best: Io | undefined;
    let least = reach;
    for (const io of ios) {
      const from = io.submitted_ns - here.submitted_ns;
      const [a, b] = [u.valToPos(from, 'x'), u.valToPos(from + io.latency_ns, 'x')];
      const [c, d] = [
        u.valToPos(io.offset_bytes + io.length_bytes, 'y'),
        u.valToPos(io.offset_bytes, 'y'),
      ];
      const distance = Math.max(0, a - left, left - b) + Math.max(0, c - top, top - d);
      if (distance < least) [best, least] = [io, distance];
    }
    return best;
  };
  const place = (u: uPlot, io: Io): Place => ({
    left: u.valToPos(io.submitted_ns - here.submitted_ns + io.latency_ns / 2, 'x'),
    top: u.valToPos(io.offset_bytes + io.length_bytes / 2, 'y'),
  });
  return {
    title: `Addresses around IO ${count(here.index)}`,
    label: `Addresses of ${counted(ios.length, 'IO')}, from ${bytes(low)} to ${bytes(high)}; IO ${count(here.index)} at ${count(here.offset_bytes)}.`,
    data: [[...zoom.whole], [low, high]] as uPlot.AlignedData,
    keys: (colors) => ioKeys(colors, ios),
    options: (colors) => ({
      ...common,
      cursor: POINTER,
      scales: {
        x: { time: false, range: () => [zoom.from, zoom.to] },
        y: { range: () => [low - room, high + room] },
      },
      axes: [
        sinceAxis(colors),
        {
          ...axis(colors),
          scale: 'y',
          size: WIDTH,
          incrs: SIZE_STEPS,
          filter: (_u, splits) => splits.map((v) => (v < 0 ? null : v)) as number[],
          values: (_u, splits) => {
            const labels = sizeLabels(splits.filter((v) => v !== null));
            return splits.map((v) => (v === null ? '' : (labels.shift() ?? '')));
          },
        },
      ],
      series: [{}, NOTHING],
      hooks: {
        draw: [
          (u) =>
            within(u, () => {
              for (const io of ios) box(u, io, here, colors);
            }),
        ],
      },
    }),
    tip: (u, left, top) => {
      const io = at(u, left, top);
      return io === undefined ? null : ioTip(io, scene, { left, top });
    },
    step: (u, from, across) => {
      const now = from === null ? undefined : at(u, from.left, from.top)?.index;
      const next = beside(ios, now, across, here);
      return next === undefined ? null : place(u, next);
    },
  };
}

function box(u: uPlot, io: Io, here: Io, colors: Palette): void {
  const { ctx } = u;
  const from = io.submitted_ns - here.submitted_ns;
  const [left, right] = [u.valToPos(from, 'x', true), u.valToPos(from + io.latency_ns, 'x', true)];
  const [top, bottom] = [
    u.valToPos(io.offset_bytes + io.length_bytes, 'y', true),
    u.valToPos(io.offset_bytes, 'y', true),
  ];
  const high = Math.max(2.5 * devicePixelRatio, bottom - top);
  const y = (top + bottom - high) / 2;
  const wide = Math.max(2.5 * devicePixelRatio, right - left);
  const color = colorOf(colors, io);
  ctx.fillStyle = io === here ? color : fade(color, 0.6);
  ctx.fillRect(left, y, wide, high);
  if (io !== here) return;
  ctx.strokeStyle = colors.text;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  const gap = 2.5 * devicePixelRatio;
  ctx.strokeRect(left - gap, y - gap, wide + 2 * gap, high + 2 * gap);
}

/** Creates the chart of the neighbouring IOs on the whole target space of the run. */
export function spaceStrip(scene: Neighbourhood, space: [number, number]): ChartSpec {
  const { ios, here } = scene;
  const [low, high] = [
    Math.min(space[0], here.offset_bytes),
    Math.max(space[1], here.offset_bytes),
  ];
  const near = (u: uPlot, left: number) =>
    ios.toSorted(
      (a, b) =>
        Math.abs(u.valToPos(a.offset_bytes, 'x') - left) -
        Math.abs(u.valToPos(b.offset_bytes, 'x') - left),
    )[0];
  return {
    title: `IO ${count(here.index)} in the target space`,
    label: `The neighbouring IOs on the whole target space, ${bytes(low)} to ${bytes(high)}.`,
    data: [
      [low, high],
      [0, 1],
    ] as uPlot.AlignedData,
    options: (colors) => ({
      ...common,
      cursor: { ...POINTER, y: false },
      scales: {
        x: { time: false, range: () => [low, Math.max(high, low + 1)] },
        y: { range: () => [0, 1] },
      },
      axes: [
        {
          ...axis(colors, 'offset on the drive'),
          size: 30,
          incrs: SIZE_STEPS,
          values: (_u, splits) => sizeLabels(splits),
        },
        {
          ...axis(colors),
          scale: 'y',
          size: 8,
          grid: { show: false },
          ticks: { show: false },
          values: () => [],
        },
      ],
      series: [{}, NOTHING],
      hooks: { draw: [(u) => paintSpace(u, ios, here, colors)] },
    }),
    tip: (u, left) => {
      const io = near(u, left);
      if (io === undefined) return null;
      const at = u.valToPos(io.offset_bytes, 'x');
      return Math.abs(at - left) > 12 ? null : ioTip(io, scene, { left: at, top: 0 });
    },
  };
}

function paintSpace(u: uPlot, ios: Io[], here: Io, colors: Palette): void {
  const { ctx, bbox } = u;
  ctx.fillStyle = fade(colors.ignored, 0.16);
  ctx.fillRect(bbox.left, bbox.top, bbox.width, bbox.height);
  for (const io of [...ios.filter((other) => other !== here), here]) {
    const [left, right] = [
      u.valToPos(io.offset_bytes, 'x', true),
      u.valToPos(io.offset_bytes + io.length_bytes, 'x', true),
    ];
    const color = colorOf(colors, io);
    ctx.fillStyle = io === here ? color : fade(color, 0.5);
    const wide = Math.max((io === here ? 3 : 1) * devicePixelRatio, right - left);
    ctx.fillRect(left, bbox.top, wide, bbox.height);
    if (io !== here) continue;
    ctx.fillStyle = colors.text;
    triangle(ctx, left + wide / 2, bbox.top + 9 * devicePixelRatio);
  }
}
