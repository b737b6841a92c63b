// The search for IOs by expression, as a WebAssembly module (crates/query).
import { COLUMNS } from './columns.gen';
import { SourceError } from './source';

/** An IO in the form that the module expects. */
export interface QueryRow {
  run: number;
  position: number;
  /** The values of the columns, in their order. */
  values: number[];
}

/** The functions of the module (crates/query/src/abi.rs). */
interface Exports {
  memory: WebAssembly.Memory;
  query_input(length: number): number;
  query_parse(): number;
  query_text(): number;
  query_text_len(): number;
  query_place(): number;
  query_name(which: number): void;
  query_numbers(): number;
  query_decided(): number;
  query_matches(): number;
}

/** The module, which holds one expression at a time. */
export class QueryModule {
  readonly #exports: Exports;

  private constructor(exports: Exports) {
    this.#exports = exports;
  }

  static async start(module: BufferSource): Promise<QueryModule> {
    const { instance } = await WebAssembly.instantiate(module, {});
    return new QueryModule(instance.exports as unknown as Exports);
  }

  /**
   * Parses an expression, and returns it in its canonical form.
   *
   * @throws SourceError with the position of the error.
   */
  parse(text: string): string {
    this.#input(text);
    if (this.#exports.query_parse() === 1) return this.#text();
    const place = new Uint32Array(this.#exports.memory.buffer, this.#exports.query_place(), 2);
    throw new SourceError(this.#text(), [place[0] ?? 0, place[1] ?? 0]);
  }

  /** Names the micro-benchmark and the experiment of the next IOs. */
  name(microBenchmark: string, experiment: string): void {
    for (const [which, name] of [microBenchmark, experiment].entries()) {
      this.#input(name);
      this.#exports.query_name(which);
    }
  }

  /**
   * The value of the expression if it is equal for all IOs of a run of the experiment that `name`
   * has named, else undefined.
   */
  decided(run: number): boolean | undefined {
    this.#numbers([run]);
    return [false, true, undefined][this.#exports.query_decided()];
  }

  /** True if the expression holds for an IO of the experiment that `name` has named. */
  matches({ run, position, values }: QueryRow): boolean {
    this.#numbers([run, position, ...values]);
    return this.#exports.query_matches() === 1;
  }

  #numbers(numbers: number[]): void {
    const place = this.#exports.query_numbers();
    const memory = new BigInt64Array(this.#exports.memory.buffer, place, COLUMNS.length + 2);
    memory.set(numbers.map((number) => BigInt(number)));
  }

  #input(text: string): void {
    const bytes = new TextEncoder().encode(text);
    const place = this.#exports.query_input(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, place, bytes.length).set(bytes);
  }

  #text(): string {
    const { memory, query_text, query_text_len } = this.#exports;
    return new TextDecoder().decode(new Uint8Array(memory.buffer, query_text(), query_text_len()));
  }
}

/** The fields of an IO in expressions: their names and meanings, as crates/query defines them. */
export const FIELDS: [name: string, meaning: string][] = [
  ...COLUMNS.map(({ name, title }): [string, string] => [name.replace(/_(ns|bytes)$/, ''), title]),
  ['position', 'position in the run, from 0'],
  ['run', 'number of the run'],
  ['micro_benchmark', 'micro-benchmark of the run'],
  ['experiment', 'experiment of the run'],
];
