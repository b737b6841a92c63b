// The results selected for a comparison. The selection survives visits to other screens.

/** A selected result. */
export interface SelectedResult {
  id: string;
  name: string;
}

class Selection {
  #all = $state.raw<SelectedResult[]>([]);

  /** The selected results, in the order of their selection. */
  get all(): SelectedResult[] {
    return this.#all;
  }

  has(id: string): boolean {
    return this.#all.some((one) => one.id === id);
  }

  set(result: SelectedResult, on: boolean): void {
    const others = this.#all.filter(({ id }) => id !== result.id);
    this.#all = on ? [...others, result] : others;
  }

  clear(): void {
    this.#all = [];
  }
}

/** The results selected for a comparison. */
export const selection = new Selection();
