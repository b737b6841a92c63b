import { describe, expect, it } from 'vitest';
import { comparedSpan, isDifferent } from '../src/chart/overlay';
import { extremesOf, schematic } from '../src/chart/schematic';
import { comparedInterval, comparedRatio, hasRatios, letter } from '../src/comparison';
import { decadesOf } from '../src/data/baselines';
import { cellOf, gridOf, hasGrid } from '../src/data/grid';
import { withMark, withoutMark } from '../src/data/marks';
import { indexMeasurement } from '../src/data/model';
import type { Mark, Measurement, Pattern, Reference, Verdict } from '../src/data/views.gen';
import { cellWords } from '../src/judgement';

const pattern: Pattern = {
  op: 'write',
  address: { function: 'sequential' },
  timing: { function: 'consecutive' },
  io_size_bytes: 32_768,
  io_shift_bytes: 0,
  target_offset_bytes: 0,
  target_size_bytes: 2 ** 30,
  io_count: 1024,
  io_ignore: 0,
  seed: '1',
};

const basic = (changes: Partial<Pattern> = {}): Reference => ({
  kind: 'basic',
  pattern: { ...pattern, ...changes },
});

function made({ grid, marks = [] }: { grid?: Verdict[]; marks?: Mark[] } = {}) {
  const run = (id: number, status: string) => ({
    id,
    value: id,
    reference: basic(),
    progress: status === 'done' ? { status, ios: 9 } : { status },
  });
  const micro_benchmarks = [
    {
      name: 'order',
      title: 'Order',
      question: '',
      parameter: 'Incr',
      unit: 'count',
      experiments: [
        { name: 'SR', runs: [run(1, 'done')] },
        { name: 'SW', runs: [run(2, 'pending')] },
      ],
    },
  ];
  const device = { name: 'd', model: null };
  return indexMeasurement({
    id: 'x',
    name: 'x',
    manifest: { device, micro_benchmarks, options: {} },
    facts: { runs: [], ...(grid ? { grid } : {}) },
    marks: { experiments: marks },
  } as unknown as Measurement);
}

const verdict: Verdict = {
  micro_benchmark: 'order',
  experiment: 'SR',
  interest: 'not_interesting',
  reason: 'It hardly matters.',
  effect: { value: 1.2 },
};

describe('the grid', () => {
  it('lists all nine micro-benchmarks', () => {
    const rows = gridOf(made());
    expect(rows.map(({ name, cells }) => `${name} ${cells.length}`)).toEqual([
      'granularity 4',
      'alignment 4',
      'locality 4',
      'partitioning 2',
      'order 2',
      'parallelism 4',
      'mix 6',
      'pause 4',
      'bursts 4',
    ]);
    expect(rows.flatMap(({ cells }) => cells).filter(({ present }) => present)).toHaveLength(2);
    expect(hasGrid(made())).toBe(true);
  });

  it('separates results that were not judged from benchmarks that did not run', () => {
    const state = (experiment: string, grid?: Verdict[]) =>
      cellOf(made(grid ? { grid } : {}), 'order', 'Order', experiment).state;
    expect(state('SR')).toBe('unjudged');
    expect(state('SW')).toBe('not_performed');
    expect(state('SR', [verdict])).toBe('not_interesting');
  });

  it('shows a correction before the rule', () => {
    const mark = { micro_benchmark: 'order', experiment: 'SR', interesting: true, note: 'a bend' };
    const cell = cellOf(made({ grid: [verdict], marks: [mark] }), 'order', 'Order', 'SR');
    expect([cell.state, cell.rule]).toEqual(['interesting', 'not_interesting']);
    expect(cellWords(cell)).toBe(
      'Order SR: interesting, ×1.2, edited by hand: a bend. The rule says not interesting: It hardly matters.',
    );
    const other = { ...mark, experiment: 'SW' };
    const both = withMark(withMark({ experiments: [] }, mark), other);
    expect(withMark(both, { ...mark, note: '' }).experiments).toEqual([
      other,
      { ...mark, note: '' },
    ]);
    expect(withoutMark(both, other).experiments).toEqual([mark]);
  });
});

describe('sketches of patterns', () => {
  const drawn = (reference: Reference, all = [reference]) => {
    const found = schematic(reference, extremesOf(all));
    if (found === undefined) throw new Error('nothing was drawn');
    return found;
  };

  it('stay within their picture, one IO after the other', () => {
    const references: Reference[] = [
      basic(),
      basic({ address: { function: 'random' } }),
      basic({ address: { function: 'ordered', incr: -1 } }),
      basic({ address: { function: 'ordered', incr: 256 }, io_shift_bytes: 512 }),
      basic({ address: { function: 'partitioned', partitions: 256 } }),
      basic({ timing: { function: 'burst', burst: 10, pause_ns: 1e8 } }),
      { kind: 'parallel', pattern, degree: 16 },
      { kind: 'mixed', first: pattern, second: { ...pattern, op: 'read' }, ratio: 64 },
      { kind: 'sequence', patterns: [pattern, { ...pattern, op: 'read' }, pattern] },
      { kind: 'blend', pattern, reads_percent: 65, queue_depth: 4 },
    ];
    for (const reference of references) {
      const { ios } = drawn(reference, references);
      expect(ios.length).toBeGreaterThan(15);
      for (const { x, y, width, height } of ios) {
        expect(Math.min(x, y, width, height)).toBeGreaterThanOrEqual(0);
        expect(x + width).toBeLessThanOrEqual(1);
        expect(y + height).toBeLessThanOrEqual(1);
      }
    }
  });

  it('change with the parameter', () => {
    const rising = drawn(basic()).ios.map(({ y }) => y);
    expect(rising).toEqual(rising.toSorted((a, b) => a - b));
    const falling = drawn(basic({ address: { function: 'ordered', incr: -1 } })).ios;
    expect(falling[0]?.y).toBeGreaterThan(falling.at(-1)?.y ?? 1);
    const inPlace = drawn(basic({ address: { function: 'ordered', incr: 0 } })).ios;
    expect(new Set(inPlace.map(({ y }) => y)).size).toBe(1);
    const [narrow, wide] = [basic({ target_size_bytes: 2 ** 20 }), basic()];
    const top = (r: Reference) => Math.max(...drawn(r, [narrow, wide]).ios.map(({ y }) => y));
    expect(top(narrow)).toBeLessThan(top(wide) / 2);
    const mixed = drawn({
      kind: 'mixed',
      first: pattern,
      second: { ...pattern, op: 'read' },
      ratio: 2,
    });
    expect(mixed.ios.slice(0, 6).map(({ write }) => write)).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ]);
    expect(schematic({ kind: 'trace' } as Reference, extremesOf([]))).toBeUndefined();
  });
});

describe('comparisons', () => {
  it('mark only differences that the program found', () => {
    const ratio = { value: 0.35, low: 0.32, high: 0.37 };
    expect(comparedRatio({ ratio, differs: true })).toBe('≠ ×0.35');
    expect(comparedRatio({ ratio, differs: false })).toBe('×0.35');
    expect(comparedRatio({ ratio: { value: 1.04 }, differs: true })).toBe('≠ ×1.04');
    expect(
      [1, 0.998, 1.00001, 8.4, 56.5, 0.012].map((value) => comparedRatio({ ratio: { value } })),
    ).toEqual(['×1', '×0.998', '×1', '×8.40', '×57', '×0.012']);
    expect(comparedRatio({})).toBe('–');
    expect(comparedInterval({ ratio, differs: true })).toBe('×0.32 to ×0.37');
    expect(comparedInterval({})).toBe('–');
    expect([0, 1, 5].map(letter)).toEqual(['A', 'B', 'F']);
    const values = [{ value: 1, results: [{}, { ratio }] }];
    const experiment = { micro_benchmark: 'order', experiment: 'SW', values };
    expect(hasRatios({ characteristics: [], experiments: [experiment] })).toBe(true);
    expect(hasRatios({ characteristics: [], experiments: [] })).toBe(false);
    expect(isDifferent({ value: 1, results: [{}, { differs: false }] })).toBe(false);
  });

  it('fit their scales, even without data', () => {
    const results = [{ value: { value: 3e5, low: -1, high: 7e5 } }, {}];
    const experiment = {
      micro_benchmark: 'order',
      experiment: 'SW',
      values: [{ value: 1, results }],
    };
    expect(comparedSpan([experiment])).toEqual([2e5, 1e6]);
    expect(comparedSpan([])).toEqual([1, 10]);
    expect(decadesOf([0.3, undefined, 6])).toEqual({ low: -1, high: 1 });
    expect(decadesOf([], [0.1, 1000])).toEqual({ low: -1, high: 3 });
    expect(decadesOf([])).toEqual({ low: -1, high: 1 });
  });
});
