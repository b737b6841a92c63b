import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { select } from '../src/data/shelf-query';
import type { ShelfItem } from '../src/data/views.gen';
import type { ShelfQuery } from '../src/route';

interface Case {
  claim: string;
  query: ShelfQuery;
  ids: string[];
  total: number;
}

// The server is tested with the same cases: crates/serve/src/shelf/query.rs.
const file = new URL('../../testdata/shelf/queries.json', import.meta.url);
const { items, cases }: { items: ShelfItem[]; cases: Case[] } = JSON.parse(
  readFileSync(file, 'utf8'),
);

it.each(cases)('$claim', ({ query, ids, total }) => {
  const shelf = select(items, query);
  expect(shelf.items.map(({ id }) => id)).toEqual(ids);
  expect(shelf.total).toBe(total);
});
