// What a drive that is attached does, asked for once a second.
import type { Live, Sample } from './live.gen';
import { fetched, jsonOf } from './served';

/** How often is asked, in milliseconds. */
const EVERY = 1000;

/** How many samples are kept, of one a second. */
const KEPT = 300;

/** The drive that this server has attached. */
export class Attached {
  /** What was told last; undefined before anything was. */
  live = $state.raw<Live>();
  /** The last five minutes at most, the oldest first. */
  samples = $state.raw<Sample[]>([]);
  /** Why nothing is told now. */
  problem = $state<string>();

  /** Asks until the way to stop that is returned is called. */
  watch(): () => void {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const turn = async () => {
      await this.#ask(controller.signal);
      if (!controller.signal.aborted) timer = setTimeout(turn, EVERY);
    };
    void turn();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const after = this.live?.samples_taken ?? 0;
    try {
      const response = await fetched(
        `/api/attached?after=${after}`,
        { signal },
        'flashscope attach',
      );
      this.#take((await jsonOf(response)) as Live, after);
    } catch (error) {
      if (!signal.aborted) this.problem = error instanceof Error ? error.message : String(error);
    }
  }

  #take(live: Live, after: number): void {
    this.problem = undefined;
    if (live.process !== this.live?.process && this.live !== undefined) {
      // Another drive is attached at this address: the next answer has all of its samples.
      this.samples = [];
      this.live = undefined;
      return;
    }
    // What was taken meanwhile and is not there any more leaves a gap, which the times show.
    this.samples = [...(after === 0 ? [] : this.samples), ...live.samples].slice(-KEPT);
    this.live = live;
  }
}
