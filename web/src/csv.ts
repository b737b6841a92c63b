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

/** The rows of a table, its headings first; a cell over several columns stands in the first. */
export function tableRows(table: HTMLTableElement): (string | number)[][] {
  return [...table.rows].map((row) => {
    const head = row.parentElement?.tagName === 'THEAD';
    return [...row.cells].flatMap((cell) => [
      head ? heading(cell) : content(cell),
      ...Array.from({ length: cell.colSpan - 1 }, () => ''),
    ]);
  });
}
