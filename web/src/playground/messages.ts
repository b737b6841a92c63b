// The messages between the page and the worker that runs the simulator.
import type { Picture, Setup, Workload } from './module';

/** A request of the page. The worker answers each one, in order. */
export type Request =
  | { kind: 'load'; module: ArrayBuffer }
  /** Opens a drive, and computes `ios` IOs before the first picture. */
  | { kind: 'open'; setup: Setup; ios: number }
  | { kind: 'change'; workload: Workload }
  /** Shows flash commands, for at most `budget` milliseconds. `pages` is memory to reuse. */
  | { kind: 'advance'; commands: number; budget: number; pages?: ArrayBuffer }
  /** Shows the remaining commands of the IO in progress, then the next IO. */
  | { kind: 'advance-io' };

/** An answer of the worker. */
export type Answer =
  | { kind: 'loaded' }
  | { kind: 'picture'; picture: Picture; commandLine?: string }
  | { kind: 'refused'; reason: string };
