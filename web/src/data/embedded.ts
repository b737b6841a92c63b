// What the page itself holds. What is large is compressed, and inflated when it is first asked for.
import type { ShelfQuery } from '../route';
import { parseJson } from './json';
import { marksIn, rememberMarks } from './marks';
import type { ProbeReport } from './probe.gen';
import { shelfOf } from './shelf';
import type { Simulation } from './simulation.gen';
import { SEE_ALL, type Source, SourceError } from './source';
import type {
  Activity,
  Colours,
  Compared,
  Comparison,
  Explored,
  Facts,
  Ios,
  LatencyHistogram,
  Manifest,
  Marks,
  Measurement,
  Outline,
  Shelf,
  WhatIf,
} from './views.gen';
import { cropColours, cropOutline } from './window';

/** A list as it stands, or its JSON by gzip and in base64. */
type Packed<T> = T[] | string;

/** A measurement with as much of its records as fits a page. */
export interface HeldMeasurement {
  id: string;
  name: string;
  manifest: Manifest;
  facts: Facts;
  marks?: Marks;
  outlines?: Packed<Outline>;
  colours?: Packed<Colours>;
  histograms?: Packed<LatencyHistogram>;
  ios?: Packed<Ios>;
}

/** A probe in a page. */
export interface HeldProbe {
  id: string;
  name: string;
  probe: ProbeReport;
}

/** A simulation in a page. */
export interface HeldSimulation {
  id: string;
  name: string;
  simulation: Simulation;
}

/** A sweep in a page. */
export interface HeldSweep {
  id: string;
  name: string;
  sweep: Explored;
}

/** What the program puts into a page. */
export interface Page {
  measurements: HeldMeasurement[];
  simulations: HeldSimulation[];
  probes: HeldProbe[];
  sweeps: HeldSweep[];
  /**
   * The n-th is of the measurements from the n-th on, and round to it: how they relate to that one. Where
   * there are many measurements, there is room for the first of these alone.
   */
  comparisons: (Comparison | string)[];
}

/** The JSON of base64 of gzip. */
async function inflate(base64: string): Promise<unknown> {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return parseJson(await new Response(stream).text());
  } catch (error) {
    throw new SourceError(`What this page holds of the IOs is damaged: ${String(error)}`);
  }
}

/** The parts of a measurement that are large. */
interface Parts {
  outlines: Outline;
  colours: Colours;
  histograms: LatencyHistogram;
  ios: Ios;
}

/** The data of a page without a server. */
export class Embedded implements Source {
  readonly served = false;
  readonly only: string | undefined;
  readonly #page: Page;
  readonly #unpacked = new Map<string, Promise<unknown>>();

  constructor(page: Page) {
    this.#page = page;
    const [first, ...more] = page.measurements;
    const others = [...more, ...page.simulations, ...page.probes, ...page.sweeps];
    this.only = others.length === 0 ? first?.id : undefined;
  }

  async shelf(query: ShelfQuery): Promise<Shelf> {
    return shelfOf(this.#page, query);
  }

  async measurement(id: string): Promise<Measurement> {
    const { name, manifest, facts, marks = { experiments: [] } } = this.#held(id);
    return { id, name, manifest, facts, marks: marksIn(localKey(id, manifest)) ?? marks };
  }

  async outline(id: string, run: number, from?: number, to?: number): Promise<Outline> {
    const found = (await this.#parts(id, 'outlines')).find((outline) => outline.run === run);
    if (found === undefined) throw new SourceError(`This page holds no IOs of run ${run}.`);
    return cropOutline(found, from, to);
  }

  async histogram(id: string, run: number): Promise<LatencyHistogram> {
    const found = (await this.#parts(id, 'histograms')).find((h) => h.run === run);
    if (found !== undefined) return found;
    throw new SourceError(`This page holds no histogram of run ${run}. ${SEE_ALL}`);
  }

  async ios(id: string, run: number, from: number, count: number): Promise<Ios> {
    const all = (await this.#parts(id, 'ios')).filter((ios) => ios.run === run);
    const middle = from + count / 2;
    const found = all.find((ios) => ios.from <= middle && middle <= end(ios));
    if (found !== undefined) return found;
    const which =
      all.length === 0
        ? `no single IOs of run ${run}`
        : `of run ${run} only the slowest IOs and those beside them`;
    throw new SourceError(`This page holds ${which}. ${SEE_ALL}`);
  }

  async activities(id: string, run: number, fromNs: number, toNs: number): Promise<Activity[]> {
    const all = (await this.#parts(id, 'ios')).filter((ios) => ios.run === run);
    const found = new Map<string, Activity>();
    for (const activity of all.flatMap((ios) => ios.activities)) {
      if (activity.start_ns >= toNs || activity.end_ns <= fromNs) continue;
      found.set(
        `${activity.kind} ${activity.start_ns} ${activity.unit} ${activity.block}`,
        activity,
      );
    }
    return [...found.values()].sort((a, b) => a.start_ns - b.start_ns);
  }

  async colours(
    id: string,
    benchmark: string,
    experiment: string,
    from?: number,
    to?: number,
    columns?: number,
  ): Promise<Colours> {
    const found = (await this.#parts(id, 'colours')).find(
      (c) => c.micro_benchmark === benchmark && c.experiment === experiment,
    );
    if (found !== undefined) return cropColours(found, from, to, columns);
    throw new SourceError(
      `This page holds no colour analysis of ${benchmark}, ${experiment}. ${SEE_ALL}`,
    );
  }

  async comparison(ids: string[]): Promise<Comparison> {
    const { comparisons, measurements } = this.#page;
    const places = ids.map((id) => measurements.indexOf(this.#held(id)));
    const [first = 0] = places;
    const related = comparisons[first] !== undefined;
    const to = related ? first : 0;
    const packed = comparisons[to];
    if (packed === undefined) throw new SourceError('This page holds no comparison of results.');
    const all = await this.#inflated(`comparison ${to}`, packed);
    const count = measurements.length;
    return pick(
      all,
      places.map((place) => (place - to + count) % count),
      related,
    );
  }

  async simulation(id: string): Promise<Simulation> {
    const found = this.#page.simulations.find((simulation) => simulation.id === id);
    if (found === undefined) throw new SourceError(`There is no simulation “${id}” in this page.`);
    return found.simulation;
  }

  async probe(id: string): Promise<ProbeReport> {
    const found = this.#page.probes.find((probe) => probe.id === id);
    if (found === undefined) throw new SourceError(`There is no probe “${id}” in this page.`);
    return found.probe;
  }

  async sweep(id: string): Promise<Explored> {
    const found = this.#page.sweeps.find((sweep) => sweep.id === id);
    if (found === undefined) throw new SourceError(`There is no sweep “${id}” in this page.`);
    return found.sweep;
  }

  /** A page holds none: `flashscope report` shows them in the terminal. */
  async whatIf(id: string): Promise<WhatIf> {
    throw new SourceError(`There is no what-if “${id}” in this page.`);
  }

  async setMarks(id: string, marks: Marks): Promise<void> {
    rememberMarks(localKey(id, this.#held(id).manifest), marks);
  }

  #held(id: string): HeldMeasurement {
    const found = this.#page.measurements.find((measurement) => measurement.id === id);
    if (found === undefined) throw new SourceError(`There is no result “${id}” in this page.`);
    return found;
  }

  #parts<K extends keyof Parts>(id: string, name: K): Promise<Parts[K][]> {
    return this.#inflated(`${name} ${id}`, (this.#held(id)[name] ?? []) as Packed<Parts[K]>);
  }

  /** What may be compressed, inflated once; what it is called is like nothing else of the page. */
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

/** What a browser keeps the marks of a result under: its id alone may come again in another page. */
const localKey = (id: string, manifest: Manifest) => `${id} ${manifest.started}`;

const end = (ios: Ios) => ios.from + ios.latency_ns.length;

/**
 * Some results of a comparison, with how they relate to the first only where that is `related`, and of the
 * experiments what these results have.
 */
function pick(all: Comparison, places: number[], related: boolean): Comparison {
  const some = (results: Compared[]): Compared[] =>
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
  return {
    characteristics: all.characteristics.map((c) => ({ ...c, results: some(c.results) })),
    experiments: experiments.filter(({ values }) => values.length > 0),
  };
}
