// The colours of charts, after Okabe and Ito: reads are blue, writes are orange. Random patterns have
// saturated, solid lines; sequential patterns have lighter, dashed ones.

import type { PageState, Touch } from '../playground/module';
import { sharesOf } from '../words';

/** The style of a line. The line of a mix alternates between the colours of its parts. */
export interface LineStyle {
  color: string;
  /** The colour of every second dash, for a mix. */
  second?: string;
  dash?: [number, number];
}

/** The cause of a flash operation. */
export type Cause =
  | 'host'
  | 'cleaning'
  | 'switch merges'
  | 'partial merges'
  | 'full merges'
  | 'mapping'
  | 'folding'
  | 'wear';

/** The colours of the flash in the playground. */
export interface FlashColors {
  /** The background of a die, and the frame of a block that is being emptied. */
  die: string;
  frame: string;
  states: Record<PageState, string>;
  /** The colours in which commands flash up; absent for commands that show only the new state. */
  touches: Partial<Record<Touch, string>>;
}

/** The colours of one theme. */
export interface Palette {
  baselines: Record<string, LineStyle>;
  other: LineStyle;
  read: string;
  write: string;
  ignored: string;
  failed: string;
  /** Failed IOs in a colour analysis, distinct from all colours of its scale. */
  failedPoint: string;
  /** The running mean without the start-up. */
  average: string;
  /** The end of a start-up in a colour analysis. */
  startUp: string;
  text: string;
  axis: string;
  grid: string;
  surface: string;
  /** Results in a comparison. */
  results: readonly string[];
  /** Flash operations by cause. */
  causes: Record<Cause, string>;
  /** Text on the colours of causes. */
  onActivity: string;
  /** The colour scale of heat maps, from low to high. */
  heat: readonly string[];
  flash: FlashColors;
}

const DASH: [number, number] = [6, 4];

/** The dashes of results in a comparison, which tell them apart without colour. */
const RESULT_DASHES: (number[] | undefined)[] = [
  undefined,
  [9, 4],
  [2, 4],
  [9, 3, 2, 3],
  [14, 4],
  [5, 3, 5, 9],
];

const LIGHT: Palette = {
  baselines: {
    SR: { color: '#3d97d3', dash: DASH },
    RR: { color: '#00588f' },
    SW: { color: '#cc8400', dash: DASH },
    RW: { color: '#c03f00' },
  },
  other: { color: '#007a5a' },
  read: '#0072b2',
  write: '#d55e00',
  ignored: '#a3a8ae',
  failed: '#b3001b',
  failedPoint: '#ff2d78',
  average: '#007a5a',
  startUp: '#191d21',
  text: '#3c444c',
  axis: '#9aa3ab',
  grid: '#e8eaec',
  surface: '#ffffff',
  results: ['#0072b2', '#c03f00', '#007a5a', '#9c3a78', '#8a6d00', '#3c444c'],
  causes: {
    host: '#8d99a6',
    cleaning: '#009e73',
    'switch merges': '#56b4e9',
    'partial merges': '#e69f00',
    'full merges': '#cc79a7',
    mapping: '#7b6fd0',
    folding: '#a9853f',
    wear: '#e6d93a',
  },
  onActivity: '#000000',
  heat: ['#dcebf7', '#9bcae9', '#4a9bd1', '#0f66a8', '#083a6b'],
  flash: {
    die: '#ffffff',
    frame: '#191d21',
    states: {
      free: '#e8ecf0',
      written: '#2b86c5',
      moved: '#f0932b',
      mapping: '#7b6fd0',
      superseded: '#a7afb7',
    },
    touches: {
      'host read': '#b5e3ff',
      'move read': '#ffe08a',
      'host program': '#003e6b',
      'move program': '#a34700',
      'map read': '#d9d3ff',
      'map program': '#3d2f9e',
      erase: '#ff6b81',
      suspended: '#e6007e',
    },
  },
};

const DARK: Palette = {
  baselines: {
    SR: { color: '#9ad0f5', dash: DASH },
    RR: { color: '#3a9be0' },
    SW: { color: '#f2c14e', dash: DASH },
    RW: { color: '#f5793b' },
  },
  other: { color: '#3fc79a' },
  read: '#4ba6e6',
  write: '#f5793b',
  ignored: '#6a727a',
  failed: '#ff7b86',
  failedPoint: '#ff4d8d',
  average: '#3fc79a',
  startUp: '#ffffff',
  text: '#b6bec6',
  axis: '#59626b',
  grid: '#262c32',
  surface: '#171b1f',
  results: ['#4ba6e6', '#f5793b', '#3fc79a', '#e58fc2', '#e6cf52', '#d5dbe1'],
  causes: {
    host: '#7d8894',
    cleaning: '#2fb98e',
    'switch merges': '#7cc7f2',
    'partial merges': '#f2b035',
    'full merges': '#e292c0',
    mapping: '#9d92ea',
    folding: '#c2a15f',
    wear: '#f0e442',
  },
  onActivity: '#000000',
  heat: ['#17334a', '#1d5c8f', '#3a9be0', '#9ad0f5', '#f2f9ff'],
  flash: {
    die: '#101417',
    frame: '#ffffff',
    states: {
      free: '#232a30',
      written: '#3f9adb',
      moved: '#ef8e2c',
      mapping: '#9d92ea',
      superseded: '#59626b',
    },
    touches: {
      'host read': '#d8f1ff',
      'move read': '#fff2bf',
      'host program': '#d5ecff',
      'move program': '#ffe3c2',
      'map read': '#ece8ff',
      'map program': '#ece8ff',
      erase: '#ff5c72',
      suspended: '#ff5cc0',
    },
  },
};

/** The palette of a theme. */
export function palette(dark: boolean): Palette {
  return dark ? DARK : LIGHT;
}

/** The line style of an experiment, from its name. */
export function lineStyle(colors: Palette, experiment: string): LineStyle {
  const shares = sharesOf(experiment);
  if (shares) {
    if (shares.writes === '0') return { color: colors.read };
    if (shares.reads === '0') return { color: colors.write };
    return { color: colors.read, second: colors.write };
  }
  const [first = '', second] = experiment.split('/');
  const style = colors.baselines[first] ?? colors.other;
  const other = second === undefined ? undefined : colors.baselines[second];
  return other === undefined ? style : { color: style.color, second: other.color };
}

/** True if the line of an experiment is dashed. */
export const isDashed = (experiment: string) => lineStyle(LIGHT, experiment).dash !== undefined;

/** A colour with an opacity. */
export function fade(hex: string, opacity: number): string {
  return `${hex}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0')}`;
}

/** The causes of background operations, by a pattern of their names. */
const CAUSES: [RegExp, Cause][] = [
  [/full merge/, 'full merges'],
  [/partial merge/, 'partial merges'],
  [/switch merge/, 'switch merges'],
  [/mapping|map/, 'mapping'],
  [/wear/, 'wear'],
  [/fold/, 'folding'],
  [/host/, 'host'],
];

/** The colour of a background operation. */
export function activityColor(colors: Palette, kind: string): string {
  const cause = CAUSES.find(([pattern]) => pattern.test(kind))?.[1] ?? 'cleaning';
  return colors.causes[cause];
}

/** The colour of a position on the heat scale, from 0 to 1. */
export function heatColor(colors: Palette, share: number): string {
  return `rgb(${between(colors.heat, share).join(' ')})`;
}

/**
 * The colour scale of response times, from fast to slow, for both themes: viridis of matplotlib. It is
 * perceptually uniform, and stays in order for colour-blind readers and in greyscale.
 */
export const SLOWNESS: readonly string[] = [
  '#440154',
  '#48186a',
  '#472d7b',
  '#424086',
  '#3b528b',
  '#33638d',
  '#2c728e',
  '#26828e',
  '#21918c',
  '#1f9f88',
  '#27ad81',
  '#3dbc74',
  '#5cc863',
  '#81d34d',
  '#aadc32',
  '#d5e21a',
  '#fde725',
];

/** The red, green and blue of a colour. */
export const channels = (hex = '#000000') =>
  [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));

/** The red, green and blue at a position on a colour scale, from 0 to 1. */
export function between(scale: readonly string[], share: number): number[] {
  const last = scale.length - 1;
  const at = Math.min(1, Math.max(0, share)) * last;
  const low = Math.min(last - 1, Math.floor(at));
  const [from, to] = [channels(scale[low]), channels(scale[low + 1])];
  return from.map((channel, i) => Math.round(channel + ((to[i] ?? 0) - channel) * (at - low)));
}

/** A colour as a pixel of an ImageData. */
export function pointColor([red = 0, green = 0, blue = 0]: number[]): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The line style of the n-th result in a comparison. */
export function resultStyle(colors: Palette, n: number): { color: string; dash?: number[] } {
  const dash = RESULT_DASHES[n % RESULT_DASHES.length];
  return {
    color: colors.results[n % colors.results.length] ?? '',
    ...(dash === undefined ? {} : { dash }),
  };
}
