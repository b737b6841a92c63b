// Single keys that do what a link or a field does. They can be turned off, as those who speak to
// their machine or type by accident need it.

const KEY = 'flashscope-shortcuts';

function remembered(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off';
  } catch {
    return true; // A page from a file may have no storage.
  }
}

class Shortcuts {
  #on = $state(remembered());

  get on(): boolean {
    return this.#on;
  }

  set on(on: boolean) {
    this.#on = on;
    try {
      localStorage.setItem(KEY, on ? 'on' : 'off');
    } catch {
      // The choice then lasts as long as the page.
    }
  }
}

/** Whether single keys do anything. */
export const shortcuts = new Shortcuts();

/** Which key that is not typed into a field was pressed, if it may be a shortcut. */
export function shortcutOf(event: KeyboardEvent): string | undefined {
  const { target, key, ctrlKey, metaKey, altKey, defaultPrevented } = event;
  if (!shortcuts.on || defaultPrevented || ctrlKey || metaKey || altKey) return undefined;
  const typing =
    target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null;
  return typing ? undefined : key;
}
