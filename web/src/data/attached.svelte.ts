// The live status of an attached drive, polled once a second.
import type { DriveStatus, Sample } from './live.gen';
import { fetched, jsonOf } from './served';

/** The time between two polls in milliseconds. */
const INTERVAL = 1000;

/** The number of samples kept: five minutes at one a second. */
const KEPT = 300;

/** The drive that this server has attached. */
export class Attached {
  /** The latest snapshot; undefined before the first. */
  live = $state.raw<DriveStatus>();
  /** The samples of the last five minutes, oldest first. */
  samples = $state.raw<Sample[]>([]);
  /** The error of the last poll, if it failed. */
  problem = $state<string>();

  /** Starts polling; returns a function that stops it. */
  watch(): () => void {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const poll = async () => {
      await this.#fetch(controller.signal);
      if (!controller.signal.aborted) timer = setTimeout(poll, INTERVAL);
    };
    void poll();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    const after = this.live?.samples_taken ?? 0;
    try {
      const response = await fetched(
        `/api/attached?after=${after}`,
        { signal },
        'flashscope attach',
      );
      this.#take((await jsonOf(response)) as DriveStatus, after);
    } catch (error) {
      if (!signal.aborted) this.problem = error instanceof Error ? error.message : String(error);
    }
  }

  #take(live: DriveStatus, after: number): void {
    this.problem = undefined;
    if (live.process !== this.live?.process && this.live !== undefined) {
      // Another drive is attached at this address: the next response has all of its samples.
      this.samples = [];
      this.live = undefined;
      return;
    }
    // Samples that the server dropped between two polls leave a gap on the time axis.
    this.samples = [...(after === 0 ? [] : this.samples), ...live.samples].slice(-KEPT);
    this.live = live;
  }
}
