// The place of the current screen in the application: its title, breadcrumbs and tabs, which the frame shows.

/** A named link to a screen. */
export interface Link {
  name: string;
  href: string;
}

/** A link to a screen at the same level. */
export interface Tab extends Link {
  /** `page` on the tab of the current screen, `true` on the tab that the current screen belongs to. */
  current?: 'page' | 'true' | undefined;
}

/** The place of a screen. */
export interface Place {
  title: string;
  /** The links from the shelf down to the screen itself. */
  crumbs: Link[];
  /** The tabs, with the name of their group. */
  tabs?: { name: string; all: Tab[] } | undefined;
}

class CurrentPlace {
  #current = $state.raw<Place>({ title: '', crumbs: [] });

  get current(): Place {
    return this.#current;
  }

  /** Sets the place. A screen calls it in an effect. */
  set(place: Place): void {
    this.#current = place;
  }
}

/** The place of the current screen. */
export const currentPlace = new CurrentPlace();
