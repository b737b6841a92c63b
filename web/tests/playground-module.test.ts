// Compares the simulator in the page with the program's: equal settings and seeds, equal counts.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { playground } from '../fixtures/make-fixture.mjs';
import { Drive, PATTERNS, type Setup } from '../src/playground/module';

const SNAPSHOT = new URL(
  '../../crates/playground/tests/snapshots/counters__counters.snap',
  import.meta.url,
);

/** A line of the snapshot, which a test of the crate compares with `flashscope simulate`. */
interface Case {
  drive: string;
  pattern: number;
  skew: number;
  reads: number;
  trims: number;
  queue_depth: number;
  filled: boolean;
  seed: number;
  ios: number;
  numbers: Record<string, number>;
}

const [, , lines = ''] = readFileSync(SNAPSHOT, 'utf8').split(/^---$/m);
const cases = lines
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);

let module: Uint8Array<ArrayBuffer>;
beforeAll(() => {
  const packed = playground();
  if (packed === '') throw new Error('the simulator is missing: run `make playground`');
  module = new Uint8Array(gunzipSync(Buffer.from(packed, 'base64')));
});

const setupOf = ({
  pattern,
  queue_depth: queueDepth,
  numbers: _,
  ios: __,
  ...rest
}: Case): Setup => ({
  ...rest,
  pattern: PATTERNS[pattern] ?? 'uniform',
  queueDepth,
});

describe('the simulator in the page', () => {
  it.each(cases.map((one) => [`${one.drive} ${one.pattern}`, one] as const))(
    'counts as the program does: %s',
    async (_, one) => {
      const drive = await Drive.load(module);
      drive.open(setupOf(one));
      for (let io = 0; io < one.ios; io++) drive.advanceIo();
      const { numbers, pages, failure } = drive.picture();
      expect(failure).toBe('');
      expect(numbers).toEqual(one.numbers);
      expect(pages.length).toBe(numbers.dies * numbers.blocks_per_die * numbers.pages_per_block);
    },
  );

  it('shows every flash command once, however many at a time', async () => {
    const [one] = cases;
    if (one === undefined) throw new Error('the snapshot is empty');
    const drive = await Drive.load(module);
    drive.open(setupOf(one));
    let shown = 0;
    for (const commands of [1, 2, 3, 500, 1, 10_000]) {
      expect(drive.advance(commands, 1e6)).toBe(commands);
      shown += commands;
      const { numbers, pages } = drive.picture();
      expect(
        numbers.programs_host + numbers.programs_moved + numbers.flash_reads + numbers.erases,
      ).toBe(shown);
      const free = pages.filter((byte) => (byte & 0xf) === 0).length;
      expect(free).toBe(numbers.pages_free);
    }
  });

  it('refuses an invalid drive with a reason, and keeps the previous one', async () => {
    const [one] = cases;
    if (one === undefined) throw new Error('the snapshot is empty');
    const drive = await Drive.load(module);
    const setup = setupOf(one);
    drive.open(setup);
    expect(() => drive.open({ ...setup, drive: 'agrawal-2008?flash.packets=4' })).toThrow(
      /there is no profile field `flash.packets`|flash\.packets/,
    );
    expect(() => drive.open({ ...setup, queueDepth: 99 })).toThrow(
      /queue depth must be from 1 to 32/,
    );
    expect(drive.advance(10, 100)).toBe(10);
  });
});
