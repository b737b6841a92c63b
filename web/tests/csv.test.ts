import { expect, it } from 'vitest';
import { csv, csvField } from '../src/csv';
import { fileName } from '../src/file-name';

it('names files in ASCII and keeps the units of their titles', () => {
  expect(fileName('Latency at 100 µs, ×2 (é)', 'svg')).toBe('Latency-at-100-us-x2-e.svg');
  expect(fileName(`${'long '.repeat(30)}.`, 'csv')).toMatch(/^(long-)+long\.csv$/);
});

it('quotes fields as RFC 4180 requires', () => {
  expect(csv([['a', 'b, c', 'say "d"', 'e\nf', 1.5]])).toBe('a,"b, c","say ""d""","e\nf",1.5\r\n');
});

it('turns formulas into text and keeps numbers', () => {
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1']) {
    expect(csvField(text)).toMatch(/^"?'/);
  }
  expect(csvField(-1.25)).toBe('-1.25');
  expect(csvField('a=b')).toBe('a=b');
});

it('writes numbers in full', () => {
  expect(csvField(0.1 + 0.2)).toBe('0.30000000000000004');
  expect(csvField(734_035_968)).toBe('734035968');
});
