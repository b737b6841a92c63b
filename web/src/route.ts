// The screen that the address names: `#/`, `#/b/NAME`, `#/r/ID`.

/** A screen. */
export type Route =
  | { page: 'overview' }
  | { page: 'benchmark'; name: string }
  | { page: 'run'; id: number }
  | { page: 'unknown'; hash: string };

/** The screen that a hash names. */
export function parseRoute(hash: string): Route {
  const path = hash.replace(/^#\/?/, '');
  if (path === '') return { page: 'overview' };
  const [kind, name, ...more] = path.split('/');
  if (more.length === 0 && name !== undefined) {
    if (kind === 'b') return { page: 'benchmark', name: decode(name) };
    if (kind === 'r' && /^\d+$/.test(name)) return { page: 'run', id: Number(name) };
  }
  return { page: 'unknown', hash };
}

/** What `%` stands for, or the text itself where that is broken. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a micro-benchmark. */
export const benchmarkHref = (name: string) => `#/b/${encodeURIComponent(name)}`;

/** The address of a run. */
export const runHref = (id: number) => `#/r/${id}`;
