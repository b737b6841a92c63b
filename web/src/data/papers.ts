// The reproduced papers: their chapters, claims and errata, and the status of each item.
import { fine, MISSING, short } from '../format';
import type {
  Claim,
  Erratum,
  Number as Measured,
  MissingItem,
  Paper,
  Reproduction,
  Reproductions,
  State,
  Statement,
} from './reproduction.gen';

/** The names and citations of the papers. */
export const PAPERS: Record<Paper, { name: string; cited: string }> = {
  uflip: {
    name: 'uFLIP',
    cited: 'L. Bouganim, B. Jónsson, P. Bonnet: uFLIP: Understanding Flash IO Patterns. CIDR 2009.',
  },
  'uflip-slides': {
    name: 'uFLIP, the slides',
    cited: 'L. Bouganim, B. Jónsson, P. Bonnet: uFLIP, slides of the talk. CIDR 2009.',
  },
  agrawal: {
    name: 'Agrawal et al.',
    cited:
      'N. Agrawal, V. Prabhakaran, T. Wobber, J. D. Davis, M. Manasse, R. Panigrahy: Design Tradeoffs for SSD Performance. USENIX ATC 2008.',
  },
  boboila: {
    name: 'Boboila and Desnoyers',
    cited:
      'S. Boboila, P. Desnoyers: Performance Models of Flash-based Solid-State Drives for Real Workloads. MSST 2011.',
  },
  'sun-zhang': {
    name: 'Sun and Zhang',
    cited: 'C. Sun, Y. Zhang: Flash Drives: Performance Study Based On Benchmarks.',
  },
};

/** The verdict on an item or a claim; a missing item was not run. */
export type Standing = State | 'missing';

/** The names of the verdicts. */
export const STANDINGS: Record<Standing, string> = {
  'as-printed': 'as printed',
  'print-wrong': 'print is wrong',
  'not-reproduced': 'not reproduced',
  missing: 'not run',
};

/** An item of the contents: a reproduction, or an item that was not run. */
export type Entry = (Reproduction | MissingItem) & { standing: Standing };

/** A paper with its items and errata. */
export interface Chapter {
  paper: Paper;
  entries: Entry[];
  errata: Erratum[];
}

const PLACES = Object.keys(PAPERS) as Paper[];

/** The chapters, in the order of the papers; missing items come last in each. */
export function chaptersOf({ items, missing, errata }: Reproductions): Chapter[] {
  const entries: Entry[] = [
    ...items.map((item) => ({ ...item, standing: item.state })),
    ...missing.map((item) => ({ ...item, standing: 'missing' as const })),
  ];
  const chapters = PLACES.map((paper) => ({
    paper,
    entries: entries.filter((entry) => entry.paper === paper),
    errata: errata.filter((erratum) => erratum.paper === paper),
  }));
  return chapters.filter((chapter) => chapter.entries.length + chapter.errata.length > 0);
}

/** The number of items by verdict, in the order of `STANDINGS`. */
export function tallyOf(standings: Standing[]): [Standing, number][] {
  return (Object.keys(STANDINGS) as Standing[])
    .map((standing): [Standing, number] => [
      standing,
      standings.filter((each) => each === standing).length,
    ])
    .filter(([, count]) => count > 0);
}

/** A claim with its verdict and the number of its note, from 1. */
export type WithNote<T> = T & { state: State; note: number | undefined };

/** Splits claims into numbers and statements, and collects their notes without duplicates. */
export function claimsOf(claims: Claim[]): {
  numbers: WithNote<Measured>[];
  statements: WithNote<Statement>[];
  notes: string[];
} {
  const notes = [...new Set(claims.flatMap(({ explanation }) => explanation ?? []))];
  const noted = claims.map(({ finding, explanation, state }) => ({
    finding,
    state,
    note: explanation == null ? undefined : notes.indexOf(explanation) + 1,
  }));
  return {
    numbers: noted.flatMap(({ finding, ...rest }) =>
      'number' in finding ? [{ ...finding.number, ...rest }] : [],
    ),
    statements: noted.flatMap(({ finding, ...rest }) =>
      'statement' in finding ? [{ ...finding.statement, ...rest }] : [],
    ),
    notes,
  };
}

/** The measured value minus the printed value, relative to the printed value unless that is 0: `+0.46 %`. */
export function differenceText({ published, found }: Measured): string {
  const sign = (value: number) => (value > 0 ? '+' : '');
  if (published === 0) return found === 0 ? '0' : `${sign(found)}${fine(found)}`;
  const percent = 100 * (found / published - 1);
  return `${sign(percent)}${short(percent).replace('-', '−')} %`;
}

/** The tolerance of a number: `1 %`, `±2`. */
export function toleranceText({ tolerance }: Measured): string {
  return 'share' in tolerance
    ? `${short(100 * tolerance.share)} %`
    : `±${short(tolerance.absolute)}`;
}

/** The deviation of a number in units of its tolerance; undefined if the tolerance is 0. */
export function offBy({ published, found, tolerance }: Measured): number | undefined {
  const most = 'share' in tolerance ? tolerance.share * Math.abs(published) : tolerance.absolute;
  return most > 0 ? (found - published) / most : undefined;
}

/** A number with its unit; the program writes `us` for µs. */
export function withUnit(value: number, unit: string): string {
  if (!Number.isFinite(value)) return MISSING;
  return unit === '' ? fine(value) : `${fine(value)} ${unit === 'us' ? 'µs' : unit}`;
}

/** A count of errata. */
export const errataText = (count: number) => (count === 1 ? '1 erratum' : `${count} errata`);
