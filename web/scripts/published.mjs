import { readFile } from 'node:fs/promises';

/**
 * Reads a published schema, with the shared definitions among its own.
 * @param {string} name
 * @returns {Promise<any>}
 */
export async function published(name) {
  const read = (/** @type {string} */ which) =>
    readFile(new URL(`../../docs/schemas/${which}.schema.json`, import.meta.url), 'utf8');
  const schema = JSON.parse((await read(name)).replaceAll('common.schema.json#', '#'));
  const { $defs } = JSON.parse(await read('common'));
  return { ...schema, $defs: { ...$defs, ...schema.$defs } };
}
