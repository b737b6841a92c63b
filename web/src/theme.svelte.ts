// The theme: that of the system unless the reader chose one; always light when printed.
import { flushSync } from 'svelte';

type Choice = 'system' | 'light' | 'dark';

const KEY = 'flashscope-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function stored(): Choice {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system'; // A page opened from a file may have no storage.
  }
}

class Theme {
  choice = $state<Choice>(stored());
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
      // The browser prints the state of the page when this handler returns.
      addEventListener(event, () =>
        flushSync(() => {
          this.#printing = printing;
        }),
      );
    }
  }

  /** True while the browser prints the page: charts outside the view are drawn too. */
  get printing(): boolean {
    return this.#printing;
  }

  get dark(): boolean {
    if (this.#printing) return false;
    return this.choice === 'system' ? this.#systemDark : this.choice === 'dark';
  }

  /** Switches between light and dark. */
  toggle(): void {
    this.choice = this.dark ? 'light' : 'dark';
    try {
      localStorage.setItem(KEY, this.choice);
    } catch {
      // Without storage, the choice lasts until the page is closed.
    }
  }
}

/** The theme of the page. */
export const theme = new Theme();
