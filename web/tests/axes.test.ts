import { describe, expect, it } from 'vitest';
import { labelled, parameterAxis, timeSpan, timeTicks } from '../src/chart/axes';

describe('parameters', () => {
  const order = parameterAxis([-1, 0, 1, 2, 4, 8]);

  it('places powers of two evenly, with −1 and 0 to the left', () => {
    expect(order.values.map(order.at)).toEqual([-2, -1, 0, 1, 2, 3]);
    expect(parameterAxis([512, 0, 1024]).values).toEqual([0, 512, 1024]);
    expect([0, 512, 1024].map(parameterAxis([0, 512, 1024]).at)).toEqual([8, 9, 10]);
  });

  it('breaks the line only between values that no scale joins', () => {
    expect(order.breaks).toEqual([-1.5, -0.5]);
    expect(parameterAxis([1, 2, 4]).breaks).toEqual([]);
  });

  it('keeps labels apart and shows at least one', () => {
    expect(labelled(order, () => 0.9)).toEqual([-1, 0, 1, 2, 4, 8]);
    const sizes = parameterAxis([512, 1024, 2048, 4096, 8192, 12288, 16384]);
    expect(labelled(sizes, () => 2)).toEqual([512, 2048, 8192]);
    for (const width of [0.1, 1, 2, 3, 10, 100]) {
      const chosen = labelled(order, () => width).map(order.at);
      expect(chosen.length).toBeGreaterThan(0);
      chosen.slice(1).forEach((at, i) => {
        expect(at - (chosen[i] ?? at)).toBeGreaterThanOrEqual(width);
      });
    }
  });

  it('has an extent for one run and for none', () => {
    for (const axis of [parameterAxis([20_480]), parameterAxis([]), parameterAxis([0])]) {
      expect(axis.max).toBeGreaterThan(axis.min);
    }
  });
});

describe('times', () => {
  it('covers all times between round limits', () => {
    expect(timeSpan([305_000, 83_000_000])).toEqual([200_000, 100_000_000]);
    expect(timeSpan([1000])).toEqual([1000, 10_000]);
    expect(timeSpan([])).toEqual([1, 10]);
    expect(timeSpan([0, 0])[0]).toBeGreaterThan(0);
  });

  it('chooses round ticks that fit, at least two', () => {
    expect(timeTicks(200, 10_000, 10)).toEqual([200, 500, 1000, 2000, 5000, 10_000]);
    expect(timeTicks(100, 100_000, 4)).toEqual([100, 1000, 10_000, 100_000]);
    expect(timeTicks(2000, 5000, 9)).toEqual([2000, 5000]);
    expect(timeTicks(1, 1e10, 4).length).toBeLessThanOrEqual(4);
  });
});
