// Filters, sorts and pages a shelf as the server does; both pass the cases of `testdata/shelf/queries.json`.
import type { ShelfQuery } from '../route';
import type { Shelf, ShelfItem } from './views.gen';

/** The text that a search looks in. */
const textOf = ({ name, device, workload, factors = [], fitted_to = [] }: ShelfItem) =>
  [name, device?.name, device?.model, device?.firmware, workload, ...factors, ...fitted_to]
    .join('\n')
    .toLowerCase();

const modelOf = ({ device }: ShelfItem) => device?.model ?? device?.name;

/** Returns true if a text contains a part; a missing text contains no part. */
const includes = (text: string | null | undefined, part: string | undefined) =>
  part === undefined || (text?.toLowerCase().includes(part.toLowerCase()) ?? false);

function matches(item: ShelfItem, query: ShelfQuery): boolean {
  const { search, kind, model, firmware, capacity_min, capacity_max } = query;
  const words = (search ?? '').toLowerCase().split(/\s+/);
  // Comparisons with a missing capacity are false.
  const capacity = item.device?.capacity_bytes ?? Number.NaN;
  return (
    words.every((word) => textOf(item).includes(word)) &&
    (kind === undefined || item.kind === kind) &&
    includes(modelOf(item), model) &&
    includes(item.device?.firmware, firmware) &&
    (capacity_min === undefined || capacity >= capacity_min) &&
    (capacity_max === undefined || capacity <= capacity_max)
  );
}

type Key = string | number | null | undefined;

const byName = ({ name }: ShelfItem): Key => name.toLowerCase();

/** The sort keys; a `-` before the name reverses the order. */
const KEYS: Record<string, (item: ShelfItem) => Key> = {
  name: byName,
  model: (item) => modelOf(item)?.toLowerCase(),
  capacity: ({ device }) => device?.capacity_bytes,
  started: ({ started }) => started,
  random_write: ({ characteristics }) => characteristics?.random_write_ns?.value,
};

const order = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);

/** Missing values sort last, in both directions. */
function compare(a: Key, b: Key, sign: number): number {
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1;
  if (b === null || b === undefined) return -1;
  return sign * order(a, b);
}

/**
 * Returns the items that match a query, in the order of the query, by default by name. Ties are sorted by id.
 */
export function select(items: ShelfItem[], query: ShelfQuery): Shelf {
  const sort = query.sort ?? 'name';
  const sign = sort.startsWith('-') ? -1 : 1;
  const key = KEYS[sort.replace(/^-/, '')] ?? byName;
  const matching = items
    .filter((item) => matches(item, query))
    .toSorted((a, b) => compare(key(a), key(b), sign) || order(a.id, b.id));
  const { offset = 0, limit = matching.length } = query;
  return { items: matching.slice(offset, offset + limit), total: matching.length };
}
