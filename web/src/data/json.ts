// Reads JSON that the program wrote.

/** Parses JSON. Seeds become strings: they have 64 bits, more than a JavaScript number holds. */
export function parseJson(json: string): unknown {
  return JSON.parse(json.replaceAll(/(?<!\\)"seed":\s*(\d+)/g, '"seed":"$1"'));
}
