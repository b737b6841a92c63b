// Single-key shortcuts. Users can turn them off (WCAG 2.1.4): speech input and slips of the hand
// would trigger them.

const KEY = 'flashscope-shortcuts';

function stored(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off';
  } catch {
    return true; // A page opened from a file may have no storage.
  }
}

class Shortcuts {
  #on = $state(stored());

  get on(): boolean {
    return this.#on;
  }

  set on(on: boolean) {
    this.#on = on;
    try {
      localStorage.setItem(KEY, on ? 'on' : 'off');
    } catch {
      // Without storage, the choice lasts until the page is closed.
    }
  }
}

/** The switch for single-key shortcuts. */
export const shortcuts = new Shortcuts();

/** The key of an event that may be a shortcut; undefined for modified keys and for typing in a field. */
export function shortcutOf(event: KeyboardEvent): string | undefined {
  const { target, key, ctrlKey, metaKey, altKey, defaultPrevented } = event;
  if (!shortcuts.on || defaultPrevented || ctrlKey || metaKey || altKey) return undefined;
  const typing =
    target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null;
  return typing ? undefined : key;
}
