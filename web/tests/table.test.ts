// CSV files with named columns as tables and curves.

import { describe, expect, it } from 'vitest';
import { tableChart } from '../src/chart/table';
import { parseTable } from '../src/data/table';

describe('a table', () => {
  it('has named columns of numbers and of words', () => {
    const table = parseTable('depth,"a, b",name\r\n1,2.5,x\r\n4,,"say ""y"""\r\n');
    expect(table.columns.map(({ name, numbers }) => [name, numbers])).toEqual([
      ['depth', [1, 4]],
      ['a, b', [2.5, null]],
      ['name', undefined],
    ]);
    expect(table.rows[1]).toEqual(['4', '', 'say "y"']);
  });

  it.each([
    [';', 'a;b\n1;2\n'],
    ['tab', 'a\tb\n1\t2\n'],
  ])('may have the separator %s', (_, text) => {
    expect(parseTable(text).rows).toEqual([['1', '2']]);
  });

  it.each([
    ['', 'has no columns'],
    ['one\n1\n', 'has no columns'],
    ['a,b\n', 'has no rows'],
    ['1,2\n3,4\n', 'does not name its columns'],
    ['a,\n3,4\n', 'does not name its columns'],
    ['a,b\n1,2\n3\n', 'has 2 columns, and 1 fields in row 2'],
  ])('is refused in words: %j', (text, reason) => {
    expect(() => parseTable(text)).toThrow(reason);
  });
});

describe('the curves of a table', () => {
  const table = parseTable('x,y,z\n3,30,1\n1,10,2\n,99,9\n2,,3\n');

  it('are in the order of the column across', () => {
    const { data } = tableChart(table, 0, [1, 2]);
    expect(data[0]).toEqual([1, 2, 3]);
    expect(data[1]).toEqual([10, null, 30]);
    expect(data[2]).toEqual([2, 3, 1]);
  });

  it('are against the row numbers without a column', () => {
    const spec = tableChart(table, undefined, [1]);
    expect(spec.data[0]).toEqual([1, 2, 3, 4]);
    expect(spec.label).toBe('y against row, 4 rows.');
  });
});
