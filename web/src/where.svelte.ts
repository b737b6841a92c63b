// Where the reader is: what the screen that is shown says of itself, for the frame around it.

/** A way to another screen. */
export interface Way {
  name: string;
  href: string;
}

/** A screen beside the one that is shown, or that one. */
export interface Tab extends Way {
  /** Whether it is shown: the screen itself, or one that belongs to it. */
  current?: 'page' | 'true' | undefined;
}

/** What a screen says of itself. */
export interface Place {
  title: string;
  /** From the shelf down to the screen, which is the last. */
  crumbs: Way[];
  /** What the tabs are, and the tabs. */
  tabs?: { name: string; all: Tab[] } | undefined;
}

class Where {
  #place = $state.raw<Place>({ title: '', crumbs: [] });

  get place(): Place {
    return this.#place;
  }

  /** Says what is shown; to be called in an effect of the screen. */
  is(place: Place): void {
    this.#place = place;
  }
}

/** Where the reader is. */
export const where = new Where();
