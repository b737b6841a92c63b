// Tables as CSV (RFC 4180), in full precision, safe to open in a spreadsheet.
//
// What a cell holds is in its `data-value`, where what it shows is rounded; the unit of a column in
// the `data-unit` of its heading.

/** A field: text that a spreadsheet would take for a formula is made plain text. */
export function csvField(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows as a file. */
export const csv = (rows: (string | number)[][]) =>
  rows.map((row) => `${row.map(csvField).join(',')}\r\n`).join('');

const words = (cell: Element) => (cell.textContent ?? '').replaceAll(/\s+/g, ' ').trim();

/** What a cell holds. */
function content(cell: HTMLTableCellElement): string | number {
  const value = cell.dataset.value;
  if (value !== undefined) {
    const number = Number(value);
    return value.trim() !== '' && Number.isFinite(number) ? number : value;
  }
  const text = words(cell);
  // A dash stands where there is no datum.
  if (text === '–') return '';
  const plain = text.replaceAll(',', '').replace('−', '-');
  return /^-?\d+(\.\d+)?$/.test(plain) ? Number(plain) : text;
}

function heading(cell: HTMLTableCellElement): string {
  const unit = cell.dataset.unit;
  return unit === undefined ? words(cell) : `${words(cell)} (${unit})`;
}

/**
 * The rows of a table, its headings first; a cell over several columns or rows stands in the first of
 * them.
 */
export function tableRows(table: HTMLTableElement): (string | number)[][] {
  /** How many rows more a cell above reaches into each column. */
  const taken: number[] = [];
  return [...table.rows].map((row) => {
    const head = row.parentElement?.tagName === 'THEAD';
    const fields: (string | number)[] = [];
    const skip = () => {
      while ((taken[fields.length] ?? 0) > 0) {
        taken[fields.length] = (taken[fields.length] ?? 0) - 1;
        fields.push('');
      }
    };
    for (const cell of row.cells) {
      skip();
      for (let i = 0; i < cell.colSpan; i++) {
        taken[fields.length] = cell.rowSpan - 1;
        fields.push(i > 0 ? '' : head ? heading(cell) : content(cell));
      }
    }
    skip();
    return fields;
  });
}

/** The ends of an interval, in full. */
export const ends = (low: number | null | undefined, high: number | null | undefined) =>
  low == null || high == null ? '' : `${low} to ${high}`;
