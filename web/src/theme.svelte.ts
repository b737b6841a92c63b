// Light or dark: as the system has it, unless the reader chose; light on paper.
import { flushSync } from 'svelte';

type Choice = 'system' | 'light' | 'dark';

const KEY = 'flashscope-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function remembered(): Choice {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system'; // A page from a file may have no storage.
  }
}

class Theme {
  choice = $state<Choice>(remembered());
  #systemDark = $state(system.matches);
  #printing = $state(false);

  constructor() {
    system.addEventListener('change', () => {
      this.#systemDark = system.matches;
    });
    for (const [event, printing] of [
      ['beforeprint', true],
      ['afterprint', false],
    ] as const) {
      // The browser prints what is there when this returns.
      addEventListener(event, () =>
        flushSync(() => {
          this.#printing = printing;
        }),
      );
    }
  }

  /** Whether the page is put on paper, all of it, in view or not. */
  get printing(): boolean {
    return this.#printing;
  }

  get dark(): boolean {
    if (this.#printing) return false;
    return this.choice === 'system' ? this.#systemDark : this.choice === 'dark';
  }

  /** Goes on to the other of light and dark. */
  toggle(): void {
    this.choice = this.dark ? 'light' : 'dark';
    try {
      localStorage.setItem(KEY, this.choice);
    } catch {
      // The choice then lasts as long as the page.
    }
  }
}

/** The theme of the page. */
export const theme = new Theme();
