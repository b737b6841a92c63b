// The address of a zoomed screen: it follows what is in view, and what is in view follows it.
import { untrack } from 'svelte';
import type { Zoom } from './zoom.svelte';

/** How long what is in view has to rest before the address says it, in ms. */
const REST = 250;

/** Positions of IOs, from the first in view to after the last. */
type Positions = { from?: number | undefined; to?: number | undefined };

/**
 * Keeps the address of a screen at what is in view; to be called while a component is made. Going
 * back and forth in the browser's history zooms.
 */
export function keepAddress(
  zoom: () => Zoom,
  asked: () => Positions,
  address: (from?: number, to?: number) => string,
): void {
  $effect(() => {
    const { from, to } = asked();
    untrack(() => {
      if (from !== undefined && to !== undefined) zoom().show(from, to);
      else zoom().reset();
    });
  });
  $effect(() => {
    const { from, to, isWhole } = zoom();
    const rest = setTimeout(() => {
      const href = isWhole
        ? address()
        : address(Math.max(0, Math.floor(from)), Math.max(1, Math.ceil(to)));
      if (href !== location.hash) history.replaceState(history.state, '', href);
    }, REST);
    return () => clearTimeout(rest);
  });
}
