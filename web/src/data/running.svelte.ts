// States that a server sends whenever they change, as server-sent events.
import { parseJson } from './json';
import type { RunningCommand, ShelfCommands } from './views.gen';

/** A state that the page follows. */
export class Followed<T> {
  /** The latest state; undefined before the first. */
  state = $state.raw<T>();
  /** True while the connection is lost. */
  lost = $state(false);
  readonly #address: string;
  readonly #isLast: (state: T) => boolean;

  /** Follows the events at `address` until a state is the last. */
  constructor(address: string, isLast: (state: T) => boolean) {
    this.#address = address;
    this.#isLast = isLast;
  }

  /** Starts to follow; returns a function that stops it. */
  watch(): () => void {
    const events = new EventSource(this.#address);
    events.onmessage = ({ data }) => {
      this.lost = false;
      this.state = parseJson(String(data)) as T;
      // The program ends soon after its last event, which stays on the page.
      if (this.#isLast(this.state)) events.close();
    };
    // The browser connects again by itself.
    events.onerror = () => {
      this.lost = true;
    };
    return () => events.close();
  }
}

/** A command that runs. */
export type Running = Followed<RunningCommand>;

const ended = ({ status }: RunningCommand) => status !== 'running';

/** The command that this server shows. */
export const runningCommand = (): Running => new Followed('/api/running/events', ended);

/** A command that writes to the shelf of this server. */
export const shelfCommand = (id: number): Running =>
  new Followed(`/api/commands/${id}/events`, ended);

/** The commands that write to the shelf of this server. */
export const shelfCommands = () => new Followed<ShelfCommands>('/api/commands/events', () => false);
