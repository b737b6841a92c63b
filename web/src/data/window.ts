// Crops embedded data of whole runs to a range of positions.
import type { ColourRow, Colours, Outline } from './views.gen';

const COLUMNS = ['index', 'submitted_ns', 'latency_ns', 'offset_bytes', 'op', 'errno'] as const;

/** Crops an outline to the IOs at positions in [from, to). */
export function cropOutline(outline: Outline, from = 0, to = outline.ios): Outline {
  if (from <= 0 && to >= outline.ios) return outline;
  const first = outline.index.findIndex((index) => index >= from);
  const after = outline.index.findIndex((index) => index >= to);
  const last = after < 0 ? outline.index.length : after;
  const cropped = { ...outline };
  for (const name of COLUMNS) {
    cropped[name] = first < 0 ? [] : outline[name].slice(first, last);
  }
  return cropped;
}

/**
 * Crops a colour analysis to the columns that hold positions in [from, to), and merges columns until at
 * most `most` are left. A merged column shows its slowest IO.
 */
export function cropColours(
  colours: Colours,
  from = colours.from,
  to = colours.to,
  most = Number.POSITIVE_INFINITY,
): Colours {
  const each = colours.ios_per_column;
  const first = Math.max(0, Math.floor((from - colours.from) / each));
  const last = Math.ceil((Math.min(to, colours.to) - colours.from) / each);
  const merged = Math.max(1, Math.ceil((last - first) / most));
  if (first === 0 && to >= colours.to && merged === 1) return colours;
  const start = colours.from + first * each;
  return {
    ...colours,
    from: start,
    to: Math.max(start, Math.min(colours.to, colours.from + last * each)),
    ios_per_column: each * merged,
    rows: colours.rows.map((row) => cropRow(row, first, last, merged)),
  };
}

function cropRow(row: ColourRow, first: number, last: number, merged: number): ColourRow {
  const codes = atob(row.codes).slice(first, Math.max(first, last));
  let shown = '';
  for (let at = 0; at < codes.length; at += merged) {
    let slowest = 0;
    for (let i = at; i < Math.min(codes.length, at + merged); i++) {
      slowest = Math.max(slowest, codes.charCodeAt(i));
    }
    shown += String.fromCharCode(slowest);
  }
  return { ...row, codes: btoa(shown) };
}
