import { describe, expect, it } from 'vitest';
import { makeReport } from '../fixtures/make-fixture.mjs';
import { cells, isSame, originOf, ratioSign } from '../src/characteristics';
import type { Pattern } from '../src/data/views.gen';
import {
  experimentWords,
  PARAMETER_WORDS,
  parameterRows,
  parameters,
  progressWords,
  sentence,
  traceName,
} from '../src/words';

describe('characteristics', () => {
  it('call values equal if the interval includes 1 or the value is within 10 %', () => {
    expect(isSame({ value: 1.4, low: 0.9, high: 1.9 })).toBe(true);
    expect(isSame({ value: 1.09, low: 1.05, high: 1.13 })).toBe(true);
    expect(isSame({ value: 0.92, low: null, high: null })).toBe(true);
    expect(isSame({ value: 1.2, low: 1.1, high: 1.3 })).toBe(false);
    expect(isSame({ value: 1.2, low: null, high: 1.3 })).toBe(false);
    expect(ratioSign({ value: 2.1, low: 2, high: 2.2 })).toBe('×2.1');
    expect(ratioSign(undefined)).toBe('–');
  });

  it('lead to the micro-benchmark that their number comes from', () => {
    const [read] = cells({});
    const ran = (...names: string[]) => ({
      experiment: (name: string) => (names.includes(name) ? {} : undefined),
    });
    if (read === undefined) throw new Error('there is no cell');
    expect(originOf(read, ran('granularity', 'preparation'))).toBe('preparation');
    expect(originOf(read, ran('alignment', 'granularity'))).toBe('granularity');
    const pause = cells({}).find(({ column }) => column === 'Pause');
    expect(pause && originOf(pause, ran('preparation'))).toBe('pause');
  });

  it('show dashes where nothing was measured', () => {
    const row = cells({});
    expect(row.map((cell) => cell.column)).toEqual([
      'SR',
      'RR',
      'SW',
      'RW',
      'Pause',
      'Locality',
      'Partitioning',
      'Reverse',
      'In-place',
      'Large Incr',
    ]);
    expect(row.every((cell) => cell.text === '–' && cell.interval === '–')).toBe(true);
  });

  it('have a sign and words for every kind of finding', () => {
    const ratio = { value: 2.04, low: 1.9, high: 2.2 };
    const text = (c: Parameters<typeof cells>[0], column: string) =>
      cells(c).find((cell) => cell.column === column)?.text;
    expect(text({ pause: { effect: 'none' } }, 'Pause')).toBe('no effect');
    expect(text({ pause: { effect: 'as_sequential', pause_ns: 5e6 } }, 'Pause')).toBe('5 ms');
    expect(text({ pause: { effect: 'cheaper', ratio } }, 'Pause')).toBe('×2');
    expect(text({ locality: { limit: 'no' } }, 'Locality')).toBe('No');
    expect(text({ locality: { limit: 'up_to', value: 2 ** 23, ratio } }, 'Locality')).toBe(
      '8 MiB (×2)',
    );
    expect(
      text({ partitioning: { limit: 'unlimited', measured: 256, ratio } }, 'Partitioning'),
    ).toBe('≥ 256 (×2)');
    const reverse = cells({ reverse: ratio }).find((cell) => cell.column === 'Reverse');
    expect(reverse?.words).toBe('Writes in reverse order cost 2 times as much as sequential ones.');
    expect(reverse?.interval).toBe('×1.9 to ×2.2');
  });
});

const pattern: Pattern = {
  op: 'write',
  address: { function: 'random' },
  timing: { function: 'consecutive' },
  io_size_bytes: 32_768,
  io_shift_bytes: 0,
  target_offset_bytes: 0,
  target_size_bytes: 2 ** 30,
  io_count: 5120,
  io_ignore: 128,
  seed: '18446744073709551615',
};

describe('patterns', () => {
  it('describe every reference and function', () => {
    expect(sentence({ kind: 'basic', pattern })).toBe(
      '5,120 random writes of 32 KiB within 1 GiB, each submitted when the previous one completes.',
    );
    const ordered: Pattern = {
      ...pattern,
      address: { function: 'ordered', incr: 4 },
      timing: { function: 'burst', burst: 10, pause_ns: 1e8 },
    };
    expect(sentence({ kind: 'basic', pattern: ordered })).toBe(
      '5,120 writes of 32 KiB, each 4 IO sizes after the previous one, within 1 GiB, in bursts of 10 with pauses of 100 ms between bursts.',
    );
    const reverse: Pattern = { ...pattern, address: { function: 'ordered', incr: -1 } };
    expect(sentence({ kind: 'parallel', pattern: reverse, degree: 1 })).toContain(
      'reverse sequential writes of 32 KiB within 1 GiB, split over 1 concurrent process,',
    );
    expect(sentence({ kind: 'mixed', first: pattern, second: pattern, ratio: 4 })).toBe(
      '4 random writes of 32 KiB within 1 GiB, then 1 random write of 32 KiB within 1 GiB, repeated.',
    );
    expect(sentence({ kind: 'sequence', patterns: [pattern, pattern] })).toContain('; then 5,120');
    const writes = {
      page_bytes: 4096,
      mean_len: 16,
      target_offset_bytes: 0,
      target_size_bytes: 2 ** 30,
      io_count: 1000,
      io_ignore: 100,
      seed: '1',
    };
    expect(sentence({ kind: 'uniform', writes })).toBe(
      'Writes of 16 pages of 4 KiB on average, starting anywhere in 1 GiB, each submitted when the previous one completes.',
    );
    expect(parameterRows({ kind: 'uniform', writes })[0]).toContainEqual(['MeanLength', '16']);
    expect(experimentWords('SR/RW')).toBe('sequential reads mixed with random writes');
    expect(experimentWords('65/35 8 KiB')).toBe('65 % reads, 35 % writes of 8 KiB');
    expect(experimentWords('100/0 512 B')).toBe('reads of 512 B');
    expect(experimentWords('0/100 1 MiB')).toBe('writes of 1 MiB');
  });

  it('list the parameters of their functions with the full seed', () => {
    const names = parameters(pattern).map(([name]) => name);
    expect(names).not.toContain('Incr');
    expect(names).not.toContain('Pause');
    expect(parameters(pattern).at(-1)).toEqual(['seed', '18446744073709551615']);
  });

  it('describe the failure, its position and its count', () => {
    const failed = progressWords({
      status: 'failed',
      ios: 412,
      errors: 1,
      errno: 5,
      error: 'Input/output error',
      offset_bytes: 4096,
    });
    expect(failed).toBe(
      'failed: Input/output error (errno 5) at offset 4,096; errors in 1 of 412 IOs',
    );
    expect(progressWords({ status: 'skipped', reason: 'no room' })).toBe('skipped: no room');
  });
});

it('names a trace by its files', () => {
  expect(traceName(['-'])).toBe('-');
  expect(traceName(['/data/hm_0.csv.gz', 'b/hm_1.csv'])).toBe('hm_0.csv.gz, hm_1.csv');
  expect(traceName(['a', 'b', 'c', 'd'])).toBe('a, b, c, d');
  expect(traceName(['a', 'b', 'c', 'd', 'e'])).toBe('a, b, c and 2 more');
});

it('explains every varied parameter', () => {
  const varied = makeReport().manifest.micro_benchmarks.filter((b) => b.name !== 'preparation');
  expect(varied).toHaveLength(9);
  for (const { parameter } of varied) expect(PARAMETER_WORDS[parameter], parameter).toBeTruthy();
});
