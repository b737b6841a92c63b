// A CSV file with named columns, as the user drops it on the page.

/** The maximum number of rows of a table. */
export const MAX_ROWS = 200_000;

/** A column: its name, and its values as numbers if all of them are. */
export interface TableColumn {
  name: string;
  /** The numbers; null for an empty cell. Undefined for a column of words. */
  numbers?: (number | null)[];
}

/** A table. */
export interface Table {
  columns: TableColumn[];
  /** The cells, row by row. */
  rows: string[][];
  /** The number of rows of the file beyond `MAX_ROWS`, which the table leaves out. */
  leftOut: number;
}

/** The separators of columns, the most common first. */
const SEPARATORS = [',', ';', '\t'];

/** Splits text into rows of fields (RFC 4180). */
function fieldsOf(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let [row, field, quoted] = [[] as string[], '', false];
  const end = () => {
    row.push(field);
    if (row.length > 1 || field !== '') rows.push(row);
    [row, field] = [[], ''];
  };
  for (let i = 0; i < text.length; i++) {
    const sign = text[i] as string;
    if (quoted) {
      if (sign !== '"') field += sign;
      else if (text[i + 1] === '"') {
        field += sign;
        i++;
      } else quoted = false;
    } else if (sign === '"' && field === '') quoted = true;
    else if (sign === separator) {
      row.push(field);
      field = '';
    } else if (sign === '\n') end();
    else if (sign !== '\r') field += sign;
  }
  if (field !== '' || row.length > 0) end();
  return rows;
}

const numeric = (text: string) => /^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$/.test(text);

/**
 * Parses a table. The first line names the columns: none of its fields is a number.
 *
 * @throws Error with the reason why the text is no table, as a continuation of the file's name.
 */
export function parseTable(text: string): Table {
  const start = text.slice(0, text.indexOf('\n') + 1 || text.length);
  const counts = SEPARATORS.map((separator) => start.split(separator).length);
  const separator = SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',';
  const [names, ...all] = fieldsOf(text.replace(/^\uFEFF/, ''), separator);
  if (names === undefined || names.length < 2) throw new Error('has no columns');
  if (names.some((name) => name.trim() === '' || numeric(name))) {
    throw new Error('does not name its columns in the first line');
  }
  if (all.length === 0) throw new Error('has no rows');
  const odd = all.findIndex((row) => row.length !== names.length);
  if (odd >= 0) {
    throw new Error(
      `has ${names.length} columns, and ${all[odd]?.length} fields in row ${odd + 1}`,
    );
  }
  const rows = all.slice(0, MAX_ROWS);
  const columns = names.map((name, nth): TableColumn => {
    const cells = rows.map((row) => row[nth]?.trim() ?? '');
    const some = cells.some((cell) => cell !== '');
    const all = some && cells.every((cell) => cell === '' || numeric(cell));
    const numbers = all ? cells.map((cell) => (cell === '' ? null : Number(cell))) : undefined;
    return { name: name.trim(), ...(numbers === undefined ? {} : { numbers }) };
  });
  return { columns, rows, leftOut: all.length - rows.length };
}
