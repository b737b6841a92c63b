// The drives and the settings of the playground.
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { playground } from '../fixtures/make-fixture.mjs';
import { DRIVES, hasLogBlocks, POLICIES, SCHEDULERS } from '../src/playground/drives';
import { Drive } from '../src/playground/module';
import {
  DEFAULTS,
  mostTrims,
  needsNewDrive,
  type Settings,
  settingsOf,
  settingsQuery,
  setupOf,
  withDrive,
  withFtl,
} from '../src/playground/settings';

const load = () => {
  const packed = playground();
  if (packed === '') throw new Error('the simulator is missing: run `make playground`');
  return Drive.load(new Uint8Array(gunzipSync(Buffer.from(packed, 'base64'))));
};

/** Settings at the corners of their ranges, for each drive, FTL, policy and scheduler. */
function* corners(): Generator<Settings> {
  for (const kind of DRIVES) {
    for (const ftl of kind.ftls) {
      const policies = hasLogBlocks(ftl) ? ['greedy'] : Object.keys(POLICIES);
      for (const [i, policy] of policies.entries()) {
        for (const [j, scheduler] of Object.keys(SCHEDULERS).entries()) {
          // Filling the larger drive is slow.
          if (kind.id === 'large' && i !== j) continue;
          const spare = (i + j) % 2 === 0 ? kind.spare.least : kind.spare.most;
          const reads = j === 0 ? 0 : 0.95;
          const host = { reads, trims: mostTrims(reads), queueDepth: j === 0 ? 1 : 32 };
          const base = withFtl(withDrive({ ...DEFAULTS, ...host }, kind.id), ftl);
          yield { ...base, spare, policy, scheduler, apart: i % 2 === 1, pattern: 'hotcold' };
        }
      }
    }
  }
}

describe('every drive', () => {
  it('works with every FTL, policy and scheduler, at both ends of the sliders', async () => {
    const drive = await load();
    let opened = 0;
    for (const settings of corners()) {
      const setup = setupOf(settings);
      drive.open(setup);
      drive.advance(1e6, 300);
      expect(drive.picture().failure, setup.drive).toBe('');
      opened++;
    }
    expect(opened).toBeGreaterThan(75);
  });

  it('is small enough to see, and one has 100,000 pages', async () => {
    const drive = await load();
    const pages = [];
    for (const { id } of DRIVES) {
      drive.open(setupOf(withDrive(DEFAULTS, id)));
      pages.push(drive.picture().pages.length);
    }
    expect(pages).toEqual([8192, 100_352, 8192, 8192]);
  });
});

describe('settings', () => {
  it('survive their address', () => {
    for (const settings of corners()) {
      const again = settingsOf(settingsQuery(settings));
      expect(setupOf(again)).toEqual(setupOf(settings));
    }
    expect(settingsQuery(DEFAULTS)).toBe('');
  });

  it('ignore nonsense', () => {
    const odd =
      'drive=none&ftl=bast&spare=nine&policy=&reads=7&trims=-1&queueDepth=1e9&pattern=x&hot= ';
    expect(settingsOf(odd)).toEqual({ ...DEFAULTS, reads: 0.95, queueDepth: 32 });
  });

  it('keep the drive when only the host changes', () => {
    const busier = { ...DEFAULTS, reads: 0.5, queueDepth: 8, pattern: 'zipf' as const };
    expect(needsNewDrive(DEFAULTS, busier)).toBe(false);
    expect(needsNewDrive(DEFAULTS, { ...DEFAULTS, spare: 0.3 })).toBe(true);
    expect(needsNewDrive(DEFAULTS, { ...DEFAULTS, filled: false })).toBe(true);
  });
});
