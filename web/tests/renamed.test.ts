import { expect, it } from 'vitest';
import { OF_SWEEP, OF_TWIN, withCurrentNames } from '../src/data/renamed';

it('gives fields of earlier versions their current names', () => {
  const twin = { told: 1, times: [{ field: 'a.told', told: false }], profile: 'told' };
  expect(withCurrentNames(twin, OF_TWIN)).toEqual({
    is_determined: 1,
    times: [{ field: 'a.told', is_determined: false }],
    profile: 'told',
  });
  const sweep = { counts: { asked: 4, done: null } };
  expect(withCurrentNames(sweep, OF_SWEEP)).toEqual({ counts: { requested: 4, done: null } });
  expect(withCurrentNames({ counts: { requested: 4 } }, OF_SWEEP)).toEqual({
    counts: { requested: 4 },
  });
});
