// How JSON of the program is read.

/** Reads JSON. Seeds use all 64 bits, which a JavaScript number does not have: they become text. */
export function parseJson(json: string): unknown {
  return JSON.parse(json.replaceAll(/(?<!\\)"seed":\s*(\d+)/g, '"seed":"$1"'));
}
