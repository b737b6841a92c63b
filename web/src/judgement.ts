// Words for verdicts on experiments and for judgements of design hints.
import type { CellState, GridCell } from './data/grid';
import type { Evidence, EvidenceUnit, Judgement } from './data/views.gen';
import { bytes, decimal, estimate, percent, ratio, throughput, time } from './format';

/** The names of the states of a cell in the summary grid. */
export const STATE_NAMES: Record<CellState, string> = {
  interesting: 'interesting',
  not_interesting: 'not interesting',
  not_performed: 'not performed',
  unjudged: 'not judged',
};

/** The names of the judgements of a design hint. */
export const JUDGEMENT_NAMES: Record<Judgement, string> = {
  holds: 'holds',
  holds_in_part: 'holds in part',
  does_not_hold: 'does not hold',
  undecided: 'undecided',
  not_measured: 'not measured',
};

/** A cell of the summary grid in words: its state, its effect, and the reason or the edit behind it. */
export function cellWords(cell: GridCell): string {
  const { title, experiment, state, effect, mark, reason } = cell;
  const size = effect === undefined ? '' : `, ${ratio(effect.value)}`;
  const head = `${title} ${experiment}: ${STATE_NAMES[state]}${size}`;
  if (mark === undefined) return `${head}. ${reason}`;
  const note = mark.note ? `: ${mark.note}` : '';
  return `${head}, edited by hand${note}. The rule says ${STATE_NAMES[cell.rule]}: ${reason}`;
}

/** The value of a piece of evidence, with its interval. */
export function evidenceValue({ value, unit }: Evidence): string {
  return estimate(value, EVIDENCE_WRITERS[unit]);
}

/** The formats of evidence, by its unit. */
export const EVIDENCE_WRITERS: Record<EvidenceUnit, (value: number) => string> = {
  ratio,
  nanoseconds: time,
  number: decimal,
  share: percent,
  bytes,
  bytes_per_second: throughput,
  ios_per_second: (value) => `${decimal(value)} IOPS`,
  days: (value) => `${decimal(value)} days`,
};
