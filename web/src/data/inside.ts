// What a simulation shows over time and of the drive's inside, where it was asked for.
import type { Simulation } from './simulation.gen';
import type { Activity } from './views.gen';

/** What the flash did over time, by cause: a number for each stretch of time. */
export interface Amplification {
  bucket_ns: number;
  programs: Record<string, number[]>;
  reads: Record<string, number[]>;
  erases: Record<string, number[]>;
}

/** How often blocks were erased: a number for each cell of so many blocks. */
export interface WearMap {
  blocks_per_cell: number;
  units: {
    unit: number;
    first_block: number;
    blocks: number;
    erases: number[];
    erases_since_new: number[];
    most_since_new?: number[] | null;
  }[];
}

/** The pieces of work of the drive: the longest, and how many of each kind. */
export interface Activities {
  total: number;
  left_out: number;
  bucket_ns: number;
  count_by_bucket: Record<string, number[]>;
  longest: Activity[];
}

/** How latencies are distributed over time. */
export interface LatencyHeatMap {
  bucket_ns: number;
  limits_ns: number[];
  reads: number[][];
  writes: number[][];
  others: number[][];
}

/** A simulation with all that it may show. */
export type Shown = Omit<Simulation, 'observations'> & {
  latency_heat_map?: LatencyHeatMap | null;
  observations: Simulation['observations'] & {
    amplification?: Amplification | null;
    wear_map?: WearMap | null;
    activities?: Activities | null;
    utilization?: { bucket_ns?: number; units: { busy_by_bucket_ns?: number[] }[] } | null;
  };
};
