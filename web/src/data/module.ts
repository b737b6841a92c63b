// The WebAssembly modules that the program embeds in the page, compressed by gzip and encoded in base64.

/** A module that the page may contain. */
export type ModuleName = 'playground' | 'query' | 'trace-page';

/** The names of modules in messages. */
const WORDS: Record<ModuleName, string> = {
  playground: 'the simulator',
  query: 'the search for IOs',
  'trace-page': 'the reader of traces',
};

/** The packed module; undefined if the program was built without it. */
function packed(name: ModuleName): string | undefined {
  const text = document.getElementById(name)?.textContent?.trim().replaceAll('"', '') ?? '';
  // The template has a placeholder, with an asterisk.
  return text === '' || text.includes('*') ? undefined : text;
}

/** True if the page contains a module. */
export const hasModule = (name: ModuleName): boolean => packed(name) !== undefined;

/** Unpacks a module. */
export async function unpack(name: ModuleName): Promise<ArrayBuffer> {
  const text = packed(name);
  if (text === undefined) throw new Error(`this page was built without ${WORDS[name]}`);
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}
