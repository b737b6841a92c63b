// Where the application has its data from: the page itself, or a server.
import type { ShelfQuery } from '../route';
import type { ProbeReport } from './probe.gen';
import type { Simulation } from './simulation.gen';
import type {
  Activity,
  Colours,
  Comparison,
  Explored,
  Ios,
  LatencyHistogram,
  Marks,
  Measurement,
  Outline,
  Shelf,
  WhatIf,
} from './views.gen';

/** Why something cannot be had, in words for the reader. */
export class SourceError extends Error {}

/**
 * Everything the screens ask for. Positions of IOs are half-open, [from, to), from 0; absent, they
 * mean the whole run. A source answers with what it has: its answers say themselves which positions
 * they cover and how many IOs there are. A signal takes a question back that nobody waits for.
 */
export interface Source {
  /** Whether there is a server, which keeps marks and has every IO. */
  readonly served: boolean;
  /** The id of the only result that there is, where there is but one measurement. */
  readonly only: string | undefined;
  shelf(query: ShelfQuery, signal?: AbortSignal): Promise<Shelf>;
  measurement(id: string, signal?: AbortSignal): Promise<Measurement>;
  /** Of at most `2 * stretches` IOs, and those that failed. */
  outline(
    id: string,
    run: number,
    from?: number,
    to?: number,
    stretches?: number,
    signal?: AbortSignal,
  ): Promise<Outline>;
  histogram(
    id: string,
    run: number,
    from?: number,
    to?: number,
    signal?: AbortSignal,
  ): Promise<LatencyHistogram>;
  /** At most 1000 IOs. */
  ios(id: string, run: number, from: number, count: number, signal?: AbortSignal): Promise<Ios>;
  activities(
    id: string,
    run: number,
    fromNs: number,
    toNs: number,
    signal?: AbortSignal,
  ): Promise<Activity[]>;
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
  sweep(id: string, signal?: AbortSignal): Promise<Explored>;
  whatIf(id: string, signal?: AbortSignal): Promise<WhatIf>;
  /** Keeps what a person thinks of the experiments of a result. */
  setMarks(id: string, marks: Marks): Promise<void>;
}

/** What a reader of a page without a server may do to see more. */
export const SEE_ALL = '“flashscope serve” on the result itself shows every IO.';
