// The words of the playground.
import { count, decimal, MISSING, percent } from '../../format';
import {
  type Numbers,
  type PageState,
  type Picture,
  TOUCHES,
  type Touch,
} from '../../playground/module';

/** The states of a page: the name in the legend, and the meaning of one page. */
export const STATES: Record<PageState, { name: string; meaning: string }> = {
  free: { name: 'free', meaning: 'Erased, and ready to be written.' },
  written: {
    name: 'current, as the host wrote it',
    meaning: 'Current data, as the host wrote it.',
  },
  moved: {
    name: 'current, moved by the drive',
    meaning: 'Current data, which the drive moved here.',
  },
  mapping: { name: 'map', meaning: 'A part of the map: the drive finds data with it.' },
  superseded: {
    name: 'superseded',
    meaning: 'Superseded: newer data is elsewhere, or the host trimmed it.',
  },
};

/** A write amplification with three digits, or a dash for none. */
export const times = (amplification: number | undefined): string =>
  amplification === undefined || amplification === 0 ? MISSING : `×${decimal(amplification)}`;

/** A block in words. */
function blockName(numbers: Numbers, block: number): string {
  const die = Math.floor(block / numbers.blocks_per_die) + 1;
  return `block ${(block % numbers.blocks_per_die) + 1} of die ${die}`;
}

/** The last flash command in a sentence. */
export function narration(numbers: Numbers, merges: boolean): string {
  const touch: Touch = TOUCHES[numbers.last_touch] ?? 'none';
  const at = numbers.last_block < 0 ? '' : blockName(numbers, numbers.last_block);
  const page = `page ${numbers.last_page + 1} of ${at}`;
  const left = `${count(numbers.last_valid)} of ${count(numbers.pages_per_block)} pages`;
  const work = merges ? 'Merge' : 'Cleaning';
  switch (touch) {
    case 'none':
      return 'Nothing has happened yet.';
    case 'host read':
      return `The host reads ${page}.`;
    case 'host program':
      return `The host writes: its data goes to ${page}.`;
    case 'move read':
      return `${work}: ${at} still holds current data on ${left}. The drive reads ${page}.`;
    case 'move program': {
      const from =
        numbers.last_source < 0 ? '' : ` from ${blockName(numbers, numbers.last_source)}`;
      return `${work}: the data${from} moves to ${page}.`;
    }
    case 'map read':
      return `The drive reads its map on ${page}.`;
    case 'map program':
      return `The drive writes its map to ${page}.`;
    case 'erase':
      return `The drive erases ${at}: all its pages are free again.`;
    case 'suspended':
      return `A read suspended the command on ${page}.`;
  }
}

/** The state of the flash in a sentence, for readers who do not see the picture. */
export function alternative({ numbers, emptied }: Picture): string {
  const pages = numbers.pages_valid + numbers.pages_superseded + numbers.pages_free;
  const share = (part: number) => percent(pages > 0 ? part / pages : 0);
  const cleaned = emptied.reduce((sum, one) => sum + one, 0);
  return (
    `The flash of the drive, ${count(pages)} pages on ${count(numbers.dies)} dies: ` +
    `${share(numbers.pages_valid)} hold current data, ${share(numbers.pages_superseded)} are superseded, ` +
    `${share(numbers.pages_free)} are free. Blocks being emptied: ${count(cleaned)}.`
  );
}
