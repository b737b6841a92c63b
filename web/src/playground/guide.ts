// The guided path: from one page to write amplification and its remedies, in about three minutes.
import { DEFAULTS, type Settings } from './settings';

/** A step of the path, with the settings that show its idea. */
export interface GuideStep {
  title: string;
  /** One idea, in a few sentences. */
  text: string;
  /** An action to try. */
  action: string;
  settings: Settings;
  /** The IOs that are computed before the step begins, as a multiple of the pages of the drive. */
  ahead: number;
  /** The position in the list of speeds. */
  speed: number;
  playing: boolean;
  /** True to keep the drive of the previous step. */
  same?: boolean;
}

const EMPTY: Settings = { ...DEFAULTS, filled: false };

/** All steps. */
export const GUIDE: [GuideStep, ...GuideStep[]] = [
  {
    title: 'Flash cannot overwrite',
    text: 'Each square is a page of 4 KiB, and 32 pages form a block. The host writes random pages, which turn blue. A written page cannot be written again. When the host changes the same data, the new copy goes to a free page, and the old copy turns grey: it is superseded.',
    action: 'Watch for the first grey page. Point at a page to read its state.',
    settings: EMPTY,
    ahead: 0.02,
    speed: 2,
    playing: true,
  },
  {
    title: 'Grey pages take up room',
    text: 'Superseded pages are useless, but not free. Only an erase frees them, and it clears a whole block at once. Meanwhile the host continues to write, and the free pages run out.',
    action: 'Watch the light squares disappear.',
    settings: EMPTY,
    ahead: 0.7,
    speed: 4,
    playing: true,
    same: true,
  },
  {
    title: 'Cleaning makes free blocks',
    text: 'Before the drive can erase a block, it must save the pages that are still current. It picks the block with the fewest of them, which has a frame. It copies these pages elsewhere, where they turn orange. Then it erases the block.',
    action: 'Press “One command” repeatedly to follow a cleaning, or play.',
    settings: DEFAULTS,
    ahead: 1.5,
    speed: 1,
    playing: false,
  },
  {
    title: 'Write amplification',
    text: 'For one blue page, the flash writes several orange ones. The ratio of all pages written on the flash to the pages that the host wrote is the write amplification. It costs speed, and it wears out the flash. The curve below rises until it meets the theory, a dashed line.',
    action: 'Compare the two numbers above the flash: simulation and theory.',
    settings: DEFAULTS,
    ahead: 0,
    speed: 5,
    playing: true,
  },
  {
    title: 'Spare space is the remedy',
    text: 'Every drive has more flash than it shows to the host. With more spare space, grey pages can gather for longer, and a block has fewer current pages when its turn comes. The drive therefore copies less.',
    action:
      'This drive keeps 30 % in reserve instead of 15 %. Move the slider “Spare space” yourself.',
    settings: { ...DEFAULTS, spare: 0.3 },
    ahead: 0,
    speed: 5,
    playing: true,
  },
  {
    title: 'Keep hot and cold data apart',
    text: 'Here 95 of 100 writes go to a fifth of the pages. If cold pages sit between hot ones, the drive copies them over and over. This drive moves pages to blocks of their own, so cold data gathers and stays in place.',
    action: 'Set “Moved data” to “same blocks as new data”: the number rises again.',
    settings: { ...DEFAULTS, pattern: 'hotcold', hot: 0.95, policy: 'cost-benefit', apart: true },
    ahead: 0,
    speed: 5,
    playing: true,
  },
  {
    title: 'Tell the drive what you no longer need',
    text: 'A trim tells the drive that data is obsolete. Its page turns grey without a write. One trim for every four writes saves most of the copies. On a fresh drive, writes in sequence save all of them: whole blocks turn grey together.',
    action:
      'Set “Trims” to 0 and “Addresses” to “in sequence”, and press “Start again”: the number is ×1.',
    settings: { ...DEFAULTS, trims: 0.2 },
    ahead: 0,
    speed: 5,
    playing: true,
  },
  {
    title: 'Now you can explain it',
    text: 'Flash writes pages but erases blocks. Pages in use must leave a block before its erase, so the flash writes more than the host does: that is write amplification. Spare space, trims, sequential writes and the separation of hot and cold data reduce it.',
    action:
      'Try the larger drive or the USB stick. Or set “Reads” to 70 % and “Queue depth” to 16, and compare the orders of flash commands.',
    settings: DEFAULTS,
    ahead: 1.5,
    speed: 3,
    playing: true,
  },
];
