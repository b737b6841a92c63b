// Files that the user drops on the page: documents of flashscope, traces, profiles and tables, which open without a server.
import { addProfile } from '../playground/dropped';
import { itemHref, type OnlyItem, playgroundHref, tableHref, traceHref } from '../route';
import { Embedded, type Page } from './embedded';
import { parseJson } from './json';
import { hasModule } from './module';
import { OF_SWEEP, OF_TWIN, withCurrentNames } from './renamed';
import { type Source, SourceError } from './source';
import { parseTable, type Table } from './table';
import type { Trace } from './trace.gen';
import { NoTrace, readTrace } from './trace-module';

/** The maximum size of a file to read, in bytes. */
const MAX_BYTES = 256 * 1024 ** 2;

/** A file that opens. */
export interface DroppedItem {
  kind: OnlyItem['kind'] | 'trace' | 'table' | 'profile';
  /** The name on the page, unique among the open items. */
  id: string;
}

/** The items that a drop opened, and the reasons why other files did not open. */
export interface DropOutcome {
  opened: DroppedItem[];
  problems: string[];
}

type Json = Record<string, unknown>;

/** Extensions of files that the program reads but the page does not, with the command that opens such files. */
const ELSEWHERE: [RegExp, string][] = [
  [
    /\.parquet$/i,
    'Records open with “flashscope serve FOLDER”, and traces with “flashscope trace stat FILE --html PAGE.html”.',
  ],
  [
    /\.(zst|bz2|xz)$/i,
    'Decompress it first, or use “flashscope trace stat FILE --html PAGE.html”.',
  ],
  [/\.html?$/i, 'Open pages in the browser itself.'],
];

/** The extensions of profiles, and of traces and tables. */
const PROFILE = /\.toml$/i;
const LINES = /\.(csv|tsv|txt|trace|log|ascii|srt|spc|vscsi|blktrace)(\.gz)?$/i;

/** The maximum size of a decompressed trace in bytes. */
const MAX_CONTENT = 1024 ** 3;

/** The address at which an item opens. */
export function droppedHref({ kind, id }: DroppedItem): string {
  if (kind === 'trace') return traceHref(id);
  if (kind === 'table') return tableHref(id);
  if (kind === 'profile') return playgroundHref(String(new URLSearchParams({ drive: id })));
  return itemHref({ kind, id });
}

/** The content of a file, decompressed if its name ends in `.gz`. */
async function contentOf(file: File): Promise<ArrayBuffer> {
  if (!/\.gz$/i.test(file.name)) return file.arrayBuffer();
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  const [chunks, sizes] = [[] as Uint8Array<ArrayBuffer>[], { whole: 0 }];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(chunks).arrayBuffer();
    chunks.push(value);
    sizes.whole += value.length;
    if (sizes.whole > MAX_CONTENT) {
      await reader.cancel();
      throw new Error(`is larger than ${MAX_CONTENT / 1024 ** 3} GiB after decompression`);
    }
  }
}

/** Files of a result folder that do not open by themselves. */
const BESIDE = new Set(['facts.json', 'grid.json', 'marks.json']);

/** The name of a document: its file, or the folder of a result. */
function nameOf(file: File): string {
  const folder = file.webkitRelativePath.split('/').at(-2);
  const known = /^(manifest|simulation|probe|sweep|what-if|prediction)\.json$/.test(file.name);
  return (known && folder !== undefined ? folder : file.name).replace(
    /\.(flashscope|twin\.json|json)$/,
    '',
  );
}

const tooLarge = (file: File) => `${file.name} is larger than ${MAX_BYTES / 1024 ** 2} MiB.`;

/** An error in words, without a full stop. */
const words = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');

/** Returns the table, or the reason why the content is not a table. */
function tableOf(content: ArrayBuffer): Table | string {
  try {
    return parseTable(new TextDecoder().decode(content));
  } catch (error) {
    return words(error);
  }
}

/** Parses the JSON of a file; returns a problem in words for any other file. */
async function documentOf(file: File): Promise<Json | string> {
  const elsewhere = ELSEWHERE.find(([end]) => end.test(file.name));
  if (elsewhere !== undefined) return `The page cannot read ${file.name}. ${elsewhere[1]}`;
  if (file.size > MAX_BYTES) return tooLarge(file);
  try {
    const json = parseJson(await file.text());
    if (typeof json === 'object' && json !== null) return json as Json;
  } catch {
    // The problem below covers this error.
  }
  return `${file.name} is no document of flashscope: drop the JSON files of a result folder, or the output of --json.`;
}

const has = (json: Json, ...names: string[]) => names.every((name) => name in json);

/** A page that holds only this document; undefined if no list of the page can hold it. */
function placed(json: Json, id: string, facts: Json | undefined): Partial<Page> | undefined {
  const item = { id, name: id };
  if (has(json, 'manifest', 'facts')) {
    return { measurements: [{ ...item, ...(json as object) }] as Page['measurements'] };
  }
  if (has(json, 'micro_benchmarks', 'device') && facts !== undefined) {
    return {
      measurements: [{ ...item, manifest: json, facts }] as unknown as Page['measurements'],
    };
  }
  const whole = json as never;
  if (has(json, 'findings', 'signals')) return { probes: [{ ...item, probe: whole }] };
  if (has(json, 'base', 'variants')) return { what_ifs: [{ ...item, what_if: whole }] };
  if (has(json, 'profile', 'draws')) {
    return { twins: [{ ...item, twin: withCurrentNames(whole, OF_TWIN) }] };
  }
  if (has(json, 'drive', 'workload', 'passes') || has(json, 'is_amplification_identified')) {
    return { predictions: [{ ...item, prediction: whole }] };
  }
  if (has(json, 'space', 'front')) {
    const sweep = { sweep: withCurrentNames(whole, OF_SWEEP), points: [], simulated: 0 } as never;
    return { sweeps: [{ ...item, sweep }] };
  }
  if (has(json, 'host_pages_written', 'observations')) {
    return { simulations: [{ ...item, simulation: whole }] };
  }
  return undefined;
}

const KINDS: [keyof Page, OnlyItem['kind']][] = [
  ['measurements', 'measurement'],
  ['simulations', 'simulation'],
  ['probes', 'probe'],
  ['sweeps', 'sweep'],
  ['what_ifs', 'what_if'],
  ['twins', 'twin'],
  ['predictions', 'prediction'],
];

/** Adds the items that the user drops to a base source. */
export class DropSource implements Source {
  readonly served: boolean;
  readonly whatIfs: boolean;
  readonly submissions: boolean;
  readonly commands: boolean;
  readonly only: OnlyItem | undefined;
  readonly #base: Source;
  readonly #dropped = new Map<string, Embedded>();
  readonly #traces = new Map<string, Trace>();
  readonly #tables = new Map<string, Table>();

  constructor(base: Source) {
    this.#base = base;
    this.served = base.served;
    this.whatIfs = base.whatIfs;
    this.submissions = base.submissions;
    this.commands = base.commands;
    this.only = base.only;
  }

  /** Reads files and adds the documents among them. */
  async take(files: File[]): Promise<DropOutcome> {
    const outcome: DropOutcome = { opened: [], problems: [] };
    const documents = files.filter(({ name }) => !BESIDE.has(name));
    for (const file of documents) {
      if (PROFILE.test(file.name) || LINES.test(file.name)) {
        const opened = await this.#open(file);
        if (typeof opened === 'string') outcome.problems.push(opened);
        else outcome.opened.push(opened);
        continue;
      }
      const json = await documentOf(file);
      if (typeof json === 'string') {
        outcome.problems.push(json);
        continue;
      }
      const folder = file.webkitRelativePath.slice(0, -file.name.length);
      const beside = files.find(
        (other) =>
          other.name === 'facts.json' &&
          other.webkitRelativePath.slice(0, -other.name.length) === folder,
      );
      const facts = beside === undefined ? undefined : await documentOf(beside);
      const id = this.#free(nameOf(file));
      const page = placed(json, id, typeof facts === 'string' ? undefined : facts);
      const found = KINDS.find(([list]) => page !== undefined && list in page);
      if (page === undefined || found === undefined) {
        outcome.problems.push(unknown(file, json));
        continue;
      }
      const empty = { measurements: [], simulations: [], probes: [], sweeps: [], comparisons: [] };
      this.#dropped.set(id, new Embedded({ ...empty, ...page }));
      outcome.opened.push({ kind: found[1], id });
    }
    if (files.length > 0 && documents.length === 0) {
      outcome.problems.push('Drop manifest.json together with facts.json, or the whole folder.');
    }
    return outcome;
  }

  /** Opens a profile, a trace or a table; returns a problem in words. */
  async #open(file: File): Promise<DroppedItem | string> {
    const { name } = file;
    if (file.size > MAX_BYTES) return tooLarge(file);
    if (PROFILE.test(name)) {
      if (!hasModule('playground')) {
        return `This page was built without the playground. To simulate ${name}, run “flashscope simulate --drive sim:./${name}”.`;
      }
      try {
        return { kind: 'profile', id: await addProfile(name, await file.text()) };
      } catch (error) {
        return `The playground cannot show ${name}: ${words(error)}`;
      }
    }
    try {
      const content = await contentOf(file);
      const [trace, reason] = await this.#trace(name, content.slice(0));
      if (trace !== undefined) {
        const id = this.#free(name);
        this.#traces.set(id, trace);
        return { kind: 'trace', id };
      }
      if (!/\.(csv|tsv)(\.gz)?$/i.test(name)) return reason;
      const table = tableOf(content);
      if (typeof table === 'string') return `${reason} As a table, it ${table}.`;
      const id = this.#free(name);
      this.#tables.set(id, table);
      return { kind: 'table', id };
    } catch (error) {
      return `${name} ${words(error)}.`;
    }
  }

  /** Reads a trace, or returns in words why the file is none. */
  async #trace(name: string, content: ArrayBuffer): Promise<[Trace] | [undefined, string]> {
    if (!hasModule('trace-page')) {
      return [
        undefined,
        `This page was built without the reader of traces. To view ${name}, run “flashscope trace stat ${name} --html PAGE.html”.`,
      ];
    }
    try {
      return [await readTrace(name, content)];
    } catch (error) {
      if (!(error instanceof NoTrace)) throw error;
      return [undefined, `${name} is not a trace that flashscope reads: ${error.message}.`];
    }
  }

  /** A trace that was dropped. */
  trace = (id: string): Trace | undefined => this.#traces.get(id);

  /** A table that was dropped. */
  table = (id: string): Table | undefined => this.#tables.get(id);

  /** A name that no other dropped item has; its suffix tells it from results of the base source. */
  #free(name: string): string {
    let id = `${name} (dropped)`;
    const isTaken = () => [this.#dropped, this.#traces, this.#tables].some((all) => all.has(id));
    for (let n = 2; isTaken(); n++) id = `${name} (dropped ${n})`;
    return id;
  }

  get searches(): boolean {
    return this.#base.searches;
  }

  #of(id: string): Source {
    return this.#dropped.get(id) ?? this.#base;
  }

  shelf: Source['shelf'] = (...args) => this.#base.shelf(...args);
  measurement: Source['measurement'] = (id, ...args) => this.#of(id).measurement(id, ...args);
  outline: Source['outline'] = (id, ...args) => this.#of(id).outline(id, ...args);
  runView: Source['runView'] = (name, id, ...args) => this.#of(id).runView(name, id, ...args);
  ios: Source['ios'] = (id, ...args) => this.#of(id).ios(id, ...args);
  activities: Source['activities'] = (id, ...args) => this.#of(id).activities(id, ...args);
  matches: Source['matches'] = (id, ...args) => this.#of(id).matches(id, ...args);
  colours: Source['colours'] = (id, ...args) => this.#of(id).colours(id, ...args);
  simulation: Source['simulation'] = (id, ...args) => this.#of(id).simulation(id, ...args);
  probe: Source['probe'] = (id, ...args) => this.#of(id).probe(id, ...args);
  sweep: Source['sweep'] = (id, ...args) => this.#of(id).sweep(id, ...args);
  whatIf: Source['whatIf'] = (id, ...args) => this.#of(id).whatIf(id, ...args);
  twin: Source['twin'] = (id, ...args) => this.#of(id).twin(id, ...args);
  prediction: Source['prediction'] = (id, ...args) => this.#of(id).prediction(id, ...args);
  setMarks: Source['setMarks'] = (id, ...args) => this.#of(id).setMarks(id, ...args);

  comparison: Source['comparison'] = (ids, ...args) => {
    const dropped = ids.find((id) => this.#dropped.has(id));
    if (dropped === undefined) return this.#base.comparison(ids, ...args);
    throw new SourceError(
      `“${dropped}” was dropped on this page: compare results with “flashscope compare”.`,
    );
  };
}

/** Says why a JSON file does not open. */
function unknown(file: File, json: Json): string {
  if (has(json, 'micro_benchmarks')) {
    return `${file.name} needs facts.json of the same folder: drop both, or the whole folder.`;
  }
  return `${file.name} is JSON, but no result that this page shows.`;
}

/** The files of a drop, and the JSON files directly in its folders, with their paths. */
export async function filesOf(transfer: DataTransfer): Promise<File[]> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  if (entries.length === 0) return [...transfer.files];
  return (await Promise.all(entries.map((entry) => within(entry, '')))).flat();
}

/** The JSON files of a folder, or the file itself. */
async function within(entry: FileSystemEntry, path: string): Promise<File[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => {
      (entry as FileSystemFileEntry).file(resolve, reject);
    });
    if (path === '') return [file];
    if (!file.name.endsWith('.json')) return [];
    Object.defineProperty(file, 'webkitRelativePath', { value: `${path}${file.name}` });
    return [file];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) break;
    all.push(...some);
  }
  const files = all.filter((one) => one.isFile);
  return (await Promise.all(files.map((one) => within(one, `${path}${entry.name}/`)))).flat();
}
