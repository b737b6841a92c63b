import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { ioCount, makeReport, makeReportJson } from '../fixtures/make-fixture.mjs';

const json = makeReportJson();

// Is the fixture what the program may write, by the published schema?
it('obeys the schema', async () => {
  const schema = new URL('../../docs/schemas/report.schema.json', import.meta.url);
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile(JSON.parse(await readFile(schema, 'utf8')));
  validate(JSON.parse(json));
  expect(validate.errors).toBeNull();
  validate({ manifest: {} });
  expect(validate.errors).not.toBeNull();
});

// Is it the same every time, and does it hold what the pages must cope with?
it('is whole', () => {
  expect(makeReportJson()).toBe(json);
  const { manifest, facts, outlines } = makeReport();
  expect(manifest.micro_benchmarks).toHaveLength(10);
  const runs = manifest.micro_benchmarks.flatMap((b) => b.experiments).flatMap((e) => e.runs);
  const states = new Set(runs.map((run) => run.progress.status));
  expect(states).toEqual(new Set(['done', 'failed', 'skipped']));
  expect(runs.map((run) => run.id)).toEqual(runs.map((_, i) => i + 1));
  expect(facts.runs).toHaveLength(outlines.length);
  expect(outlines.some((o) => o.index.length < o.ios)).toBe(true);
  expect(runs.every((run) => ioCount(run.reference) > 0)).toBe(true);
  expect(json).toMatch(/"seed":\d{19}/);
});
