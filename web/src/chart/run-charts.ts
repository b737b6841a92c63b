// The charts of views of a run. Each file in runs/ exports one as its default.
import type { RunView } from '../data/model';
import type { RunViews } from '../data/views.gen';
import type { Palette } from './palette';
import type { ChartSpec } from './spec';

/** The inputs of a chart besides the data. */
export interface RunChartScene {
  view: RunView;
  /** The IOs that the data cover, as in “all 100 IOs of run 1”. */
  words: string;
  /** The chosen option. */
  option: string;
  /** The colour of the run's operation. */
  color: (colors: Palette) => string;
}

/** A cell of a table. */
type Cell = [value: number, text: string];

/** A chart of a view of a run, below the charts of its IOs. */
export interface RunChart<K extends keyof RunViews> {
  /** The name of the view that the server computes. */
  view: K;
  title: string;
  /** The sentence below the title; `words` names the IOs. */
  caption: (words: string) => string;
  /** The sentence in place of the chart if the data show nothing. */
  empty: (data: RunViews[K]) => string | undefined;
  /** The height of the chart in pixels. */
  height: number;
  /** A choice between versions of the chart, the first by default. */
  options?: { name: string; choices: [value: string, word: string][] };
  chart: (data: RunViews[K], scene: RunChartScene) => ChartSpec;
  /** A table beside the chart. */
  table?: {
    name: string;
    columns: { title: string; unit?: string }[];
    rows: (data: RunViews[K]) => [first: Cell, ...others: Cell[]][];
  };
}

/** All charts, in the order of their files' names. */
export const RUN_CHARTS = Object.values(
  import.meta.glob<RunChart<keyof RunViews>>('./runs/*.ts', { eager: true, import: 'default' }),
);
