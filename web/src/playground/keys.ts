// The keyboard shortcuts and the address of the playground.
import type { KeyList } from '../parts/Help.svelte';

/** The keyboard shortcuts of the playground. */
export const PLAYGROUND_KEYS: KeyList[] = [
  {
    where: 'In the playground',
    keys: [
      [['Space', 'k'], 'play or pause'],
      [['.'], 'show one flash command'],
      [[','], 'show one IO'],
    ],
  },
  {
    where: 'In the focused flash',
    keys: [
      [['←', '→'], 'read out pages'],
      [['↑', '↓'], 'go to another block'],
    ],
  },
];

/** The settings in an address such as `#/play?drive=usb`. */
export const playgroundQuery = (hash: string): string => hash.split('?', 2)[1] ?? '';
