// The simulator that the program embeds in the page.

/** The packed simulator; undefined if the program was built without it. */
function packed(page: Document): string | undefined {
  const text = page.getElementById('playground')?.textContent?.trim().replaceAll('"', '') ?? '';
  // The template has a placeholder, with an asterisk.
  return text === '' || text.includes('*') ? undefined : text;
}

/** True if the page contains the simulator. */
export const hasPlayground = (): boolean => packed(document) !== undefined;

/** Unpacks the simulator: base64 of gzip. */
export async function unpack(): Promise<ArrayBuffer> {
  const text = packed(document);
  if (text === undefined) throw new Error('this page was built without the simulator');
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}
