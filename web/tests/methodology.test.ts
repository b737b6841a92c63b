import { describe, expect, it } from 'vitest';
import { makeReport } from '../fixtures/make-fixture.mjs';
import { indexMeasurement, periodOf, regionsOf } from '../src/data/model';
import type {
  Conditions,
  Length,
  Measurement,
  Methodology,
  RepeatFacts,
} from '../src/data/views.gen';
import {
  conditionNotes,
  differs,
  disturbedRuns,
  disturbedWords,
  environmentNotes,
  interferenceWords,
  lengthWords,
  methodNotes,
  phasesWords,
  precisionWords,
  runNotes,
  sure,
} from '../src/methodology';

/** A report of the fixture, as a source returns it. */
const measured = (report: object) =>
  ({ id: 'made', name: 'made', marks: { experiments: [] }, ...report }) as unknown as Measurement;

const report = measured(makeReport());
const model = indexMeasurement(report);

const methodology: Methodology = {
  repeats: 3,
  precision: { relative: 0.02, confidence: 0.95, least_periods: 20, quantile: null },
  finds_io_ignore: true,
  finds_run_pause: true,
  most_run_time_ns: 2e9,
  most_run_bytes: 2 ** 30,
};

describe('words', () => {
  it('state why a run ended, with target and result', () => {
    const words = (ended_by: Length['ended_by'], known?: number, wanted = methodology) =>
      lengthWords({ ended_by, relative_precision: known ?? null, period_ios: 1 }, 5120, wanted);
    expect(words('precision', 0.0189)).toBe(
      'Ended after 5,120 IOs, when its mean was known to within 1.9 % (target: 2 %).',
    );
    expect(words('ios', 0.0641)).toBe(
      'Ended after 5,120 IOs; its mean is known only to within 6.4 % (target: 2 %).',
    );
    // The run is precise, but has too few periods.
    expect(words('ios', 0.015)).toContain('known to within 1.5 % (target');
    expect(words('time', 0.3)).toContain('after 5,120 IOs, at its time limit of 2 s; its mean is');
    expect(words('bytes')).toBe(
      'Ended after 5,120 IOs, at its write limit of 1 GiB: too few IOs to tell how well its mean is known.',
    );
    const { precision: _, ...given } = methodology;
    expect(words('time', 0.1, given)).toBe('Ended after 5,120 IOs, at its time limit of 2 s.');
    const tail = { ...methodology, precision: { ...methodology.precision, quantile: 0.99 } };
    expect(words('precision', 0.02, tail as Methodology)).toContain(
      'when its 99th percentile of response times was known',
    );
    expect(precisionWords({ relative: 0.05, confidence: 0.99, least_periods: 1 })).toBe(
      'its mean was known to within 5 % at 99 % confidence, over at least 1 period of oscillation',
    );
  });

  it('state phases that were not found', () => {
    expect(sure(1)).toBe('over 99.9 %');
    expect(sure(0.973)).toBe('97.3 %');
    expect(phasesWords({ baseline: 'SR', run: 1 })).toBe(
      'Start-up phase: none found. Period: none found.',
    );
    expect(phasesWords({ baseline: 'SW', run: 1, period: { ios: 128, confidence: 0.98 } })).toBe(
      'Start-up phase: none found. Period: 128 IOs (confidence 98 %).',
    );
    const seen = { run: 5, lasted_ns: 2.2e9, run_pause_ns: 4.4e9, settled: false };
    expect(interferenceWords({ ...seen, reads: { ios: 3000, confidence: 1 } })).toBe(
      'The writes slowed the reads after them: 3,000 IOs (confidence over 99.9 %), for at least 2.20 s; reads did not return to their former speed. Runs are therefore 4.4 s apart.',
    );
    expect(interferenceWords({ ...seen, reads: null })).toMatch(/^The writes did not slow/);
  });

  it('call repeats different only with strong evidence', () => {
    const facts = (differ_confidence: number) => ({ differ_confidence }) as RepeatFacts;
    expect([undefined, facts(0.98), facts(0.99)].map(differs)).toEqual([false, false, true]);
  });

  it('state interference and omit unknown conditions', () => {
    expect(disturbedWords(['ios', 'processors'])).toBe(
      'other processes used the drive and the CPUs',
    );
    const known: Conditions = { disturbed_by: [], others_processor_share: 0.904 };
    expect(conditionNotes(known)).toEqual([['CPU time', '90 % used by other processes']]);
    expect(environmentNotes({ governors: [] })).toEqual([]);
    expect(
      environmentNotes({ governors: ['powersave'], queue: { drive: 'sda', write_throttle_us: 0 } }),
    ).toEqual([
      ['CPU governor', 'powersave'],
      ['Block device', 'sda'],
      ['Write throttling', 'off'],
    ]);
  });

  it('name every disturbed run by its micro-benchmark', () => {
    const found = disturbedRuns(report.manifest);
    expect(found.map(({ by, runs }) => [by, runs.length])).toEqual([
      ['other processes used the drive', 9],
      ['other processes used the CPUs', 4],
    ]);
  });

  it('are absent for an old result', () => {
    const old = measured(makeReport({ old: true }));
    expect(methodNotes(old.manifest, []).map(([name]) => name)).toEqual(['State', 'Pauses']);
    const view = indexMeasurement(old).run(30);
    if (view === undefined) throw new Error('the fixture lacks run 30');
    expect(runNotes(view, 1024)).toEqual([]);
  });
});

describe('model', () => {
  const experiment = (benchmark: string, name: string) => {
    const found = model.benchmark(benchmark)?.experiments.find((e) => e.name === name);
    if (found === undefined) throw new Error(`the fixture lacks ${benchmark} ${name}`);
    return found;
  };

  it('gives each value its repeats and their mean', () => {
    const values = model.values(experiment('granularity', 'SW'));
    expect(values).toHaveLength(15);
    for (const { value, views, together, mean } of values) {
      expect(views.map(({ run }) => [run.value, run.repeat ?? 1])).toEqual(
        [1, 2, 3].map((repeat) => [value, repeat]),
      );
      expect(together?.runs).toEqual(views.map(({ run }) => run.id));
      expect(mean).toBe(together?.mean_ns);
    }
  });

  it('keeps the repeat between neighbours', () => {
    const [first, second] = model.values(experiment('granularity', 'RR'));
    const third = first?.views[2];
    expect(third?.previous).toBeUndefined();
    expect(third?.next).toBe(second?.views[2]?.run);
    expect(third?.next?.repeat).toBe(3);
  });

  it('places the start-up first and affected reads after the writes', () => {
    const [random] = model.views(experiment('preparation', 'RW'));
    const [lingering] = model.views(experiment('preparation', 'SR-RW-SR'));
    const [counted] = model.views(experiment('granularity', 'RW'));
    const [read] = model.views(experiment('granularity', 'SR'));
    if (!random || !lingering || !counted || !read) throw new Error('the fixture lacks one');
    expect(regionsOf(random)).toMatchObject([{ kind: 'start-up', from: 0, to: 125 }]);
    expect(regionsOf(lingering)).toMatchObject([{ kind: 'affected', from: 10_240, to: 13_240 }]);
    expect(regionsOf(counted)).toMatchObject([{ name: 'excluded', from: 0, to: 138 }]);
    expect(regionsOf(read)).toEqual([]);
    expect([random, counted, read].map(periodOf)).toEqual([undefined, undefined, undefined]);
    const [sequential] = model.views(experiment('preparation', 'SW'));
    expect(sequential && periodOf(sequential)).toBe(128);
  });
});
