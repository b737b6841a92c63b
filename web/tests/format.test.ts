import { describe, expect, it } from 'vitest';
import * as format from '../src/format';

describe('times', () => {
  it.each([
    [0, '0 ns'],
    [1, '1.00 ns'],
    [345, '345 ns'],
    [999.4, '999 ns'],
    [999.6, '1.00 µs'],
    [12_345, '12.3 µs'],
    [999_500, '1.00 ms'],
    [5_899_568, '5.90 ms'],
    [1_234_000_000, '1.23 s'],
    [2_050_000_000_000, '2,050 s'],
  ])('%d ns', (ns, text) => expect(format.time(ns)).toBe(text));

  it.each([
    [0, '0 s'],
    [100_000, '100 µs'],
    [25_600_000, '25.6 ms'],
    [1_000_000_000, '1 s'],
  ])('%d ns in full', (ns, text) => expect(format.exactTime(ns)).toBe(text));

  it.each([
    [90e9, '90.0 s'],
    [120e9, '2.00 min'],
    [7100e9, '118 min'],
    [7200e9, '2.00 h'],
    [301_727e9, '3.49 d'],
    [0, '0 ns'],
  ])('%d ns in units up to days', (ns, text) => expect(format.longTime(ns)).toBe(text));

  it.each([
    [
      [0, 30e9, 60e9, 90e9],
      ['0', '0.5 min', '1 min', '1.5 min'],
    ],
    [
      [0, 15e9, 30e9, 45e9, 60e9],
      ['0', '15 s', '30 s', '45 s', '60 s'],
    ],
    [
      [0, 43_200e9, 86_400e9],
      ['0', '0.5 d', '1 d'],
    ],
    [
      [0, 0.5e9, 1e9],
      ['0', '0.5 s', '1 s'],
    ],
    [
      [0, 50e6, 1e9],
      ['0', '50 ms', '1,000 ms'],
    ],
    [[100e9], ['100 s']],
    [[0], ['0']],
  ])('%j ns on an axis', (ns, text) => expect(format.axisTimes(ns)).toEqual(text));
});

describe('sizes and counts', () => {
  it.each([
    [0, '0 B'],
    [512, '512 B'],
    [1536, '1.5 KiB'],
    [32_768, '32 KiB'],
    [1_000_000, '977 KiB'],
    [2 ** 31, '2 GiB'],
  ])('%d B', (size, text) => expect(format.bytes(size)).toBe(text));

  it('groups thousands and writes a true minus sign', () => {
    expect(format.count(734_035_968)).toBe('734,035,968');
    expect(format.parameter(-1, 'count')).toBe('−1');
    expect(format.parameter(0, 'bytes')).toBe('0');
    expect(format.parameter(6_400_000, 'nanoseconds')).toBe('6.4 ms');
    expect(format.throughput(312 * 2 ** 20)).toBe('312 MiB/s');
    expect(format.throughput(0)).toBe('0 B/s');
  });

  it('rounds ratios and milliseconds as the paper does', () => {
    expect([0.585, 1.5, 2.14, 20.4, 126.4].map(format.ratio)).toEqual([
      '×0.58',
      '×1.5',
      '×2.1',
      '×20',
      '×126',
    ]);
    expect([302_948, 5_899_568, 256_000_000].map(format.milliseconds)).toEqual([
      '0.30',
      '5.9',
      '256',
    ]);
  });
});

describe('labels of an axis', () => {
  it('are as short as the format makes them if they differ', () => {
    expect(format.sizeLabels([0, 2 ** 20, 1.5 * 2 ** 20])).toEqual(['0', '1 MiB', '1.5 MiB']);
    expect(format.distinctLabels([0.5, 1], format.short)).toEqual(['0.5', '1']);
  });

  it('have more digits if two would be the same', () => {
    const steps = [0, 1, 2].map((i) => 658 * 2 ** 20 + i * 64 * 1024);
    expect(format.sizeLabels(steps)).toEqual(['658 MiB', '658.06 MiB', '658.13 MiB']);
    expect(format.distinctLabels([1.5e6, 1.501e6], format.time)).toEqual(['1.5 ms', '1.501 ms']);
    expect(format.distinctLabels([1000.1, 1000.2], format.decimal)).toEqual(['1,000.1', '1,000.2']);
  });
});

describe('counts with their noun', () => {
  it('agree in number', () => {
    expect([0, 1, 2, 1200].map((n) => format.counted(n, 'run'))).toEqual([
      '0 runs',
      '1 run',
      '2 runs',
      '1,200 runs',
    ]);
    expect([1, 2].map((n) => format.counted(n, 'process', 'processes'))).toEqual([
      '1 process',
      '2 processes',
    ]);
  });
});

describe('shares and numbers', () => {
  it('rounds results to three digits and keeps configured values', () => {
    expect([0, 0.00045, 0.08, 0.45, 1].map(format.percent)).toEqual([
      '0 %',
      '0.0450 %',
      '8.00 %',
      '45.0 %',
      '100 %',
    ]);
    expect([0, 0.0456, 1.9, 16_284.4].map(format.decimal)).toEqual([
      '0',
      '0.0456',
      '1.90',
      '16,284',
    ]);
    expect([0, 0.5, 20, 1500].map(format.short)).toEqual(['0', '0.5', '20', '1,500']);
  });

  it('shows an interval only for inexact estimates', () => {
    expect(format.estimate({ value: 9, low: 8, high: 11 }, String)).toBe('9 (8 to 11)');
    expect(format.estimate({ value: 9, low: 9, high: 9 }, String)).toBe('9');
    expect(format.estimate({ value: 9 }, String)).toBe('9');
    expect(format.estimate(null, String)).toBe('–');
  });
});

it('writes a dash for missing data', () => {
  for (const write of [
    format.time,
    format.longTime,
    format.percent,
    format.decimal,
    format.bytes,
    format.count,
    format.throughput,
    format.ratio,
    format.milliseconds,
  ]) {
    expect([write(null), write(undefined)]).toEqual(['–', '–']);
  }
  expect(format.interval(null, 3, String)).toBe('–');
  expect(format.interval(1, 3, String)).toBe('1 to 3');
});

it('writes dates and durations, including missing and malformed ones', () => {
  expect(format.moment('2026-03-14T09:26:53Z')).toBe('2026-03-14 09:26 UTC');
  expect(format.moment('yesterday')).toBe('yesterday');
  expect(format.elapsed('2026-03-14T09:26:53Z', '2026-03-14T09:51:07Z')).toBe('24 min 14 s');
  expect(format.elapsed('2026-03-14T09:26:53Z', '2026-03-14T11:26:53Z')).toBe('2 h 0 min');
  expect(format.elapsed('2026-03-14T09:26:53Z', '2026-03-14T09:26:56.2Z')).toBe('3.2 s');
  expect(format.elapsed('2026-03-14T09:26:53Z', null)).toBe('–');
});
