// The data embedded in the page. Large lists are compressed, and inflated at their first use.
import type { OnlyItem, ShelfQuery } from '../route';
import { parseJson } from './json';
import { storedMarks, storeMarks } from './marks';
import { search } from './matches';
import { hasModule, unpack } from './module';
import type { Prediction } from './prediction';
import type { ProbeReport } from './probe.gen';
import { QueryModule } from './query';
import { shelfOf } from './shelf';
import type { Simulation } from './simulation.gen';
import { SEE_ALL, type Source, SourceError } from './source';
import type { Twin } from './twin.gen';
import type {
  Activity,
  Colours,
  ComparedNumber,
  Comparison,
  ExploredSweep,
  Facts,
  Ios,
  Manifest,
  Marks,
  Matches,
  Measurement,
  Outline,
  RunViews,
  Shelf,
  WhatIf,
} from './views.gen';
import { cropColours, cropOutline } from './window';

/** A list, or its JSON compressed by gzip and encoded in base64. */
type Packed<T> = T[] | string;

/** A measurement with as many of its records as fit in a page. */
export interface EmbeddedMeasurement {
  id: string;
  name: string;
  manifest: Manifest;
  facts: Facts;
  marks?: Marks;
  outlines?: Packed<Outline>;
  colours?: Packed<Colours>;
  run_views?: { [K in keyof RunViews]?: Packed<RunViews[K]> };
  ios?: Packed<Ios>;
}

/** A probe in a page. */
export interface EmbeddedProbe {
  id: string;
  name: string;
  probe: ProbeReport;
}

/** A simulation in a page. */
export interface EmbeddedSimulation {
  id: string;
  name: string;
  simulation: Simulation;
}

/** A sweep in a page. */
export interface EmbeddedSweep {
  id: string;
  name: string;
  sweep: ExploredSweep;
}

/** A what-if in a page. */
export interface EmbeddedWhatIf {
  id: string;
  name: string;
  what_if: WhatIf;
}

/** A twin in a page. */
export interface EmbeddedTwin {
  id: string;
  name: string;
  twin: Twin;
}

/** A prediction in a page. */
export interface EmbeddedPrediction {
  id: string;
  name: string;
  prediction: Prediction;
}

/** The data that the program embeds in a page. */
export interface Page {
  measurements: EmbeddedMeasurement[];
  simulations: EmbeddedSimulation[];
  probes: EmbeddedProbe[];
  sweeps: EmbeddedSweep[];
  /** Absent from pages of earlier versions. */
  what_ifs?: EmbeddedWhatIf[];
  /** Absent from pages of earlier versions. */
  twins?: EmbeddedTwin[];
  /** Absent from pages of earlier versions. */
  predictions?: EmbeddedPrediction[];
  /**
   * The n-th comparison has the n-th measurement first, then those after it, then those before it. A page
   * with many measurements has room for only the first comparisons.
   */
  comparisons: (Comparison | string)[];
}

/** Decodes base64, inflates it and parses the JSON. */
async function inflate(base64: string): Promise<unknown> {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return parseJson(await new Response(stream).text());
  } catch (error) {
    throw new SourceError(
      `The data in this page is damaged: ${String(error)}. Create the report again.`,
    );
  }
}

/** The large parts of a measurement. */
interface Parts {
  outlines: Outline;
  colours: Colours;
  ios: Ios;
}

/** The data of a page without a server. */
export class Embedded implements Source {
  readonly served = false;
  readonly whatIfs = false;
  readonly submissions = false;
  readonly commands = false;
  readonly only: OnlyItem | undefined;
  readonly #page: Page;
  #query: Promise<QueryModule> | undefined;
  readonly #unpacked = new Map<string, Promise<unknown>>();

  constructor(page: Page) {
    this.#page = page;
    const items = [
      ...page.measurements.map(({ id }) => ({ kind: 'measurement', id }) as const),
      ...page.simulations.map(({ id }) => ({ kind: 'simulation', id }) as const),
      ...page.probes.map(({ id }) => ({ kind: 'probe', id }) as const),
      ...page.sweeps.map(({ id }) => ({ kind: 'sweep', id }) as const),
      ...(page.what_ifs ?? []).map(({ id }) => ({ kind: 'what_if', id }) as const),
      ...(page.twins ?? []).map(({ id }) => ({ kind: 'twin', id }) as const),
      ...(page.predictions ?? []).map(({ id }) => ({ kind: 'prediction', id }) as const),
    ];
    this.only = items.length === 1 ? items[0] : undefined;
  }

  get searches(): boolean {
    return hasModule('query');
  }

  async shelf(query: ShelfQuery): Promise<Shelf> {
    return shelfOf(this.#page, query);
  }

  async measurement(id: string): Promise<Measurement> {
    const { name, manifest, facts, marks = { experiments: [] } } = this.#measurement(id);
    return { id, name, manifest, facts, marks: storedMarks(localKey(id, manifest)) ?? marks };
  }

  async outline(id: string, run: number, from?: number, to?: number): Promise<Outline> {
    const outline = (await this.#parts(id, 'outlines')).find((one) => one.run === run);
    if (outline === undefined) {
      throw new SourceError(`This page contains no IOs of run ${run}. ${SEE_ALL}`);
    }
    return cropOutline(outline, from, to);
  }

  async runView<K extends keyof RunViews>(name: K, id: string, run: number): Promise<RunViews[K]> {
    const packed: Packed<RunViews[K]> = this.#measurement(id).run_views?.[name] ?? [];
    const views = await this.#inflated(`${name} ${id}`, packed);
    const view = views.find((one) => one.run === run);
    if (view !== undefined) return view;
    throw new SourceError(`This page contains no ${name} of run ${run}. ${SEE_ALL}`);
  }

  async ios(id: string, run: number, from: number, count: number): Promise<Ios> {
    const all = (await this.#parts(id, 'ios')).filter((ios) => ios.run === run);
    const middle = from + count / 2;
    const around = all.find((ios) => ios.from <= middle && middle <= end(ios));
    if (around !== undefined) return around;
    const content =
      all.length === 0
        ? `no single IOs of run ${run}`
        : `only the slowest IOs of run ${run} and their neighbours`;
    throw new SourceError(`This page contains ${content}. ${SEE_ALL}`);
  }

  async activities(id: string, run: number, fromNs: number, toNs: number): Promise<Activity[]> {
    const all = (await this.#parts(id, 'ios')).filter((ios) => ios.run === run);
    const unique = new Map<string, Activity>();
    for (const activity of all.flatMap((ios) => ios.activities)) {
      if (activity.start_ns >= toNs || activity.end_ns <= fromNs) continue;
      unique.set(
        `${activity.kind} ${activity.start_ns} ${activity.unit} ${activity.block}`,
        activity,
      );
    }
    return [...unique.values()].sort((a, b) => a.start_ns - b.start_ns);
  }

  async matches(id: string, where: string, limit: number): Promise<Matches> {
    this.#query ??= unpack('query').then((module) => QueryModule.start(module));
    const [query, ios] = await Promise.all([this.#query, this.#parts(id, 'ios')]);
    return search(query, where, limit, this.#measurement(id).manifest, ios);
  }

  async colours(
    id: string,
    benchmark: string,
    experiment: string,
    from?: number,
    to?: number,
    columns?: number,
  ): Promise<Colours> {
    const colours = (await this.#parts(id, 'colours')).find(
      (c) => c.micro_benchmark === benchmark && c.experiment === experiment,
    );
    if (colours !== undefined) return cropColours(colours, from, to, columns);
    throw new SourceError(
      `This page contains no colour analysis of ${benchmark}, ${experiment}. ${SEE_ALL}`,
    );
  }

  async comparison(ids: string[]): Promise<Comparison> {
    const { comparisons, measurements } = this.#page;
    const places = ids.map((id) => measurements.indexOf(this.#measurement(id)));
    const [first = 0] = places;
    const related = comparisons[first] !== undefined;
    const to = related ? first : 0;
    const packed = comparisons[to];
    if (packed === undefined) {
      throw new SourceError(`This page contains no comparison of results. ${SEE_ALL}`);
    }
    const all = await this.#inflated(`comparison ${to}`, packed);
    const count = measurements.length;
    return pick(
      all,
      places.map((place) => (place - to + count) % count),
      related,
    );
  }

  async simulation(id: string): Promise<Simulation> {
    return byId(this.#page.simulations, id, 'simulation').simulation;
  }

  async probe(id: string): Promise<ProbeReport> {
    return byId(this.#page.probes, id, 'probe').probe;
  }

  async sweep(id: string): Promise<ExploredSweep> {
    return byId(this.#page.sweeps, id, 'sweep').sweep;
  }

  async whatIf(id: string): Promise<WhatIf> {
    return byId(this.#page.what_ifs ?? [], id, 'what-if').what_if;
  }

  async twin(id: string): Promise<Twin> {
    return byId(this.#page.twins ?? [], id, 'twin').twin;
  }

  async prediction(id: string): Promise<Prediction> {
    return byId(this.#page.predictions ?? [], id, 'prediction').prediction;
  }

  async setMarks(id: string, marks: Marks): Promise<void> {
    storeMarks(localKey(id, this.#measurement(id).manifest), marks);
  }

  #measurement(id: string): EmbeddedMeasurement {
    return byId(this.#page.measurements, id, 'result');
  }

  #parts<K extends keyof Parts>(id: string, name: K): Promise<Parts[K][]> {
    return this.#inflated(`${name} ${id}`, (this.#measurement(id)[name] ?? []) as Packed<Parts[K]>);
  }

  /** Inflates a value at its first use and keeps it under `key`, which is unique in the page. */
  #inflated<T extends object>(key: string, packed: T | string): Promise<T> {
    const known = this.#unpacked.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const unpacked = (
      typeof packed === 'string' ? inflate(packed) : Promise.resolve(packed)
    ) as Promise<T>;
    this.#unpacked.set(key, unpacked);
    return unpacked;
  }
}

/** Finds the item of an id; `kind` names it in the error. */
function byId<T extends { id: string }>(items: T[], id: string, kind: string): T {
  const item = items.find((one) => one.id === id);
  if (item !== undefined) return item;
  throw new SourceError(`This page contains no ${kind} “${id}”.`);
}

/**
 * The key of a result's marks in the browser's storage. It includes the start time, because another page may
 * use the same id.
 */
const localKey = (id: string, manifest: Manifest) => `${id} ${manifest.started}`;

const end = (ios: Ios) => ios.from + ios.latency_ns.length;

/**
 * Picks some results of a comparison, with their ratios to the first only if `related`. Drops the values
 * and experiments that none of these results has.
 */
function pick(all: Comparison, places: number[], related: boolean): Comparison {
  const some = (results: ComparedNumber[]): ComparedNumber[] =>
    places.map((place) => {
      const { value = null, ...relation } = results[place] ?? {};
      return related ? { value, ...relation } : { value };
    });
  const experiments = all.experiments.map((experiment) => ({
    ...experiment,
    values: experiment.values
      .map((value) => ({ ...value, results: some(value.results) }))
      .filter(({ results }) => results.some(({ value }) => value != null)),
  }));
  const workloads = all.workloads.map((workload) => ({
    ...workload,
    quantities: workload.quantities
      .map((quantity) => ({ ...quantity, results: some(quantity.results) }))
      .filter(({ results }) => results.filter(({ value }) => value != null).length > 1),
  }));
  // A conclusion relates a result to the first, and conditions may be those of other results.
  const isWhole = related && places.length === all.results.length && places[0] === 0;
  const concluded = all.conclusions.filter(() => related && places[0] === 0);
  return {
    schema_version: all.schema_version,
    results: places.flatMap((place) => all.results[place] ?? []),
    conclusions: concluded
      .map((conclusion) => ({ ...conclusion, result: places.indexOf(conclusion.result) }))
      .filter(({ result }) => result > 0),
    ranking: isWhole ? all.ranking : [],
    workloads: workloads.filter(({ quantities }) => quantities.length > 0),
    differing_conditions: isWhole ? all.differing_conditions : [],
    characteristics: all.characteristics.map((c) => ({ ...c, results: some(c.results) })),
    experiments: experiments.filter(({ values }) => values.length > 0),
  };
}
