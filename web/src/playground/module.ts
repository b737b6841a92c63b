// The simulator as a WebAssembly module (crates/playground): its functions, with types.

/** The distributions of addresses, in the order of their numbers. */
export const PATTERNS = ['uniform', 'hotcold', 'zipf', 'sequential'] as const;

/** A distribution of addresses. */
export type Pattern = (typeof PATTERNS)[number];

/** The states of a page, in the order of their numbers. */
export const PAGE_STATES = ['free', 'written', 'moved', 'mapping', 'superseded'] as const;

/** The state of a page. */
export type PageState = (typeof PAGE_STATES)[number];

/** The kinds of the last command on a page, in the order of their numbers. */
export const TOUCHES = [
  'none',
  'host read',
  'move read',
  'host program',
  'move program',
  'map read',
  'map program',
  'erase',
  'suspended',
] as const;

/** The last command on a page. */
export type Touch = (typeof TOUCHES)[number];

/** The IOs of the host. */
export interface Workload {
  pattern: Pattern;
  /** The share of IOs to the hot part, or the exponent of Zipf's law. */
  skew: number;
  /** The shares of reads and of trims in all IOs. */
  reads: number;
  trims: number;
  queueDepth: number;
}

/** The settings of a drive with its workload. */
export interface Setup extends Workload {
  /** The drive, as after `sim:` on the command line. */
  drive: string;
  /** True if every page was written once before the workload begins. */
  filled: boolean;
  seed: number;
}

/** The numbers beside the picture; crates/playground/src/numbers.rs describes them. */
export type Numbers = Record<
  | 'dies'
  | 'blocks_per_die'
  | 'pages_per_block'
  | 'logical_pages'
  | 'page_size'
  | 'host_written'
  | 'host_read'
  | 'host_trimmed'
  | 'programs_host'
  | 'programs_moved'
  | 'programs_mapping'
  | 'flash_reads'
  | 'erases'
  | 'pages_valid'
  | 'pages_superseded'
  | 'pages_free'
  | 'write_amplification'
  | 'theory'
  | 'time'
  | 'read_mean'
  | 'read_p99'
  | 'write_mean'
  | 'write_p99'
  | 'in_flight'
  | 'last_block'
  | 'last_page'
  | 'last_touch'
  | 'last_source'
  | 'last_valid',
  number
>;

/** A picture of the drive between two flash commands. */
export interface Picture {
  /** A byte for each page, block by block: its state in the low half, its last command in the high half. */
  pages: Uint8Array<ArrayBuffer>;
  /** 1 for each block that is being emptied. */
  emptied: Uint8Array;
  /** The erases of each block. */
  erases: Uint32Array;
  numbers: Numbers;
  /** Pairs of host pages written and write amplification. */
  curve: Float64Array;
  /** Pairs of operation and logical page of each IO in flight. */
  inFlight: Uint32Array;
  /** The reason why the drive failed; empty if it works. */
  failure: string;
}

/** The functions of the module (crates/playground/src/abi.rs). */
interface Exports {
  memory: WebAssembly.Memory;
  playground_input(length: number): number;
  playground_read(): number;
  playground_open(
    pattern: number,
    skew: number,
    reads: number,
    trims: number,
    queueDepth: number,
    filled: number,
    seed: number,
  ): number;
  playground_change(
    pattern: number,
    skew: number,
    reads: number,
    trims: number,
    queueDepth: number,
  ): number;
  playground_advance(commands: number, ios: number): number;
  playground_advance_io(): void;
  playground_picture(): void;
  playground_forget_touches(): void;
  playground_pages(): number;
  playground_pages_len(): number;
  playground_emptied(): number;
  playground_emptied_len(): number;
  playground_erases(): number;
  playground_numbers(): number;
  playground_curve(): number;
  playground_curve_len(): number;
  playground_in_flight(): number;
  playground_in_flight_len(): number;
  playground_names(): void;
  playground_command_line(): void;
  playground_failure(): void;
  playground_text(): number;
  playground_text_len(): number;
}

/** The error for an invalid setting; the message names the setting and the reason. */
export class Refused extends Error {}

/** A drive with its workload. */
export class Drive {
  readonly #exports: Exports;
  readonly #names: (keyof Numbers)[];

  private constructor(exports: Exports) {
    this.#exports = exports;
    exports.playground_names();
    this.#names = this.#text().split(' ') as (keyof Numbers)[];
  }

  /** Loads the module. Call `open` before any other method. */
  static async load(module: BufferSource): Promise<Drive> {
    const { instance } = await WebAssembly.instantiate(module);
    return new Drive(instance.exports as unknown as Exports);
  }

  /**
   * Opens a drive, and fills it if `filled` is true.
   *
   * @throws Refused if a setting is invalid; the previous drive stays.
   */
  open({ drive, filled, seed, ...workload }: Setup): void {
    this.#input(drive);
    const { pattern, skew, reads, trims, queueDepth } = workload;
    const number = PATTERNS.indexOf(pattern);
    this.#check(
      this.#exports.playground_open(number, skew, reads, trims, queueDepth, filled ? 1 : 0, seed),
    );
  }

  /**
   * Changes the workload, but not the state of the drive.
   *
   * @throws Refused if a setting is invalid.
   */
  change({ pattern, skew, reads, trims, queueDepth }: Workload): void {
    const number = PATTERNS.indexOf(pattern);
    this.#check(this.#exports.playground_change(number, skew, reads, trims, queueDepth));
  }

  /** Shows up to `commands` flash commands, but computes at most `ios` IOs; returns the number of commands. */
  advance(commands: number, ios: number): number {
    return this.#exports.playground_advance(commands, ios);
  }

  /** Shows the remaining commands of the IO in progress, then the next IO. */
  advanceIo(): void {
    this.#exports.playground_advance_io();
  }

  /** Takes a picture and forgets the last commands. Writes the pages to `into` if its size fits. */
  picture(into?: ArrayBuffer): Picture {
    const exports = this.#exports;
    exports.playground_picture();
    const length = exports.playground_pages_len();
    const blocks = exports.playground_emptied_len();
    // The functions above may have grown the memory, which replaces `memory.buffer`. The functions
    // below only return addresses and lengths.
    const { buffer } = exports.memory;
    const copy = into?.byteLength === length ? new Uint8Array(into) : new Uint8Array(length);
    copy.set(new Uint8Array(buffer, exports.playground_pages(), length));
    const picture = {
      pages: copy,
      emptied: new Uint8Array(buffer, exports.playground_emptied(), blocks).slice(),
      erases: new Uint32Array(buffer, exports.playground_erases(), blocks).slice(),
      numbers: this.#numbers(),
      curve: new Float64Array(
        buffer,
        exports.playground_curve(),
        exports.playground_curve_len(),
      ).slice(),
      inFlight: new Uint32Array(
        buffer,
        exports.playground_in_flight(),
        exports.playground_in_flight_len(),
      ).slice(),
    };
    exports.playground_forget_touches();
    exports.playground_failure();
    return { ...picture, failure: this.#text() };
  }

  /** The command line of the program for the same simulation. */
  commandLine(): string {
    this.#exports.playground_command_line();
    return this.#text();
  }

  #numbers(): Numbers {
    const { memory, playground_numbers } = this.#exports;
    const values = new Float64Array(memory.buffer, playground_numbers(), this.#names.length);
    return Object.fromEntries(this.#names.map((name, i) => [name, values[i]])) as Numbers;
  }

  /** Reads a profile; returns its fields, as `DroppedProfile` has them. */
  static async read(module: BufferSource, toml: string): Promise<string[]> {
    const drive = await Drive.load(module);
    drive.#input(toml);
    drive.#check(drive.#exports.playground_read());
    return drive.#text().split('\n');
  }

  #input(text: string): void {
    const encoded = new TextEncoder().encode(text);
    const place = this.#exports.playground_input(encoded.length);
    new Uint8Array(this.#exports.memory.buffer, place, encoded.length).set(encoded);
  }

  #check(ok: number): void {
    if (ok === 0) throw new Refused(this.#text());
  }

  #text(): string {
    const { memory, playground_text, playground_text_len } = this.#exports;
    return new TextDecoder().decode(
      new Uint8Array(memory.buffer, playground_text(), playground_text_len()),
    );
  }
}

/**
 * A drive profile that the user dropped on the page, with the overrides that make the drive small
 * enough to draw (crates/playground/src/dropped.rs).
 */
export interface DroppedProfile {
  ftl: string;
  spare: number;
  policy: string;
  scheduler: string;
  /** The fields that shrink the drive, as after the `?` of its name. */
  overrides: string;
  pages: number;
  whole: number;
}

/**
 * Reads a profile in TOML.
 *
 * @throws Refused with the reason why it cannot be shown.
 */
export async function readProfile(module: BufferSource, toml: string): Promise<DroppedProfile> {
  const [ftl = '', spare, policy = '', scheduler = '', overrides = '', pages, whole] =
    await Drive.read(module, toml);
  return {
    ftl,
    spare: Number(spare),
    policy,
    scheduler,
    overrides,
    pages: Number(pages),
    whole: Number(whole),
  };
}
