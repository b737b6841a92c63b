// Tables as CSV (RFC 4180), in full precision, safe to open in a spreadsheet.
//
// A cell that shows a rounded value has the exact value in `data-value`. A heading has the unit of its column
// in `data-unit`.

/** A field of a CSV file; an apostrophe keeps a spreadsheet from reading text as a formula. */
export function csvField(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The text of a CSV file with some rows. */
export const csv = (rows: (string | number)[][]) =>
  rows.map((row) => `${row.map(csvField).join(',')}\r\n`).join('');

const words = (cell: Element) => (cell.textContent ?? '').replaceAll(/\s+/g, ' ').trim();

/** The value of a cell: a number if its text is numeric, else the text. */
function content(cell: HTMLTableCellElement): string | number {
  const value = cell.dataset.value;
  if (value !== undefined) {
    const number = Number(value);
    return value.trim() !== '' && Number.isFinite(number) ? number : value;
  }
  const text = words(cell);
  // A dash means that the value is missing.
  if (text === '–') return '';
  const plain = text.replaceAll(',', '').replace('−', '-');
  return /^-?\d+(\.\d+)?$/.test(plain) ? Number(plain) : text;
}

function heading(cell: HTMLTableCellElement): string {
  const unit = cell.dataset.unit;
  return unit === undefined ? words(cell) : `${words(cell)} (${unit})`;
}

/** The rows of a table, headings first. A cell that spans columns or rows fills only the first of them. */
export function tableRows(table: HTMLTableElement): (string | number)[][] {
  /** The number of further rows that a cell above spans, by column. */
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

/** The ends of an interval, unrounded. */
export const ends = (low: number | null | undefined, high: number | null | undefined) =>
  low == null || high == null ? '' : `${low} to ${high}`;
