// Fields whose names changed, in documents of earlier versions that the page reads itself.

/** The current names of fields, by their old names. */
type Names = Readonly<Record<string, string>>;

/** The fields of a sweep that had other names in version 1. */
export const OF_SWEEP: Names = { asked: 'requested' };

/** The fields of a twin that had other names up to version 2. */
export const OF_TWIN: Names = { told: 'is_determined' };

/** Returns a document in which fields have their current names. */
export function withCurrentNames<T>(json: T, names: Names): T {
  if (Array.isArray(json)) return json.map((item) => withCurrentNames(item, names)) as T;
  if (typeof json !== 'object' || json === null) return json;
  const fields = Object.entries(json);
  return Object.fromEntries(
    fields.map(([name, value]) => [names[name] ?? name, withCurrentNames(value, names)]),
  ) as T;
}
