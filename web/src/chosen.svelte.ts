// Which results are to be put side by side: chosen on the shelf, and still when one comes back to it.

/** A result that was chosen. */
export interface ChosenResult {
  id: string;
  name: string;
}

class Chosen {
  #all = $state.raw<ChosenResult[]>([]);

  /** In the order in which they were chosen. */
  get all(): ChosenResult[] {
    return this.#all;
  }

  has(id: string): boolean {
    return this.#all.some((one) => one.id === id);
  }

  set(result: ChosenResult, on: boolean): void {
    const others = this.#all.filter(({ id }) => id !== result.id);
    this.#all = on ? [...others, result] : others;
  }

  clear(): void {
    this.#all = [];
  }
}

/** What was chosen. */
export const chosen = new Chosen();
