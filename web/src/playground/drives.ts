// The drives of the playground: profiles of the program, shrunk so that blocks and pages are visible.

/** A drive to choose. */
export interface DriveKind {
  id: string;
  name: string;
  summary: string;
  /** The profile and its fields, as on the command line. */
  spec: string;
  /** The FTLs that suit the profile; the first one is its own. */
  ftls: string[];
  /** The range of over-provisioning, and its initial value. */
  spare: { least: number; most: number; first: number };
  /** The profile in TOML, if the user dropped it on the page. */
  toml?: string;
  /** The policies of the profile; the defaults if absent. */
  own?: { policy: string; scheduler: string };
}

const SMALL = {
  'flash.packages': 4,
  'flash.dies_per_package': 1,
  'flash.planes_per_die': 1,
  'flash.blocks_per_plane': 64,
  'flash.pages_per_block': 32,
  'persistence.map': 'nv-ram',
};

/** The number of blocks of the drive with log blocks. */
const LOG_DRIVE_BLOCKS = 256;

const specOf = (profile: string, fields: Record<string, string | number | boolean>) =>
  `${profile}?${Object.entries(fields)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')}`;

/** The drives that come with the page. */
export const DRIVES: [DriveKind, ...DriveKind[]] = [
  {
    id: 'small',
    name: 'Small SSD',
    summary: 'four dies of 64 blocks, each block with 32 pages; every page is mapped',
    spec: specOf('agrawal-2008', SMALL),
    ftls: ['page-map', 'dftl'],
    spare: { least: 0.1, most: 0.5, first: 0.15 },
  },
  {
    id: 'large',
    name: 'Larger SSD',
    summary: '16 dies with 100,352 pages; every page is mapped',
    spec: specOf('agrawal-2008', {
      ...SMALL,
      'flash.packages': 8,
      'flash.dies_per_package': 2,
      'flash.blocks_per_plane': 98,
      'flash.pages_per_block': 64,
      interleaving: 'die',
      allocation_pool: 'die',
    }),
    ftls: ['page-map', 'dftl'],
    spare: { least: 0.08, most: 0.5, first: 0.15 },
  },
  {
    id: 'dram-less',
    name: 'SSD without DRAM',
    summary: 'the map is on the flash, and the controller caches a few entries',
    spec: specOf('dram-less', {
      ...SMALL,
      'map_cache.size': '1KiB',
      'map_cache.host_memory': 0,
      active_blocks: 'pool',
      interleaving: 'none',
      background_cleaning: false,
      'cleaning.free_threshold': 0.05,
    }),
    ftls: ['dftl', 'page-map'],
    spare: { least: 0.15, most: 0.5, first: 0.2 },
  },
  {
    id: 'usb',
    name: 'USB stick',
    summary: 'blocks are mapped, and new data goes to log blocks that merges empty',
    spec: specOf('flashsim-2009', {
      ...SMALL,
      'flash.packages': 1,
      'flash.blocks_per_plane': LOG_DRIVE_BLOCKS,
      'interface.queue_depth': 32,
    }),
    ftls: ['bast', 'fast', 'n-k', 'last', 'superblock', 'block-map'],
    spare: { least: 0.08, most: 0.5, first: 0.15 },
  },
];

/** The profiles that the user dropped on the page, by id. */
const dropped = new Map<string, DriveKind>();

/** Adds a drive, or replaces the one with its id. */
export const addDrive = (drive: DriveKind) => dropped.set(drive.id, drive);

/** All drives to choose. */
export const allDrives = (): DriveKind[] => [...DRIVES, ...dropped.values()];

/** The drive with an id, or the first one. */
export const driveOf = (id: string | null | undefined): DriveKind =>
  allDrives().find((drive) => drive.id === id) ?? DRIVES[0];

/** True for an FTL that merges blocks instead of cleaning them. */
export const hasLogBlocks = (ftl: string) => ftl !== 'page-map' && ftl !== 'dftl';

/** The settings that need a new drive. */
export interface DriveSettings {
  drive: string;
  ftl: string;
  spare: number;
  policy: string;
  /** True if moved data goes to separate blocks. */
  apart: boolean;
  scheduler: string;
}

/** The drive with its settings, as after `sim:` on the command line. */
export function driveSpec({ drive, ftl, spare, policy, apart, scheduler }: DriveSettings): string {
  const { spec, toml, own } = driveOf(drive);
  const fields: Record<string, string | number> = { ftl, over_provisioning: spare };
  if (hasLogBlocks(ftl) && toml === undefined) {
    // A merge needs a block, and another may be partly used.
    fields['log.blocks'] = Math.floor(LOG_DRIVE_BLOCKS * spare) - 2;
  } else {
    if (policy !== (own?.policy ?? 'greedy')) fields['cleaning.policy'] = policy;
    if (apart) fields['cleaning.frontiers'] = 'host-and-cleaning';
  }
  if (scheduler !== (own?.scheduler ?? 'fcfs')) fields['scheduling.policy'] = scheduler;
  const more = Object.entries(fields).map(([name, value]) => `&${name}=${value}`);
  const whole = `${spec}${spec.endsWith('?') ? more.join('').slice(1) : more.join('')}`;
  return toml === undefined ? whole : `${whole}\n${toml}`;
}

/** The FTLs in words. */
export const FTLS: Record<string, string> = {
  'page-map': 'maps every page',
  dftl: 'DFTL: map on the flash',
  bast: 'BAST: a log block per data block',
  fast: 'FAST: shared log blocks',
  'n-k': 'N/K: log blocks for groups',
  last: 'LAST: by locality',
  superblock: 'Superblock: groups of blocks',
  'block-map': 'maps whole blocks',
};

/** The policies of cleaning in words. */
export const POLICIES: Record<string, string> = {
  greedy: 'greedy: the emptiest block',
  'cost-benefit': 'cost-benefit: empty and old',
  fifo: 'FIFO: the oldest block',
  'd-choices': 'the best of ten at random',
  'windowed-greedy': 'the best of the oldest',
  random: 'any block',
};

/** The schedulers in words. */
export const SCHEDULERS: Record<string, string> = {
  fcfs: 'in the order of arrival',
  'read-first': 'reads first',
  'out-of-order': 'whatever can start',
  suspend: 'reads suspend programs',
};
