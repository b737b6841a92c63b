// The what-if page, answered by a server.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve } from '../fixtures/server.mjs';
import { stepsOf } from '../fixtures/what-if.mjs';
import { Lines } from '../src/data/what-if';
import { DEFAULT_QUESTION, queryOf, questionOf, requestOf } from '../src/pages/what-if/question';
import { keptWhatIfHref, parseRoute } from '../src/route';
import { Bench, overflow, template, violations } from './browser';

let bench: Bench;
let served: { address: string; stop: () => Promise<void> };

beforeAll(async () => {
  bench = await Bench.start();
  const asked = requestOf({
    ...DEFAULT_QUESTION,
    changes: ['over_provisioning=0.28', 'over_provisioning=3'],
  });
  const steps = stepsOf(asked);
  const kept = (id: string, whatIf: object | undefined) => ({ id, name: id, whatIf });
  served = await serve(await template(), [], {
    whatIfs: [kept('a kept/one', steps.at(-1)), kept('cut off', steps.at(-2))],
  });
}, 300_000);

afterAll(async () => {
  await bench?.stop();
  await served?.stop();
});

const status = (page: Page) => page.getByRole('status').filter({ hasText: /simulated|Starting/ });
const table = (page: Page, name: string) =>
  page.getByRole('region', { name: new RegExp(name) }).getByRole('table');
const ask = (page: Page) => page.getByRole('button', { name: 'Run', exact: true }).click();

describe('lines', () => {
  it('arrive whole from any split', () => {
    const lines = new Lines();
    expect(lines.add('{"a"')).toEqual([]);
    expect(lines.add(':1}\n{"b":2}\n{')).toEqual(['{"a":1}', '{"b":2}']);
    expect(lines.add('}\n')).toEqual(['{}']);
  });
});

describe('a question', () => {
  it('survives its address', () => {
    const asked = {
      ...DEFAULT_QUESTION,
      workload: 'zipf?exponent=0.9&reads=0.3',
      changes: ['a=1,2', 'b=é'],
    };
    expect(questionOf(queryOf(asked))).toEqual(asked);
    expect(questionOf('')).toEqual(DEFAULT_QUESTION);
  });

  it('asks for a change that was entered twice once', () => {
    const changes = ['over_provisioning=0.28', ' over_provisioning=0.28 ', 'ftl=fast'];
    const asked = requestOf({ ...DEFAULT_QUESTION, changes });
    expect(asked.variants.map((variant) => variant.changes)).toEqual([
      'over_provisioning=0.28',
      'ftl=fast',
    ]);
  });

  it('omits empty fields and unchanged variants', () => {
    const asked = requestOf({
      ...DEFAULT_QUESTION,
      ios: '',
      repeats: '5',
      changes: [' ftl=fast ', ''],
    });
    expect(asked).toMatchObject({ ios: null, repeats: 5, variants: [{ changes: 'ftl=fast' }] });
  });
});

describe('one that was kept', () => {
  it('is listed on the shelf and leads to its results', () =>
    bench.visit(`${served.address}#/`, async (page) => {
      await page.getByRole('combobox', { name: 'Kind' }).selectOption('what_if');
      await page.getByText('2 matching results').waitFor();
      await page.getByText('uniform on sim:demo').first().waitFor();
      await page.getByText('2 of 2 variants').waitFor();
      await page.getByRole('link', { name: 'a kept/one' }).click();
      await page.getByRole('heading', { level: 1, name: 'a kept/one' }).waitFor();
      const row = table(page, 'Simulations').getByRole('row', { name: /=0.28/ });
      expect(await row.innerText()).toMatch(/280 µs\s*−50.0 % ± 1.00 %\s*, better/);
      await table(page, 'Model predictions').getByText('−50.0 %').first().waitFor();
      await table(page, 'Simulations').getByText('Impossible: no drive is').waitFor();
      expect(await page.getByText('Interrupted').count()).toBe(0);
    }));

  it('states the progress of an interrupted one', () =>
    bench.visit(served.address + keptWhatIfHref('cut off'), async (page) => {
      await page.getByText('Interrupted: 2 of 3 variants ended, baseline included.').waitFor();
      await table(page, 'Simulations').getByText('not simulated yet').waitFor();
    }));

  it('survives its address and reports a missing one', () => {
    const route = { page: 'kept-what-if', id: 'a/b ?c' };
    expect(parseRoute(keptWhatIfHref('a/b ?c'))).toEqual(route);
    expect(parseRoute('#/what-if/a/b')).toMatchObject({ page: 'unknown' });
  });

  it.each(['light', 'dark'] as const)('is accessible and fits a phone, %s', (colorScheme) =>
    bench.visit(
      served.address + keptWhatIfHref('a kept/one'),
      async (page) => {
        await table(page, 'Simulations').waitFor();
        expect(await violations(page)).toEqual([]);
        await page.setViewportSize({ width: 390, height: 844 });
        expect(await overflow(page)).toBeLessThanOrEqual(0);
      },
      { colorScheme },
    ),
  );
});

describe('the page', () => {
  it('shows models first, then simulations and differences', () =>
    bench.visit(`${served.address}#/`, async (page) => {
      await page.getByRole('link', { name: 'See how a change affects performance' }).click();
      await page.getByRole('heading', { level: 1, name: 'What if' }).waitFor();
      await page.getByRole('button', { name: 'TRIM' }).click();
      await page.getByRole('button', { name: 'Add a change' }).click();
      await page
        .getByRole('textbox', { name: /Change 3/ })
        .or(page.getByRole('combobox', { name: /Change 3/ }))
        .fill('over_provisioning=3');
      await ask(page);
      await table(page, 'Model predictions').getByText('−50.0 %').first().waitFor();
      await status(page).getByText('Done: 4 of 4 simulated').waitFor();
      const simulated = table(page, 'Simulations');
      const row = simulated.getByRole('row', { name: /over_provisioning=0.28/ });
      expect(await row.innerText()).toMatch(/280 µs\s*−50.0 % ± 1.00 %\s*, better/);
      expect(await row.innerText()).toMatch(/894\s*−50.0 % ± 1.00 %\s*, worse/);
      await simulated.getByText('Impossible: no drive is like that').waitFor();
      await page.getByText('Not modelled: trims').waitFor();
      expect(await page.evaluate(() => location.hash)).toContain('change=workload.trims');
      await page.reload();
      await page.getByRole('button', { name: 'Remove change 3' }).waitFor();
    }));

  it('keeps finished simulations when stopped', () =>
    bench.visit(`${served.address}#/what-if?drive=sim%3Aslow`, async (page) => {
      await ask(page);
      await status(page).getByText('Simulating: 1 of 2 simulated').waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await status(page).getByText('Ended early: 1 of 2 simulated').waitFor();
      await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    }));

  it('explains a refusal', () =>
    bench.visit(
      `${served.address}#/what-if?drive=sim%3Anone`,
      async (page) => {
        await ask(page);
        await page.getByText('`none` is no drive that this server knows').waitFor();
      },
      { expected: /422/ },
    ));

  it.each(['light', 'dark'] as const)('is accessible and fits a phone, %s', (colorScheme) =>
    bench.visit(
      `${served.address}#/what-if`,
      async (page) => {
        await ask(page);
        await status(page).getByText('Done').waitFor();
        expect(await violations(page)).toEqual([]);
        await page.setViewportSize({ width: 390, height: 844 });
        expect(await overflow(page)).toBeLessThanOrEqual(0);
      },
      { colorScheme },
    ),
  );
});
