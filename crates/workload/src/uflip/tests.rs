use std::fmt::Write;

use super::*;

/// Returns the paper's setup on a drive of 32 GiB, like the larger ones of the paper. Every run of
/// Table 1 fits.
fn setup() -> Setup {
    Setup::paper(Bytes::gib(32), 2009)
}

/// Returns the first 64 IOs of a run if every IO takes 100 µs: the operation and the offset in
/// sectors. For timed patterns, adds the time at which the IO is due, in µs.
fn golden(reference: &Reference) -> String {
    let mut streams = reference.streams(|_| Err("a trace")).unwrap();
    let mut previous = vec![Nanos(0); streams.len()];
    let timed = reference.patterns().iter().any(|p| p.timing != Timing::Consecutive);
    let mut line = String::new();
    for i in 0..64 {
        let turn = i % streams.len();
        let Some(io) = streams[turn].next(previous[turn]) else { break };
        previous[turn] = io.at + Nanos::micros(100);
        let op = if io.op == Op::Read { 'r' } else { 'w' };
        write!(line, " {op}{}", io.offset.0 / 512).unwrap();
        if timed {
            write!(line, "@{}", io.at.0 / 1000).unwrap();
        }
    }
    line
}

// The micro-benchmarks issue exactly the IOs of the golden vectors (Table 1).
#[test]
fn golden_vectors() {
    for benchmark in all() {
        let mut text =
            format!("{} over {}, sectors of 512 B\n", benchmark.title, benchmark.parameter);
        for experiment in benchmark.experiments(&setup()) {
            writeln!(text, "\n{}", experiment.name).unwrap();
            for run in experiment.runs {
                let sectors = run.reference.largest_io().0 / 512;
                let ios = run.reference.io_count();
                let stream = golden(&run.reference);
                writeln!(text, "{}: {ios} x {sectors}:{stream}", run.value).unwrap();
            }
        }
        insta::assert_snapshot!(benchmark.name, text);
    }
}

// There are 39 experiments as in the slides: 34 of Table 1, and 5 for the preparation.
#[test]
fn thirty_nine_experiments() {
    let count = |benchmark: &MicroBenchmark| benchmark.experiments(&setup()).len();
    assert_eq!(MICRO_BENCHMARKS.iter().map(|b| count(b)).sum::<usize>(), 34);
    assert_eq!(count(PREPARATION), 5);
}

// The registry is consistent: names are unique and resolvable, and every entry is documented.
#[test]
fn registry_is_complete() {
    for (i, benchmark) in all().enumerate() {
        assert_eq!(all().position(|b| b.name == benchmark.name), Some(i));
        assert!(find(benchmark.name).is_some_and(|found| found.title == benchmark.title));
        for text in [benchmark.title, benchmark.question, benchmark.source, benchmark.parameter] {
            assert!(!text.is_empty());
        }
    }
    assert!(find("granulrity").is_none());
}

// Every run is valid on a drive of 32 GiB, and the runs of an experiment have distinct values.
#[test]
fn every_run_is_valid_and_distinct() {
    for benchmark in all() {
        for experiment in benchmark.experiments(&setup()) {
            let mut values: Vec<i64> = experiment.runs.iter().map(|run| run.value).collect();
            assert!(values.is_sorted());
            values.dedup();
            assert_eq!(values.len(), experiment.runs.len());
            for run in &experiment.runs {
                assert_eq!(run.reference.validate(Bytes::gib(32), Bytes(512)), Ok(()));
            }
        }
    }
}

// Each pattern of a benchmark has its own random addresses, and the seed reproduces them.
#[test]
fn seeds_are_distinct_and_reproducible() {
    let seeds = |setup: &Setup| -> Vec<u64> {
        let runs = all().flat_map(|b| b.experiments(setup)).flat_map(|e| e.runs);
        runs.flat_map(|r| r.reference.patterns().iter().map(|p| p.seed).collect::<Vec<_>>())
            .collect()
    };
    let mut first = seeds(&setup());
    assert_eq!(first, seeds(&setup()));
    assert_ne!(first, seeds(&Setup { seed: 1, ..setup() }));
    let count = first.len();
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), count);
}

// Every field of the setup changes the patterns.
#[test]
fn every_field_of_the_setup_matters() {
    let plan = |setup: &Setup| -> Vec<Experiment> {
        all().flat_map(|benchmark| benchmark.experiments(setup)).collect()
    };
    let paper = plan(&setup());
    let changes: [fn(&mut Setup); 15] = [
        |s| s.io_size = Bytes::kib(16),
        |s| s.target_offset = Bytes::mib(1),
        |s| s.target_size = Bytes::gib(16),
        |s| s.io_count.sequential_read = 100,
        |s| s.io_count.random_read = 100,
        |s| s.io_count.sequential_write = 100,
        |s| s.io_count.random_write = 100,
        |s| s.io_ignore.sequential_read = 10,
        |s| s.io_ignore.random_read = 10,
        |s| s.io_ignore.sequential_write = 10,
        |s| s.io_ignore.random_write = 10,
        |s| s.preparation_io_count = 512,
        |s| s.burst_pause = Nanos::millis(50),
        |s| s.seed = 1,
        |s| s.io_ignore = PerBaseline::same(5000),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut changed = setup();
        change(&mut changed);
        assert_ne!(plan(&changed), paper, "change {i}");
    }
}

// The requirements cover the largest IO and the most streams.
#[test]
fn needs_cover_every_run() {
    let everything: Vec<_> = all().collect();
    let all_need = |io_size| needs(&everything, io_size);
    assert_eq!(all_need(Bytes::kib(32)), Needs { io: Bytes::kib(256), streams: 16 });
    assert_eq!(all_need(Bytes::mib(1)), Needs { io: Bytes::mib(1), streams: 16 });
    let one = [find("order").unwrap()];
    assert_eq!(needs(&one, Bytes::kib(32)), Needs { io: Bytes::kib(32), streams: 1 });
}

// Values appear in their unit.
#[test]
fn values_are_shown_in_their_unit() {
    assert_eq!(Unit::Bytes.text(32 << 10), "32 KiB");
    assert_eq!(Unit::Nanoseconds.text(25_600_000), "25.6 ms");
    assert_eq!(Unit::Count.text(-1), "-1");
}
