// Keeps the address of a zoomed screen and its view in step, in both directions.
import { untrack } from 'svelte';
import type { Zoom } from './zoom.svelte';

/** The time for which the view must not change before the address follows, in ms. */
const REST = 250;

/** A screen whose address contains the range of IOs in view. */
interface ZoomedScreen {
  /** The window of its axis. */
  zoom(): Zoom;
  /** The positions in the address; empty for the whole run. */
  range(): { from?: number | undefined; to?: number | undefined };
  /** Brings positions into view. */
  show(from: number, to: number): void;
  /** The address of the whole run, or of the range in view. */
  address(whole: boolean): string;
}

/**
 * Keeps the address of a screen in step with its view. A component must call this function during its
 * initialization. Going back and forth in the browser's history changes the view.
 */
export function keepAddress({ zoom, range, show, address }: ZoomedScreen): void {
  $effect(() => {
    const { from, to } = range();
    untrack(() => {
      if (from !== undefined && to !== undefined) show(from, to);
      else zoom().reset();
    });
  });
  $effect(() => {
    const { from, to, isWhole } = zoom();
    void [from, to];
    const rest = setTimeout(() => {
      const href = address(isWhole);
      if (href !== location.hash) history.replaceState(history.state, '', href);
    }, REST);
    return () => clearTimeout(rest);
  });
}

/** Rounds positions in view outwards to whole IOs, at least one. */
export function wholePositions(from: number, to: number): [number, number] {
  const first = Math.max(0, Math.floor(from));
  return [first, Math.max(first + 1, Math.ceil(to))];
}
