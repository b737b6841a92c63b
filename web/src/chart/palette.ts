// Colours of the charts, after Okabe and Ito: reads are blue, writes orange; random patterns are
// saturated and solid, sequential ones lighter and dashed.

import { sharesOf } from '../words';

/** How a line is drawn. A mix has the colours of both its parts, in turns. */
export interface LineStyle {
  color: string;
  /** Colour of every other dash, in a mix. */
  second?: string;
  dash?: [number, number];
}

/** The colours of one theme. */
export interface Palette {
  baselines: Record<string, LineStyle>;
  other: LineStyle;
  read: string;
  write: string;
  ignored: string;
  failed: string;
  text: string;
  axis: string;
  grid: string;
  surface: string;
  /** From little to much. */
  heat: readonly string[];
}

const DASH: [number, number] = [6, 4];

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
  text: '#3c444c',
  axis: '#9aa3ab',
  grid: '#e8eaec',
  surface: '#ffffff',
  heat: ['#dcebf7', '#9bcae9', '#4a9bd1', '#0f66a8', '#083a6b'],
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
  text: '#b6bec6',
  axis: '#59626b',
  grid: '#262c32',
  surface: '#171b1f',
  heat: ['#17334a', '#1d5c8f', '#3a9be0', '#9ad0f5', '#f2f9ff'],
};

/** The colours of the theme. */
export function palette(dark: boolean): Palette {
  return dark ? DARK : LIGHT;
}

/** How the line of an experiment is drawn, by its name. */
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

/** A colour with an opacity. */
export function fade(hex: string, opacity: number): string {
  return `${hex}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0')}`;
}

/** The colour that stands for a share of the most, from 0 to 1. */
export function heatColor(colors: Palette, share: number): string {
  const last = colors.heat.length - 1;
  const at = Math.min(1, Math.max(0, share)) * last;
  const low = Math.min(last - 1, Math.floor(at));
  const channels = (hex = '#000000') =>
    [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
  const [from, to] = [channels(colors.heat[low]), channels(colors.heat[low + 1])];
  const mixed = from.map((channel, i) => channel + ((to[i] ?? 0) - channel) * (at - low));
  return `rgb(${mixed.map(Math.round).join(' ')})`;
}
