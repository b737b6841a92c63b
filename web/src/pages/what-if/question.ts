// The what-if question in the form, in the address and in the request.
import type { WhatIfQuestion } from '../../data/views.gen';

/** The fields of the form, as typed. */
export interface Question {
  drive: string;
  workload: string;
  ios: string;
  repeats: string;
  /** The changes of each variant. */
  changes: string[];
}

/** The question in an empty form. */
export const DEFAULT_QUESTION: Question = {
  drive: 'sim:demo',
  workload: 'uniform',
  ios: '200000',
  repeats: '3',
  changes: ['over_provisioning=0.28'],
};

const TEXTS = ['drive', 'workload', 'ios', 'repeats'] as const;

/** Reads a question from an address; missing fields have their defaults. */
export function questionOf(query: string): Question {
  const params = new URLSearchParams(query);
  const changes = params.getAll('change').filter((change) => change !== '');
  const defaults = DEFAULT_QUESTION;
  const question = { ...defaults, changes: changes.length > 0 ? changes : defaults.changes };
  for (const name of TEXTS) question[name] = params.get(name) ?? defaults[name];
  return question;
}

/** Writes a question as the query of an address. */
export function queryOf(question: Question): string {
  const params = new URLSearchParams();
  for (const name of TEXTS) params.set(name, question[name]);
  for (const change of filled(question)) params.append('change', change);
  return params.toString();
}

/** The distinct changes that are not empty: two equal variants would have the same name. */
const filled = ({ changes }: Question) => [
  ...new Set(changes.map((change) => change.trim()).filter((change) => change !== '')),
];

/** The request for the server. */
export function requestOf(question: Question): WhatIfQuestion {
  const whole = (text: string) => (text.trim() === '' ? null : Number(text));
  return {
    drive: question.drive.trim(),
    workload: question.workload.trim(),
    ios: whole(question.ios),
    repeats: whole(question.repeats),
    variants: filled(question).map((changes) => ({ changes, name: null })),
  };
}
