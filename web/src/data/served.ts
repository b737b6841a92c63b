// What `flashscope serve` answers.
import { queryText, type ShelfQuery } from '../route';
import { parseJson } from './json';
import type { ProbeReport } from './probe.gen';
import type { Simulation } from './simulation.gen';
import { type Source, SourceError } from './source';
import type {
  Activity,
  Colours,
  Comparison,
  Explored,
  Ios,
  LatencyHistogram,
  Marks,
  Measurement,
  Outline,
  Shelf,
  WhatIf,
} from './views.gen';

/** How many answers are kept, so that the way back is at once. */
const KEPT = 64;

type Value = string | number | undefined;

/** A path of the server, its parts encoded. */
const path = (...parts: (string | number)[]) => `/api/${parts.map(encodeURIComponent).join('/')}`;

/** A path with what is asked of it. */
function asking(base: string, query: Record<string, Value>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) params.set(name, String(value));
  }
  const text = params.toString();
  return text === '' ? base : `${base}?${text}`;
}

/** Why the server did not answer as asked. */
async function refusal(response: Response): Promise<SourceError> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') return new SourceError(error);
  } catch {
    // Not from this server: what it is can only be told by its status.
  }
  return new SourceError(`The server answered ${response.status} ${response.statusText}.`);
}

/** What a server answers, which `program` is; fails where it refuses. */
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
      `The server does not answer. Is “${program}” still running? Start it again and reload.`,
    );
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

/** The JSON of an answer. */
export async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return parseJson(text);
  } catch (error) {
    throw new SourceError(`The server's answer is damaged: ${String(error)}`);
  }
}

/** The data of a server. */
export class Served implements Source {
  readonly served = true;
  readonly only = undefined;
  /** Answers by their address, the one asked for longest ago first. */
  readonly #kept = new Map<string, unknown>();

  /** The shelf changes while one looks at it: it is asked for each time. */
  async shelf(query: ShelfQuery, signal?: AbortSignal): Promise<Shelf> {
    const text = queryText(query);
    return (await this.#ask(`/api/shelf${text === '' ? '' : `?${text}`}`, signal)) as Shelf;
  }

  measurement(id: string, signal?: AbortSignal): Promise<Measurement> {
    return this.#get(path('results', id), signal);
  }

  outline(
    id: string,
    run: number,
    from?: number,
    to?: number,
    stretches?: number,
    signal?: AbortSignal,
  ): Promise<Outline> {
    const base = path('results', id, 'runs', run, 'outline');
    return this.#get(asking(base, { from, to, stretches }), signal);
  }

  histogram(
    id: string,
    run: number,
    from?: number,
    to?: number,
    signal?: AbortSignal,
  ): Promise<LatencyHistogram> {
    return this.#get(asking(path('results', id, 'runs', run, 'histogram'), { from, to }), signal);
  }

  ios(id: string, run: number, from: number, count: number, signal?: AbortSignal): Promise<Ios> {
    return this.#get(asking(path('results', id, 'runs', run, 'ios'), { from, count }), signal);
  }

  activities(
    id: string,
    run: number,
    fromNs: number,
    toNs: number,
    signal?: AbortSignal,
  ): Promise<Activity[]> {
    const base = path('results', id, 'runs', run, 'activities');
    return this.#get(asking(base, { from_ns: fromNs, to_ns: toNs }), signal);
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
    return this.#get(asking(path('results', id, 'colours'), query), signal);
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

  /** It may go on while one looks at it: it is asked for each time. */
  async sweep(id: string, signal?: AbortSignal): Promise<Explored> {
    return (await this.#ask(path('sweeps', id), signal)) as Explored;
  }

  whatIf(id: string, signal?: AbortSignal): Promise<WhatIf> {
    return this.#get(path('what-ifs', id), signal);
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
    const answer = known ?? (await this.#ask(url, signal));
    this.#kept.set(url, answer);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return answer as T;
  }

  async #ask(url: string, signal?: AbortSignal): Promise<unknown> {
    return jsonOf(await fetched(url, signal === undefined ? {} : { signal }));
  }
}
