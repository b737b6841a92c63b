// The user's edits of verdicts (marks). A page without a server keeps them in the browser's storage.
import type { Mark, Marks } from './views.gen';

const PREFIX = 'flashscope-marks ';

/** The marks in the browser's storage, or undefined if it has none. */
export function storedMarks(key: string): Marks | undefined {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null ? undefined : (JSON.parse(text) as Marks);
  } catch {
    return undefined; // A page opened from a file may have no storage.
  }
}

/** Writes the marks to the browser's storage. */
export function storeMarks(key: string, marks: Marks): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(marks));
  } catch {
    // Without storage, the marks last until the page is closed.
  }
}

/** Adds a mark, replacing an older one of the same experiment. */
export function withMark(marks: Marks, mark: Mark): Marks {
  return { experiments: [...withoutMark(marks, mark).experiments, mark] };
}

/** Removes the mark of an experiment. */
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
