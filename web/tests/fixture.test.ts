import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { ioCount, makeJson, makeReport } from '../fixtures/make-fixture.mjs';
import { makeShelf } from '../fixtures/make-page.mjs';
import { makePapers } from '../fixtures/make-papers.mjs';
import { makeSweep } from '../fixtures/make-sweep.mjs';
import { makeTrace } from '../fixtures/make-trace.mjs';
import { commandsAfter, stateAfter } from '../fixtures/running.mjs';
import { serve } from '../fixtures/server.mjs';
import { stepsOf } from '../fixtures/what-if.mjs';
import { published } from '../scripts/published.mjs';
import { DEFAULT_QUESTION, requestOf } from '../src/pages/what-if/question';

const json = makeJson(makeReport());

it.each([
  ['report', JSON.parse(json), { manifest: {} }],
  ['report', JSON.parse(makeJson(makeReport({ old: true }))), { manifest: {} }],
  ['trace', makeTrace(), { inputs: [] }],
  ['reproduction', makePapers(), { items: [] }],
])('obeys the schema of a %s', async (name, made, wrong) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile(await published(name));
  validate(made);
  expect(validate.errors).toBeNull();
  validate(wrong);
  expect(validate.errors).not.toBeNull();
});

it('gives views that obey their schemas', async () => {
  const [shelf, page] = [makeShelf(), ''];
  const sweeps = [{ id: 'space', name: 'space', sweep: makeSweep() }];
  const served = await serve(page, shelf, { sweeps });
  const asked = requestOf(DEFAULT_QUESTION);
  const ask = async (path: string) => (await fetch(`${served.address}api/${path}`)).json();
  const run = `results/newer/runs/${shelf[1]?.runs[100].id}`;
  const views = {
    shelf: await ask('shelf'),
    result: await ask('results/newer'),
    outline: await ask(`${run}/outline?from=10&to=90&buckets=20`),
    run_views: { histogram: await ask(`${run}/histogram`) },
    ios: await ask(`${run}/ios?from=10&count=20`),
    colours: await ask('results/newer/colours?micro_benchmark=mix&experiment=SR%2FRW&columns=64'),
    activities: await ask(`${run}/activities?from_ns=0&to_ns=100000000`),
    comparison: await ask('comparison?ids=first%20drive,newer'),
    matches: await ask('results/newer/matches?where=latency%20%3E%201%20ms&limit=5'),
    marks: { experiments: [{ micro_benchmark: 'mix', experiment: 'RW', interesting: true }] },
    sweep: await ask('sweeps/space'),
    what_if_choices: await ask('what-if'),
    what_if_asked: asked,
    what_if: stepsOf(asked).at(-1),
    running: stateAfter(7),
    commands: commandsAfter(7, 'night'),
  };
  await served.stop();
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile(await published('views'));
  validate(views);
  expect(validate.errors).toBeNull();
  validate({ ...views, outline: {} });
  expect(validate.errors).not.toBeNull();
  expect(new Set(views.result.facts.grid.map((v: { interest: string }) => v.interest))).toEqual(
    new Set(['interesting', 'not_interesting', 'not_performed']),
  );
});

it('gives the same trace every time, with all its edge cases', () => {
  const made = makeTrace();
  expect(makeTrace()).toEqual(made);
  const { facts } = made;
  expect(Object.values(facts.requests).every((n) => n > 0)).toBe(true);
  expect(facts.sampling.rate).toBeLessThan(1);
  const [steps, { read, rows }] = [facts.series.steps, facts.heat_map];
  expect(steps.reduce((sum, s) => sum + s.bytes.read, 0)).toBe(facts.bytes.read);
  expect(read.reduce((sum, n) => sum + n, 0)).toBe(facts.bytes.read);
  expect(read.length % rows).toBe(0);
});

it('gives the same report every time, with all its edge cases', () => {
  expect(makeJson(makeReport())).toBe(json);
  const { manifest, facts, outlines } = makeReport();
  expect(manifest.micro_benchmarks).toHaveLength(10);
  const runs = manifest.micro_benchmarks.flatMap((b) => b.experiments).flatMap((e) => e.runs);
  const states = new Set(runs.map((run) => run.progress.status));
  expect(states).toEqual(new Set(['done', 'failed', 'skipped']));
  expect(runs.map((run) => run.id)).toEqual(runs.map((_, i) => i + 1));
  expect(facts.runs).toHaveLength(outlines.length);
  expect(outlines.some((o) => o.index.length < o.ios)).toBe(true);
  expect(new Set(runs.map((run) => run.length?.ended_by))).toEqual(
    new Set([undefined, 'precision', 'ios']),
  );
  expect(runs.some((run) => run.reset)).toBe(true);
  const sure = facts.repeats?.filter((r) => r.differ_confidence > 0.99).length ?? 0;
  expect(sure).toBeGreaterThan(20);
  expect(sure).toBeLessThan((facts.repeats?.length ?? 0) / 2);
  expect(runs.every((run) => ioCount(run.reference) > 0)).toBe(true);
  expect(json).toMatch(/"seed":\d{19}/);
});
