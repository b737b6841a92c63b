// What was judged of a drive, in words and signs.
import type { CellState, GridCell } from './data/grid';
import type { Evidence, Judgement } from './data/views.gen';
import { estimate, ratio, time } from './format';

/** What cells of the summary grid say. */
export const STATE_NAMES: Record<CellState, string> = {
  interesting: 'interesting',
  not_interesting: 'not interesting',
  not_performed: 'not performed',
  unjudged: 'not judged',
};

/** Whether a hint holds, in words. */
export const JUDGEMENT_NAMES: Record<Judgement, string> = {
  holds: 'holds',
  holds_in_part: 'holds in part',
  does_not_hold: 'does not hold',
  undecided: 'undecided',
  not_measured: 'not measured',
};

/** What is said of a cell, with who says so. */
export function cellWords(cell: GridCell): string {
  const { title, experiment, state, effect, mark, reason } = cell;
  const by = effect === undefined ? '' : `, ${ratio(effect.value)}`;
  const head = `${title} ${experiment}: ${STATE_NAMES[state]}${by}`;
  if (mark === undefined) return `${head}. ${reason}`;
  const note = mark.note ? `: ${mark.note}` : '';
  return `${head}, as marked by hand${note}. By the rule it is ${STATE_NAMES[cell.rule]}: ${reason}`;
}

/** The number of some evidence, with its interval. */
export function evidenceValue({ value, unit }: Evidence): string {
  return estimate(value, unit === 'ratio' ? ratio : time);
}
