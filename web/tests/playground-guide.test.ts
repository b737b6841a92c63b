// The claims of the tour, checked in the simulator.
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { playground } from '../fixtures/make-fixture.mjs';
import { GUIDE } from '../src/playground/guide';
import { Drive } from '../src/playground/module';
import { type Settings, setupOf } from '../src/playground/settings';

let drive: Drive;
beforeAll(async () => {
  const packed = playground();
  if (packed === '') throw new Error('the simulator is missing: run `make playground`');
  drive = await Drive.load(new Uint8Array(gunzipSync(Buffer.from(packed, 'base64'))));
});

const stepOf = (title: RegExp) => {
  const step = GUIDE.find((one) => title.test(one.title));
  if (step === undefined) throw new Error(`no step is called ${title}`);
  return step;
};

/** Runs IOs. Returns the write amplification of all IOs and of the last ones, and the theory's. */
function run(ios: number): { all: number; last: number; theory: number } {
  drive.advance(0xffff_ffff, ios);
  const { numbers, curve } = drive.picture();
  return { all: numbers.write_amplification, last: curve.at(-1) ?? 0, theory: numbers.theory };
}

function steady(settings: Settings) {
  drive.open(setupOf(settings));
  run(40_000);
  return run(20_000);
}

describe('the tour', () => {
  it('begins with an empty drive, on which pages become superseded', () => {
    const { settings, ahead } = stepOf(/cannot overwrite/);
    drive.open(setupOf(settings));
    expect(drive.picture().numbers.pages_free).toBe(8192);
    drive.advance(0xffff_ffff, Math.round(ahead * 6500));
    expect(drive.picture().numbers.pages_superseded).toBeLessThan(4);
    // Half a minute at the speed of the step.
    drive.advance(1800, 1800);
    const { numbers } = drive.picture();
    expect(numbers.pages_superseded).toBeGreaterThan(100);
    expect(numbers.erases).toBe(0);
  });

  it('shows free pages running out before the first erase', () => {
    const { settings, ahead } = stepOf(/take up room/);
    drive.open(setupOf(settings));
    drive.advance(0xffff_ffff, Math.round(ahead * 6500));
    const before = drive.picture().numbers;
    expect(before.erases).toBe(0);
    drive.advance(0xffff_ffff, 6500);
    const after = drive.picture().numbers;
    expect(after.erases).toBeGreaterThan(0);
    expect(after.pages_free).toBeLessThan(before.pages_free / 3);
  });

  it('stops where a cleaning can be followed within a few commands', () => {
    const { settings, ahead, playing } = stepOf(/makes free blocks/);
    expect(playing).toBe(false);
    drive.open(setupOf(settings));
    drive.advance(0xffff_ffff, Math.round(ahead * 6500));
    let commands = 0;
    let cleaned = 0;
    while (cleaned === 0 && commands < 100) {
      commands += drive.advance(1, 1);
      cleaned = drive.picture().emptied.reduce((sum, one) => sum + one, 0);
    }
    expect(commands).toBeLessThan(60);
  });

  it('has several moved pages for one of the host, as the theory predicts', () => {
    const { last, theory } = steady(stepOf(/Write amplification/).settings);
    expect(theory).toBeGreaterThan(4);
    expect(Math.abs(last / theory - 1)).toBeLessThan(0.08);
  });

  it('shows that each remedy works', () => {
    const { last: worst } = steady(stepOf(/Write amplification/).settings);
    expect(steady(stepOf(/Spare space/).settings).last).toBeLessThan(worst / 2);
    const { settings } = stepOf(/hot and cold/);
    const apart = steady(settings).last;
    expect(steady({ ...settings, apart: false }).last / apart).toBeGreaterThan(1.2);
    const { settings: trims } = stepOf(/no longer need/);
    expect(steady(trims).last - 1).toBeLessThan((worst - 1) / 3);
    expect(steady({ ...trims, pattern: 'sequential', trims: 0 }).all).toBe(1);
  });

  it('has steps that can be read in three minutes', () => {
    const words = GUIDE.flatMap(({ title, text, action }) =>
      `${title} ${text} ${action}`.split(' '),
    );
    // People read about 200 words a minute, and watch in between.
    expect(words.length).toBeLessThan(500);
  });
});
