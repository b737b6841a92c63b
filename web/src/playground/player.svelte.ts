// Plays the film of the flash: requests a picture from the worker each frame, at the chosen speed.
import { unpack } from '../data/module';
import type { Answer, Request } from './messages';
import type { Picture } from './module';
import { needsNewDrive, type Settings, setupOf, workloadOf } from './settings';
import FlashWorker from './worker?worker&inline';

/** The speeds, in flash commands a second. */
export const SPEEDS = [4, 15, 60, 300, 2000, 20_000, Number.POSITIVE_INFINITY] as const;

/** The maximum time of the worker per frame, in ms: painting needs the remaining time. */
const BUDGET = 10;

/** The time between two updates of the numbers, in ms. */
const NUMBERS_EVERY = 150;

/** The minimum number of points of a curve. */
const MIN_POINTS = 2;

/** The maximum backlog of commands that one frame catches up with, in seconds of play. */
const MAX_BEHIND = 0.1;

/** The curve of write amplification: host pages written and the ratio. */
export interface CurveOf {
  host: number[];
  ratio: number[];
}

/** The film of a drive. */
export class Player {
  settings = $state.raw<Settings>() as Settings;
  playing = $state(false);
  speed = $state(2);
  /** The last picture, a few times a second. */
  shown = $state.raw<Picture | undefined>();
  /** The curve of the drive before the last change. */
  before = $state.raw<CurveOf | undefined>();
  commandLine = $state('');
  /** The reason why the drive does not work. */
  problem = $state('');
  /** Receives each picture for the canvas. */
  paint: ((picture: Picture, fresh: boolean) => void) | undefined;

  #worker: Worker | undefined;
  #busy = false;
  #next: Request[] = [];
  #owed = 0;
  #at = 0;
  #numbersAt = 0;
  #spare: ArrayBuffer | undefined;
  #latest: Picture | undefined;
  #frame = 0;
  #stopped = false;

  constructor(settings: Settings) {
    this.settings = settings;
  }

  /** Loads the simulator and opens the drive. */
  async start(ios = 0): Promise<void> {
    const module = await unpack('playground');
    if (this.#stopped) return;
    this.#worker = new FlashWorker();
    this.#worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => this.#take(data));
    this.#worker.addEventListener('error', ({ message }) => {
      this.problem = `The simulator stopped: ${message}. Reload the page.`;
    });
    this.#next = [
      { kind: 'load', module },
      { kind: 'open', setup: setupOf(this.settings), ios },
    ];
    this.#send();
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  /** Ends the worker. */
  stop(): void {
    this.#stopped = true;
    cancelAnimationFrame(this.#frame);
    this.#worker?.terminate();
  }

  /** Changes the settings. Opens a new drive if they need one, and computes `ios` IOs on it first. */
  change(settings: Settings, { ios = 0, fresh = false } = {}): void {
    const opens = fresh || needsNewDrive(this.settings, settings);
    this.settings = settings;
    this.problem = '';
    if (opens) {
      // While a slider moves, each drive is replaced before it has a curve: keep the earlier curve.
      this.before = fresh ? undefined : (curveOf(this.#latest) ?? this.before);
      this.#replace({ kind: 'open', setup: setupOf(settings), ios });
    } else {
      // A drive that is still to be opened gets the new workload at once.
      const waiting = this.#next.find((request) => request.kind === 'open');
      if (waiting?.kind === 'open') waiting.setup = setupOf(settings);
      else this.#replace({ kind: 'change', workload: workloadOf(settings) });
    }
    this.#send();
  }

  /** Opens the same drive again. */
  restart(): void {
    this.change(this.settings, { fresh: true });
  }

  toggle(): void {
    this.playing = !this.playing;
    this.#owed = 1;
  }

  /** Shows the next flash command. */
  step(): void {
    this.playing = false;
    this.#request({ kind: 'advance', commands: 1, budget: BUDGET });
  }

  /** Shows the next IO of the host with all its commands. */
  stepIo(): void {
    this.playing = false;
    this.#request({ kind: 'advance-io' });
  }

  #request(request: Request): void {
    this.#next.push(request);
    this.#send();
  }

  /** Replaces requests that wait by one that makes them obsolete. */
  #replace(request: Request): void {
    this.#next = [...this.#next.filter(({ kind }) => kind === 'load'), request];
  }

  #send(): void {
    if (this.#busy || this.#worker === undefined) return;
    const request = this.#next.shift();
    if (request === undefined) return;
    this.#busy = true;
    this.#worker.postMessage(request);
  }

  #tick(now: number): void {
    this.#frame = requestAnimationFrame((next) => this.#tick(next));
    const since = Math.min((now - this.#at) / 1000, MAX_BEHIND);
    this.#at = now;
    if (!this.playing || this.problem !== '') return;
    const speed = SPEEDS[this.speed] ?? SPEEDS[0];
    this.#owed = Math.min(this.#owed + since * speed, Math.max(1, speed * MAX_BEHIND));
    if (this.#busy || this.#next.length > 0 || this.#owed < 1) return;
    const commands = Number.isFinite(speed) ? Math.floor(this.#owed) : 0xffff_ffff;
    this.#owed = Number.isFinite(speed) ? this.#owed - commands : 1;
    const pages = this.#spare;
    this.#spare = undefined;
    const request = { kind: 'advance', commands, budget: BUDGET } as const;
    this.#busy = true;
    this.#worker?.postMessage(
      pages === undefined ? request : { ...request, pages },
      pages === undefined ? [] : [pages],
    );
  }

  #take(answer: Answer): void {
    this.#busy = false;
    if (answer.kind === 'refused') {
      this.problem = answer.reason;
    } else if (answer.kind === 'picture') {
      const { picture, commandLine } = answer;
      const fresh = commandLine !== undefined;
      if (fresh) this.commandLine = commandLine;
      if (picture.failure !== '') this.problem = picture.failure;
      if (this.#latest !== undefined) this.#spare = this.#latest.pages.buffer;
      this.#latest = picture;
      this.paint?.(picture, fresh);
      const now = performance.now();
      if (fresh || !this.playing || now - this.#numbersAt > NUMBERS_EVERY) {
        this.#numbersAt = now;
        // Copy the pages: their memory goes back to the worker after the next picture.
        this.shown = { ...picture, pages: picture.pages.slice() };
      }
    }
    this.#send();
  }

  /** The last picture with all its pages. */
  get latest(): Picture | undefined {
    return this.#latest;
  }
}

/** The curve of a picture. */
export function curveOf(picture: Picture | undefined): CurveOf | undefined {
  if (picture === undefined || picture.curve.length < 2 * MIN_POINTS) return undefined;
  const at = (from: number) => Array.from(picture.curve).filter((_, i) => i % 2 === from);
  return { host: at(0), ratio: at(1) };
}
