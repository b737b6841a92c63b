// The address of a zoomed screen: it follows what is in view, and what is in view follows it.
import { untrack } from 'svelte';
import type { Zoom } from './zoom.svelte';

/** How long what is in view has to rest before the address says it, in ms. */
const REST = 250;

/** A screen whose address says which IOs are in view. */
interface Zoomed {
  /** What of its axis is in view. */
  zoom(): Zoom;
  /** The positions that the address asks for; all where absent. */
  asked(): { from?: number | undefined; to?: number | undefined };
  /** Brings positions into view. */
  show(from: number, to: number): void;
  /** The address of all, or of what is in view. */
  address(whole: boolean): string;
}

/**
 * Keeps the address of a screen at what is in view; to be called while a component is made. Going
 * back and forth in the browser's history zooms.
 */
export function keepAddress({ zoom, asked, show, address }: Zoomed): void {
  $effect(() => {
    const { from, to } = asked();
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

/** Positions in view as an address has them: whole numbers, at least one IO. */
export function wholePositions(from: number, to: number): [number, number] {
  const first = Math.max(0, Math.floor(from));
  return [first, Math.max(first + 1, Math.ceil(to))];
}
