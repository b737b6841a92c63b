// A question as it stands in the form and in the address.
import type { WhatIfQuestion } from '../../data/views.gen';

/** What the form holds: texts, as they are typed. */
export interface Question {
  drive: string;
  workload: string;
  ios: string;
  repeats: string;
  /** A variant each: its changes. */
  changes: string[];
}

export const UNASKED: Question = {
  drive: 'sim:demo',
  workload: 'uniform',
  ios: '200000',
  repeats: '3',
  changes: ['over_provisioning=0.28'],
};

const TEXTS = ['drive', 'workload', 'ios', 'repeats'] as const;

/** The question of an address; what it leaves out is as at first. */
export function questionOf(query: string): Question {
  const params = new URLSearchParams(query);
  const changes = params.getAll('change').filter((change) => change !== '');
  const question = { ...UNASKED, changes: changes.length > 0 ? changes : UNASKED.changes };
  for (const name of TEXTS) question[name] = params.get(name) ?? UNASKED[name];
  return question;
}

/** The address of a question. */
export function queryOf(question: Question): string {
  const params = new URLSearchParams();
  for (const name of TEXTS) params.set(name, question[name]);
  for (const change of filled(question)) params.append('change', change);
  return params.toString();
}

/** The changes that say something. */
const filled = ({ changes }: Question) =>
  changes.map((change) => change.trim()).filter((change) => change !== '');

/** The question as the server takes it. */
export function askedOf(question: Question): WhatIfQuestion {
  const whole = (text: string) => (text.trim() === '' ? null : Number(text));
  return {
    drive: question.drive.trim(),
    workload: question.workload.trim(),
    ios: whole(question.ios),
    repeats: whole(question.repeats),
    variants: filled(question).map((changes) => ({ changes, name: null })),
  };
}
