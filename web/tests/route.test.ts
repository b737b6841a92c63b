import { describe, expect, it } from 'vitest';
import {
  benchmarkHref,
  type CompareLevel,
  coloursHref,
  compareHref,
  deviceHref,
  experimentHref,
  ioHref,
  parseRoute,
  predictionHref,
  runHref,
  shelfHref,
  simulationHref,
  twinHref,
  whatIfHref,
} from '../src/route';

// An id with every character that has a meaning in an address.
const ID = 'a/b ?c#d,e%2F&f=é';
const ONE = { kind: 'measurement', id: 'one' } as const;

describe('routes', () => {
  it('survive a round trip through the address', () => {
    const at = { name: 'mix', experiment: 'SR/RW' };
    expect(parseRoute(deviceHref(ID))).toEqual({ page: 'device', id: ID });
    expect(parseRoute(benchmarkHref(ID, 'mix'))).toEqual({
      page: 'benchmark',
      id: ID,
      name: 'mix',
    });
    expect(parseRoute(experimentHref(ID, 'mix', 'SR/RW'))).toEqual({
      page: 'experiment',
      id: ID,
      ...at,
    });
    expect(parseRoute(coloursHref(ID, 'mix', 'SR/RW'))).toEqual({ page: 'colours', id: ID, ...at });
    expect(parseRoute(coloursHref(ID, 'mix', 'SR/RW', 10, 20))).toMatchObject({ from: 10, to: 20 });
    expect(parseRoute(runHref(ID, 17))).toEqual({ page: 'run', id: ID, run: 17 });
    expect(parseRoute(runHref(ID, 17, 0, 9))).toMatchObject({ run: 17, from: 0, to: 9 });
    expect(parseRoute(ioHref(ID, 17, 400))).toEqual({ page: 'io', id: ID, run: 17, index: 400 });
    expect(parseRoute(simulationHref(ID))).toEqual({ page: 'simulation', id: ID });
    expect(parseRoute(whatIfHref('a=b'))).toEqual({ page: 'what-if', query: 'a=b' });
    expect(parseRoute(twinHref('a/b'))).toEqual({ page: 'twin', id: 'a/b' });
    expect(parseRoute(predictionHref('a b'))).toEqual({ page: 'prediction', id: 'a b' });
  });

  it('compare distinct results at each level', () => {
    const levels: CompareLevel[] = [
      { level: 'summary' },
      { level: 'benchmark', name: 'mix' },
      { level: 'experiment', name: 'mix', experiment: 'SR/RW' },
      { level: 'colours', name: 'mix', experiment: 'SR/RW' },
      { level: 'run', name: 'order', experiment: 'SW', value: -1 },
    ];
    for (const level of levels) {
      const ids = [ID, 'b'];
      expect(parseRoute(compareHref(ids, level))).toEqual({ page: 'compare', ids, ...level });
    }
    expect(parseRoute('#/compare/a,b,a')).toMatchObject({ ids: ['a', 'b'] });
  });

  it('hold only the effective filters of the shelf', () => {
    const query = { search: 'a & b', capacity_min: 1024, offset: 50 };
    expect(parseRoute(shelfHref(query))).toEqual({ page: 'shelf', query });
    expect(shelfHref({ search: '' })).toBe('#/');
    expect(parseRoute('#/?limit=many&offset=-3')).toEqual({ page: 'shelf', query: {} });
  });

  it('accept addresses of earlier versions', () => {
    for (const hash of ['', '#', '#/']) {
      expect(parseRoute(hash, ONE)).toEqual({ page: 'device', id: 'one' });
      expect(parseRoute(hash).page).toBe('shelf');
    }
    expect(parseRoute('#/b/order', ONE)).toEqual({ page: 'benchmark', id: 'one', name: 'order' });
    expect(parseRoute('#/b/%', ONE)).toMatchObject({ name: '%' });
    expect(parseRoute('#/r/17', ONE)).toEqual({ page: 'run', id: 'one', run: 17 });
    expect(parseRoute('#/r/17', { kind: 'probe', id: 'one' }).page).toBe('unknown');
    for (const hash of ['#/b/order', '#/r/17']) expect(parseRoute(hash).page).toBe('unknown');
  });

  it('open a page of one item on that item', () => {
    for (const kind of ['simulation', 'probe', 'sweep'] as const) {
      expect(parseRoute('#/', { kind, id: ID })).toEqual({ page: kind, id: ID });
    }
  });

  it('reject wrong addresses', () => {
    const wrong = [
      '#/q/1',
      '#/d',
      '#/d/',
      '#/d/x/q/y',
      '#/d/x/b',
      '#/d/x/e/mix',
      '#/d/x/r/one',
      '#/d/x/r/1/i/x',
      '#/d/x/r/1/2',
      '#/s/x/y',
      '#/compare',
      '#/compare/,',
      '#/compare/a/r/mix/RW/x',
    ];
    for (const hash of wrong) expect(parseRoute(hash, ONE).page, hash).toBe('unknown');
    const zoom = parseRoute('#/d/x/r/1?from=9&to=3');
    expect(zoom).toEqual({ page: 'run', id: 'x', run: 1 });
  });
});
