// What a person thinks of experiments, kept by the browser where there is no server that keeps it.
import type { Mark, Marks } from './views.gen';

const PREFIX = 'flashscope-marks ';

/** The marks that the browser keeps; nothing where it keeps none. */
export function marksIn(key: string): Marks | undefined {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null ? undefined : (JSON.parse(text) as Marks);
  } catch {
    return undefined; // A page from a file may have no storage.
  }
}

/** Has the browser keep the marks. */
export function rememberMarks(key: string, marks: Marks): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(marks));
  } catch {
    // They then last as long as the page.
  }
}

/** Marks with one more, in the place of an older one of the same experiment. */
export function withMark(marks: Marks, mark: Mark): Marks {
  return { experiments: [...withoutMark(marks, mark).experiments, mark] };
}

/** Marks without that of an experiment. */
export function withoutMark(
  { experiments }: Marks,
  { micro_benchmark, experiment }: Pick<Mark, 'micro_benchmark' | 'experiment'>,
): Marks {
  return {
    experiments: experiments.filter(
      (m) => m.micro_benchmark !== micro_benchmark || m.experiment !== experiment,
    ),
  };
}
