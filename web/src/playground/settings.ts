// The settings of the playground, and their form in an address.
import { DRIVES, type DriveSettings, driveOf, driveSpec, hasLogBlocks } from './drives';
import { PATTERNS, type Pattern, type Setup, type Workload } from './module';

/** All settings. */
export interface Settings extends DriveSettings, Omit<Workload, 'skew'> {
  /** The share of IOs to the hot fifth of the pages. */
  hot: number;
  /** The exponent of Zipf's law. */
  exponent: number;
  filled: boolean;
}

/** The initial settings. */
export const DEFAULTS: Settings = {
  drive: DRIVES[0].id,
  ftl: 'page-map',
  spare: DRIVES[0].spare.first,
  policy: 'greedy',
  apart: false,
  scheduler: 'fcfs',
  pattern: 'uniform',
  hot: 0.9,
  exponent: 0.9,
  reads: 0,
  trims: 0,
  queueDepth: 1,
  filled: true,
};

/** The settings for another drive, with the host's settings unchanged. */
export function withDrive(settings: Settings, id: string): Settings {
  const drive = driveOf(id);
  const [ftl = 'page-map'] = drive.ftls;
  const { policy, scheduler } = drive.own ?? DEFAULTS;
  const { id: chosen, spare } = drive;
  return withFtl({ ...settings, drive: chosen, spare: spare.first, policy, scheduler }, ftl);
}

/** The settings for another FTL; only FTLs without log blocks support trims. */
export const withFtl = (settings: Settings, ftl: string): Settings => ({
  ...settings,
  ftl,
  trims: hasLogBlocks(ftl) ? 0 : settings.trims,
});

/** The maximum share of trims for a share of reads: the drive must still hold data. */
export const mostTrims = (reads: number) => Math.floor((1 - reads) * 0.45 * 100) / 100;

/** The workload of the settings. */
export function workloadOf(settings: Settings): Workload {
  const { pattern, hot, exponent, reads, trims, queueDepth } = settings;
  const skew = pattern === 'hotcold' ? hot : pattern === 'zipf' ? exponent : 0;
  return { pattern, skew, reads, trims: Math.min(trims, mostTrims(reads)), queueDepth };
}

/** The setup of a drive for the settings. */
export const setupOf = (settings: Settings): Setup => ({
  ...workloadOf(settings),
  drive: driveSpec(settings),
  filled: settings.filled,
  seed: 1,
});

/** True if two settings need different drives, not only different workloads. */
export const needsNewDrive = (one: Settings, other: Settings) =>
  driveSpec(one) !== driveSpec(other) || one.filled !== other.filled;

/** The settings that differ from the initial settings of the drive, as the query of an address. */
export function settingsQuery(settings: Settings): string {
  const query = new URLSearchParams();
  if (settings.drive !== DEFAULTS.drive) query.set('drive', settings.drive);
  const base = withDrive(DEFAULTS, settings.drive);
  for (const [name, value] of Object.entries(settings)) {
    if (value !== base[name as keyof Settings]) query.set(name, String(value));
  }
  return query.toString();
}

/** The settings of a query; unknown values are ignored. */
export function settingsOf(query: string): Settings {
  const given = new URLSearchParams(query);
  const drive = driveOf(given.get('drive'));
  const base = withDrive(DEFAULTS, drive.id);
  const number = (name: keyof Settings, least: number, most: number): number => {
    const text = given.get(name);
    const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
    return Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : Number(base[name]);
  };
  const one = (name: keyof Settings, known: readonly string[]): string => {
    const value = given.get(name) ?? '';
    return known.includes(value) ? value : String(base[name]);
  };
  const flag = (name: keyof Settings): boolean => {
    const value = given.get(name);
    return value === 'true' || (value !== 'false' && Boolean(base[name]));
  };
  const reads = number('reads', 0, 0.95);
  const ftl = one('ftl', drive.ftls);
  return withFtl(
    {
      drive: drive.id,
      ftl,
      spare: number('spare', drive.spare.least, drive.spare.most),
      policy: one('policy', [
        'greedy',
        'cost-benefit',
        'fifo',
        'd-choices',
        'windowed-greedy',
        'random',
      ]),
      apart: flag('apart'),
      scheduler: one('scheduler', ['fcfs', 'read-first', 'out-of-order', 'suspend']),
      pattern: one('pattern', PATTERNS) as Pattern,
      hot: number('hot', 0.25, 0.99),
      exponent: number('exponent', 0.1, 1.5),
      reads,
      trims: number('trims', 0, mostTrims(reads)),
      queueDepth: Math.round(number('queueDepth', 1, 32)),
      filled: flag('filled'),
    },
    ftl,
  );
}
