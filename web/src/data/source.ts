// The source of the application's data: the page itself, or a server.
import type { OnlyItem, ShelfQuery } from '../route';
import type { Prediction } from './prediction';
import type { ProbeReport } from './probe.gen';
import type { Simulation } from './simulation.gen';
import type { Twin } from './twin.gen';
import type {
  Activity,
  Colours,
  Comparison,
  ExploredSweep,
  Ios,
  Marks,
  Matches,
  Measurement,
  Outline,
  RunViews,
  Shelf,
  WhatIf,
} from './views.gen';

/** An error of a source, with a message for the user. */
export class SourceError extends Error {
  /** The position of the error in an expression, as a half-open range of characters. */
  readonly place: [number, number] | undefined;

  constructor(message: string, place?: [number, number]) {
    super(message);
    this.place = place;
  }
}

/**
 * The data of all screens. Positions start at 0, and ranges are half-open, [from, to). Without a range, a
 * method returns the whole run. A source may return less than the range: each value names the positions that it
 * covers and the number of IOs of the run. A signal cancels a request.
 */
export interface Source {
  /** True if there is a server, which stores marks and has every IO. */
  readonly served: boolean;
  /** True if the server answers what-ifs. */
  readonly whatIfs: boolean;
  /** True if the server accepts submissions, as a registry does. */
  readonly submissions: boolean;
  /** True if the server shows the running commands that write to its shelf. */
  readonly commands: boolean;
  /** The only item of the source, if it has exactly one. There is no shelf then. */
  readonly only: OnlyItem | undefined;
  /** True if the source can search for IOs by expression. */
  readonly searches: boolean;
  shelf(query: ShelfQuery, signal?: AbortSignal): Promise<Shelf>;
  measurement(id: string, signal?: AbortSignal): Promise<Measurement>;
  /**
   * The fastest and the slowest IO of each of `buckets` buckets, and the IOs that failed.
   */
  outline(
    id: string,
    run: number,
    from?: number,
    to?: number,
    buckets?: number,
    signal?: AbortSignal,
  ): Promise<Outline>;
  /** A view of a run, by its name. */
  runView<K extends keyof RunViews>(
    name: K,
    id: string,
    run: number,
    from?: number,
    to?: number,
    signal?: AbortSignal,
  ): Promise<RunViews[K]>;
  /** Single IOs, at most 1000. */
  ios(id: string, run: number, from: number, count: number, signal?: AbortSignal): Promise<Ios>;
  activities(
    id: string,
    run: number,
    fromNs: number,
    toNs: number,
    signal?: AbortSignal,
  ): Promise<Activity[]>;
  /** The IOs that match an expression, and the `limit` slowest of them. */
  matches(id: string, where: string, limit: number, signal?: AbortSignal): Promise<Matches>;
  colours(
    id: string,
    benchmark: string,
    experiment: string,
    from?: number,
    to?: number,
    columns?: number,
    signal?: AbortSignal,
  ): Promise<Colours>;
  comparison(ids: string[], signal?: AbortSignal): Promise<Comparison>;
  simulation(id: string, signal?: AbortSignal): Promise<Simulation>;
  probe(id: string, signal?: AbortSignal): Promise<ProbeReport>;
  sweep(id: string, signal?: AbortSignal): Promise<ExploredSweep>;
  whatIf(id: string, signal?: AbortSignal): Promise<WhatIf>;
  twin(id: string, signal?: AbortSignal): Promise<Twin>;
  prediction(id: string, signal?: AbortSignal): Promise<Prediction>;
  /** Stores the user's edits of a result's verdicts. */
  setMarks(id: string, marks: Marks): Promise<void>;
}

/** The hint on pages without a server: the command that shows every IO. */
export const SEE_ALL = 'To see every IO, run “flashscope serve” on the result.';
