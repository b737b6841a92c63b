// The screens and their addresses, each of which can be shared.

/** A query of the shelf; an absent field does not filter. */
export interface ShelfQuery {
  /** Words to find in the name, drive, firmware, workload, factors, or sources of a twin. */
  search?: string;
  kind?: string;
  model?: string;
  firmware?: string;
  capacity_min?: number;
  capacity_max?: number;
  sort?: string;
  offset?: number;
  limit?: number;
}

/** The screens of one measurement. */
export type DeviceRoute = { id: string } & (
  | { page: 'device' }
  | { page: 'benchmark'; name: string }
  | { page: 'experiment'; name: string; experiment: string }
  | { page: 'colours'; name: string; experiment: string; from?: number; to?: number }
  | { page: 'run'; run: number; from?: number; to?: number; where?: string }
  | { page: 'find'; where: string }
  | { page: 'io'; run: number; index: number }
);

/** The level at which results are compared. */
export type CompareLevel =
  | { level: 'summary' }
  | { level: 'benchmark'; name: string }
  | { level: 'experiment'; name: string; experiment: string }
  | { level: 'colours'; name: string; experiment: string }
  | { level: 'run'; name: string; experiment: string; value: number };

/** The screens that compare results. */
export type CompareRoute = { page: 'compare'; ids: string[] } & CompareLevel;

/** A screen. */
export type Route =
  | { page: 'shelf'; query: ShelfQuery }
  | DeviceRoute
  | CompareRoute
  | { page: 'simulation'; id: string }
  | { page: 'probe'; id: string }
  | { page: 'sweep'; id: string }
  | { page: 'what-if'; query: string }
  | { page: 'kept-what-if'; id: string }
  | { page: 'twin'; id: string }
  | { page: 'prediction'; id: string }
  | { page: 'playground'; query: string }
  | { page: 'running'; command: number }
  | { page: 'trace'; id: string }
  | { page: 'table'; id: string }
  | { page: 'unknown'; hash: string };

/** Decodes a part of an address; returns it unchanged if its escapes are broken. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Parses a decimal integer of at most 15 digits. */
function whole(text: string | null | undefined): number | undefined {
  return text != null && /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

const DEVICE_PAGES = ['device', 'benchmark', 'experiment', 'colours', 'run', 'io', 'find'];

function isDevice(route: Route): route is DeviceRoute {
  return DEVICE_PAGES.includes(route.page);
}

/** The route as a screen of one measurement, or undefined if it is another screen. */
export const deviceRoute = (route: Route): DeviceRoute | undefined =>
  isDevice(route) ? route : undefined;

/** The only item of a page, on which the page opens. */
export interface OnlyItem {
  kind: 'measurement' | 'simulation' | 'probe' | 'sweep' | 'what_if' | 'twin' | 'prediction';
  id: string;
}

/** The screen of an item. */
function itemRoute({ kind, id }: OnlyItem): Route {
  if (kind === 'measurement') return { page: 'device', id };
  return { page: kind === 'what_if' ? 'kept-what-if' : kind, id };
}

/**
 * The screen that a hash names. A page with one item, `only`, opens on it instead of the shelf. If that item is
 * a measurement, addresses without an id name its screens; older pages had such addresses.
 */
export function parseRoute(hash: string, only?: OnlyItem): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const query = new URLSearchParams(search);
  const parts = path === '' ? [] : path.split('/').map(decode);
  const unknown: Route = { page: 'unknown', hash };
  if (parts.length === 0) {
    return only === undefined ? { page: 'shelf', query: shelfQuery(query) } : itemRoute(only);
  }
  if (parts.includes('')) return unknown;
  const [kind, id = '', ...rest] = parts;
  if (kind === 'd' && id !== '') return deviceScreen(id, rest, query) ?? unknown;
  if (kind === 's' && id !== '' && rest.length === 0) return { page: 'simulation', id };
  if (kind === 'p' && id !== '' && rest.length === 0) return { page: 'probe', id };
  if (kind === 'w' && id !== '' && rest.length === 0) return { page: 'sweep', id };
  if (kind === 'what-if' && parts.length === 1) return { page: 'what-if', query: search };
  if (kind === 'what-if' && rest.length === 0) return { page: 'kept-what-if', id };
  if (kind === 'twin' && id !== '' && rest.length === 0) return { page: 'twin', id };
  if (kind === 'prediction' && id !== '' && rest.length === 0) return { page: 'prediction', id };
  const command = kind === 'running' && parts.length === 2 ? whole(id) : undefined;
  if (command !== undefined) return { page: 'running', command };
  if (kind === 'trace' && id !== '' && rest.length === 0) return { page: 'trace', id };
  if (kind === 'table' && id !== '' && rest.length === 0) return { page: 'table', id };
  if (kind === 'play' && parts.length === 1) return { page: 'playground', query: search };
  if (kind === 'compare') return compareScreen(path.split('/')[1] ?? '', rest) ?? unknown;
  if (only?.kind === 'measurement' && parts.length === 2 && (kind === 'b' || kind === 'r')) {
    return deviceScreen(only.id, parts, query) ?? unknown;
  }
  return unknown;
}

function deviceScreen(
  id: string,
  parts: string[],
  query: URLSearchParams,
): DeviceRoute | undefined {
  const [kind, first = '', second, third] = parts;
  const length = parts.length;
  if (length === 0) return { page: 'device', id };
  if (kind === 'find' && length === 1) return { page: 'find', id, where: query.get('where') ?? '' };
  if (kind === 'b' && length === 2) return { page: 'benchmark', id, name: first };
  if (kind === 'e' && second !== undefined && length === 3) {
    return { page: 'experiment', id, name: first, experiment: second };
  }
  if (kind === 'c' && second !== undefined && length === 3) {
    return { page: 'colours', id, name: first, experiment: second, ...zoom(query) };
  }
  const run = whole(first);
  if (kind !== 'r' || run === undefined) return undefined;
  if (length === 2) {
    const where = query.get('where');
    return { page: 'run', id, run, ...zoom(query), ...(where ? { where } : {}) };
  }
  const index = whole(third);
  return second === 'i' && index !== undefined && length === 4
    ? { page: 'io', id, run, index }
    : undefined;
}

/** The range of positions that an address names, if any. */
function zoom(query: URLSearchParams): { from?: number; to?: number } {
  const [from, to] = [whole(query.get('from')), whole(query.get('to'))];
  return from !== undefined && to !== undefined && 0 <= from && from < to ? { from, to } : {};
}

function compareScreen(list: string, parts: string[]): CompareRoute | undefined {
  const ids = [...new Set(list.split(',').map(decode))].filter((id) => id !== '');
  if (ids.length === 0) return undefined;
  const [kind, name, experiment, value] = parts;
  const length = parts.length;
  const page = 'compare';
  if (length === 0) return { page, ids, level: 'summary' };
  if (name === undefined) return undefined;
  if (kind === 'b' && length === 2) return { page, ids, level: 'benchmark', name };
  if (experiment === undefined) return undefined;
  if (kind === 'e' && length === 3) return { page, ids, level: 'experiment', name, experiment };
  if (kind === 'c' && length === 3) return { page, ids, level: 'colours', name, experiment };
  const number = whole(value);
  return kind === 'r' && number !== undefined && length === 4
    ? { page, ids, level: 'run', name, experiment, value: number }
    : undefined;
}

const TEXTS = ['search', 'kind', 'model', 'firmware', 'sort'] as const;
const NUMBERS = ['capacity_min', 'capacity_max', 'offset', 'limit'] as const;

function shelfQuery(params: URLSearchParams): ShelfQuery {
  const query: ShelfQuery = {};
  for (const name of TEXTS) {
    const value = params.get(name);
    if (value) query[name] = value;
  }
  for (const name of NUMBERS) {
    const value = whole(params.get(name));
    if (value !== undefined && value >= 0) query[name] = value;
  }
  return query;
}

/** A query in the form of an address, without empty fields: `search=x&offset=50`. */
export function queryText(query: ShelfQuery): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') params.set(name, String(value));
  }
  return params.toString();
}

const address = (...parts: (string | number)[]) =>
  `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`;

const zoomed = (href: string, from?: number, to?: number) =>
  from === undefined || to === undefined ? href : `${href}?from=${from}&to=${to}`;

const searching = (href: string, where: string) =>
  `${href}${href.includes('?') ? '&' : '?'}${new URLSearchParams({ where })}`;

/** The address of the shelf. */
export function shelfHref(query: ShelfQuery = {}): string {
  const text = queryText(query);
  return text === '' ? '#/' : `#/?${text}`;
}

/** The address of a measurement's summary. */
export const deviceHref = (id: string) => address('d', id);

/** The address of a micro-benchmark. */
export const benchmarkHref = (id: string, name: string) => address('d', id, 'b', name);

/** The address of an experiment. */
export const experimentHref = (id: string, name: string, experiment: string) =>
  address('d', id, 'e', name, experiment);

/** The address of an experiment's colour analysis, for all positions or for [from, to). */
export const coloursHref = (
  id: string,
  name: string,
  experiment: string,
  from?: number,
  to?: number,
) => zoomed(address('d', id, 'c', name, experiment), from, to);

/** The address of a run, for all its IOs or for those in [from, to), with the IOs marked that match `where`. */
export function runHref(
  id: string,
  run: number,
  from?: number,
  to?: number,
  where?: string,
): string {
  const href = zoomed(address('d', id, 'r', run), from, to);
  return where === undefined ? href : searching(href, where);
}

/** The address of the search for IOs, with an expression. */
export const findHref = (id: string, where = '') =>
  where === '' ? address('d', id, 'find') : searching(address('d', id, 'find'), where);

/** The address of an IO. */
export const ioHref = (id: string, run: number, index: number) =>
  address('d', id, 'r', run, 'i', index);

/** The address of a simulation. */
export const simulationHref = (id: string) => address('s', id);

/** The address of the what-if form, with the fields to fill in. */
export const whatIfHref = (query = '') => (query === '' ? '#/what-if' : `#/what-if?${query}`);

/** The address of a saved what-if. */
export const keptWhatIfHref = (id: string) => address('what-if', id);

/** The address of the playground, with its settings. */
export const playgroundHref = (query = '') => (query === '' ? '#/play' : `#/play?${query}`);

/** The address of a trace that was dropped on the page. */
export const traceHref = (id: string) => address('trace', id);

/** The address of a table that was dropped on the page. */
export const tableHref = (id: string) => address('table', id);

/** The address of a command that runs. */
export const runningHref = (command: number) => address('running', command);

/** The address of a probe. */
export const probeHref = (id: string) => address('p', id);

/** The address of a sweep. */
export const sweepHref = (id: string) => address('w', id);

/** The address of a twin. */
export const twinHref = (id: string) => address('twin', id);

/** The address of a prediction. */
export const predictionHref = (id: string) => address('prediction', id);

const HREFS: Record<OnlyItem['kind'], (id: string) => string> = {
  measurement: deviceHref,
  simulation: simulationHref,
  probe: probeHref,
  sweep: sweepHref,
  what_if: keptWhatIfHref,
  twin: twinHref,
  prediction: predictionHref,
};

/** The address of an item. */
export const itemHref = ({ kind, id }: OnlyItem): string => HREFS[kind](id);

/** The address of a comparison. */
export function compareHref(ids: string[], at: CompareLevel = { level: 'summary' }): string {
  const base = `#/compare/${ids.map(encodeURIComponent).join(',')}`;
  if (at.level === 'summary') return base;
  if (at.level === 'benchmark') return `${base}/b/${encodeURIComponent(at.name)}`;
  const place = [at.name, at.experiment].map(encodeURIComponent).join('/');
  if (at.level === 'run') return `${base}/r/${place}/${at.value}`;
  return `${base}/${at.level === 'colours' ? 'c' : 'e'}/${place}`;
}

/** The screens of the book of the papers. */
export type BookRoute =
  | { page: 'contents' }
  | { page: 'item'; id: string }
  | { page: 'errata' }
  | { page: 'unknown'; hash: string };

/** The screen of the book that a hash names; a book with one item, `only`, opens on it. */
export function parseBookRoute(hash: string, only?: string): BookRoute {
  const parts = hash.replace(/^#\/?/, '').split('/').map(decode);
  const [id = ''] = parts;
  if (parts.length > 1) return { page: 'unknown', hash };
  if (id === '') return only === undefined ? { page: 'contents' } : { page: 'item', id: only };
  return id === 'errata' ? { page: 'errata' } : { page: 'item', id };
}

/** The address of the contents. */
export const contentsHref = () => '#/';

/** The address of an item of the book. */
export const paperItemHref = (id: string) => address(id);

/** The address of the errata. */
export const errataHref = () => '#/errata';
