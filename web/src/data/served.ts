// The data that `flashscope serve` returns.
import { queryText, type ShelfQuery } from '../route';
import { parseJson } from './json';
import type { Prediction } from './prediction';
import type { ProbeReport } from './probe.gen';
import type { Simulation } from './simulation.gen';
import { type Source, SourceError } from './source';
import type { Twin } from './twin.gen';
import type {
  Activity,
  Colours,
  Comparison,
  ExploredSweep,
  Ios,
  Marks,
  Matches,
  Measurement,
  Outline,
  RunViews,
  Shelf,
  WhatIf,
} from './views.gen';

/** The number of cached responses, which make going back instant. */
const KEPT = 64;

type Value = string | number | undefined;

/** A path of the API, with its parts encoded. */
const path = (...parts: (string | number)[]) => `/api/${parts.map(encodeURIComponent).join('/')}`;

/** A path with a query; undefined values are omitted. */
function withQuery(base: string, query: Record<string, Value>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) params.set(name, String(value));
  }
  const text = params.toString();
  return text === '' ? base : `${base}?${text}`;
}

/** The error in an unsuccessful response. */
async function errorOf(response: Response): Promise<SourceError> {
  const text = await response.text();
  try {
    const { error, place } = JSON.parse(text) as { error?: unknown; place?: [number, number] };
    if (typeof error === 'string') return new SourceError(error, place);
  } catch {
    // The response is not from flashscope, and its status is all there is to report.
  }
  return new SourceError(`The server answered ${response.status} ${response.statusText}.`);
}

/**
 * Fetches a response. `program` is the command of the server, for the error.
 *
 * @throws SourceError if the server is unreachable or refuses the request.
 */
export async function fetched(
  url: string,
  options: RequestInit,
  program = 'flashscope serve',
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new SourceError(
      `The server does not respond. Is “${program}” still running? Start it again and reload.`,
    );
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** Parses the JSON of a response. */
export async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return parseJson(text);
  } catch (error) {
    throw new SourceError(
      `The response of the server is damaged: ${String(error)}. Reload the page.`,
    );
  }
}

/** The optional features of a server, as its page states them. */
export interface ServerAbilities {
  what_ifs?: boolean;
  submissions?: boolean;
  commands?: boolean;
}

/** The data of a server. */
export class Served implements Source {
  readonly served = true;
  readonly only = undefined;
  readonly searches = true;
  readonly whatIfs: boolean;
  readonly submissions: boolean;
  readonly commands: boolean;
  /** Responses by URL, least recently used first. */
  readonly #kept = new Map<string, unknown>();

  constructor({ what_ifs = false, submissions = false, commands = false }: ServerAbilities = {}) {
    this.whatIfs = what_ifs;
    this.submissions = submissions;
    this.commands = commands;
  }

  /** Not cached: results appear and change while the page is open. */
  async shelf(query: ShelfQuery, signal?: AbortSignal): Promise<Shelf> {
    const text = queryText(query);
    return (await this.#fetch(`/api/shelf${text === '' ? '' : `?${text}`}`, signal)) as Shelf;
  }

  measurement(id: string, signal?: AbortSignal): Promise<Measurement> {
    return this.#get(path('results', id), signal);
  }

  outline(
    id: string,
    run: number,
    from?: number,
    to?: number,
    buckets?: number,
    signal?: AbortSignal,
  ): Promise<Outline> {
    const base = path('results', id, 'runs', run, 'outline');
    return this.#get(withQuery(base, { from, to, buckets }), signal);
  }

  runView<K extends keyof RunViews>(
    name: K,
    id: string,
    run: number,
    from?: number,
    to?: number,
    signal?: AbortSignal,
  ): Promise<RunViews[K]> {
    return this.#get(withQuery(path('results', id, 'runs', run, name), { from, to }), signal);
  }

  ios(id: string, run: number, from: number, count: number, signal?: AbortSignal): Promise<Ios> {
    return this.#get(withQuery(path('results', id, 'runs', run, 'ios'), { from, count }), signal);
  }

  activities(
    id: string,
    run: number,
    fromNs: number,
    toNs: number,
    signal?: AbortSignal,
  ): Promise<Activity[]> {
    const base = path('results', id, 'runs', run, 'activities');
    return this.#get(withQuery(base, { from_ns: fromNs, to_ns: toNs }), signal);
  }

  matches(id: string, where: string, limit: number, signal?: AbortSignal): Promise<Matches> {
    return this.#get(withQuery(path('results', id, 'matches'), { where, limit }), signal);
  }

  colours(
    id: string,
    benchmark: string,
    experiment: string,
    from?: number,
    to?: number,
    columns?: number,
    signal?: AbortSignal,
  ): Promise<Colours> {
    const query = { micro_benchmark: benchmark, experiment, from, to, columns };
    return this.#get(withQuery(path('results', id, 'colours'), query), signal);
  }

  comparison(ids: string[], signal?: AbortSignal): Promise<Comparison> {
    return this.#get(`/api/comparison?ids=${ids.map(encodeURIComponent).join(',')}`, signal);
  }

  simulation(id: string, signal?: AbortSignal): Promise<Simulation> {
    return this.#get(path('simulations', id), signal);
  }

  probe(id: string, signal?: AbortSignal): Promise<ProbeReport> {
    return this.#get(path('probes', id), signal);
  }

  /** Not cached: the sweep may still be running. */
  async sweep(id: string, signal?: AbortSignal): Promise<ExploredSweep> {
    return (await this.#fetch(path('sweeps', id), signal)) as ExploredSweep;
  }

  whatIf(id: string, signal?: AbortSignal): Promise<WhatIf> {
    return this.#get(path('what-ifs', id), signal);
  }

  twin(id: string, signal?: AbortSignal): Promise<Twin> {
    return this.#get(path('twins', id), signal);
  }

  prediction(id: string, signal?: AbortSignal): Promise<Prediction> {
    return this.#get(path('predictions', id), signal);
  }

  async setMarks(id: string, marks: Marks): Promise<void> {
    await fetched(path('results', id, 'marks'), {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(marks),
    });
    const result = path('results', id);
    const known = this.#kept.get(result) as Measurement | undefined;
    if (known !== undefined) this.#kept.set(result, { ...known, marks });
  }

  async #get<T>(url: string, signal?: AbortSignal): Promise<T> {
    const known = this.#kept.get(url);
    this.#kept.delete(url);
    const value = known ?? (await this.#fetch(url, signal));
    this.#kept.set(url, value);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return value as T;
  }

  async #fetch(url: string, signal?: AbortSignal): Promise<unknown> {
    return jsonOf(await fetched(url, signal === undefined ? {} : { signal }));
  }
}
