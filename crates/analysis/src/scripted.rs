//! Results with known answers, for tests.

use flashscope_block::{Bytes, DeviceInfo, DeviceKind, Nanos, Op};
use flashscope_document::manifest::{
    Calibration, Experiment, Machine, Manifest, MicroBenchmark, OnError, Options, Progress, Run,
    State, Tool,
};
use flashscope_document::methodology::Methodology;
use flashscope_stats::Estimate;
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};
use flashscope_workload::uflip::{Setup, Unit};

use crate::means::Means;
use flashscope_document::facts::{Facts, Latency, RunFacts, SCHEMA_VERSION};

/// A millisecond in ns.
pub(crate) const MS: f64 = 1e6;

/// An experiment: micro-benchmark, name, and the mean in ms for each value.
pub(crate) type GivenMeans<'a> = (&'a str, &'a str, &'a [(i64, f64)]);

/// Returns a result of IOs of 32 KiB whose means are known to within 10 µs; its runs are numbered
/// from 1.
pub(crate) fn result(given: &[GivenMeans]) -> (Manifest, Facts) {
    let (mut benchmarks, mut runs) = (Vec::<MicroBenchmark>::new(), Vec::new());
    for (benchmark, experiment, means) in given {
        let mut of_experiment = Vec::new();
        for (value, ms) in *means {
            let id = u32::try_from(runs.len()).unwrap() + 1;
            of_experiment.push(Run { value: *value, ..run(id, 1024) });
            runs.push(facts_of_run(id, Estimate::symmetric(ms * MS, Some(1e4))));
        }
        let found = experiment_of(experiment, of_experiment);
        match benchmarks.iter_mut().find(|other| other.name == *benchmark) {
            Some(other) => other.experiments.push(found),
            None => benchmarks.push(micro_benchmark(benchmark, vec![found])),
        }
    }
    let manifest = manifest(benchmarks);
    let characteristics = Means::of(&manifest, &runs, &[]).characteristics();
    let facts = Facts { characteristics, runs, ..no_facts() };
    (manifest, facts)
}

/// Returns the means of the result that [`result`] creates.
pub(crate) fn means(given: &[GivenMeans]) -> Means {
    let (manifest, facts) = result(given);
    Means::of(&manifest, &facts.runs, &facts.repeats)
}

/// Returns empty facts.
pub(crate) fn no_facts() -> Facts {
    Facts {
        schema_version: SCHEMA_VERSION,
        conclusions: vec![],
        depths: vec![],
        characteristics: Default::default(),
        runs: vec![],
        repeats: vec![],
        rounds: None,
        grid: vec![],
        hints: vec![],
        baselines: None,
        verdicts_withheld: None,
    }
}

fn facts_of_run(run: u32, mean: Estimate) -> RunFacts {
    RunFacts {
        run,
        ios: 1024,
        errors: 0,
        ignored: 0,
        latency_ns: Latency {
            mean,
            standard_deviation: 0.0,
            min: 1,
            max: 1,
            p50: 1,
            p99: 1,
            p999: 1,
        },
        parts: vec![],
        operations: vec![],
        open_loop: None,
        service_ns: None,
        uniform: None,
        duration_ns: Nanos(1),
        throughput_bytes_per_s: 1.0,
        harness_share: None,
        disturbed_by: vec![],
    }
}

/// Returns a completed run of `ios` IOs.
pub(crate) fn run(id: u32, ios: u64) -> Run {
    let pattern = Pattern {
        op: Op::Write,
        address: Address::Random,
        timing: Timing::Consecutive,
        io_size: Bytes(512),
        io_shift: Bytes(0),
        target_offset: Bytes(0),
        target_size: Bytes::MIB,
        io_count: ios,
        io_ignore: 0,
        seed: 0,
    };
    let run = Run::new(id, i64::from(id), Reference::Basic { pattern });
    Run { progress: Progress::Done { ios }, ..run }
}

pub(crate) fn experiment_of(name: &str, runs: Vec<Run>) -> Experiment {
    Experiment { name: name.into(), runs }
}

pub(crate) fn micro_benchmark(name: &str, experiments: Vec<Experiment>) -> MicroBenchmark {
    MicroBenchmark {
        name: name.into(),
        title: name.into(),
        question: String::new(),
        parameter: String::new(),
        unit: Unit::Count,
        experiments,
    }
}

pub(crate) fn manifest(micro_benchmarks: Vec<MicroBenchmark>) -> Manifest {
    Manifest::new(
        Tool { version: "1".into(), commit: None },
        Machine {
            processor: String::new(),
            processors: 1,
            memory_bytes: Bytes(0),
            kernel: String::new(),
        },
        Calibration {
            clock_resolution_ns: Nanos(1),
            clock_cost_ns: Nanos(1),
            harness_cost_ns: None,
        },
        DeviceInfo::new(("sim:scripted", DeviceKind::Sim), (Bytes::gib(4), Bytes(512)), 1),
        Options {
            setup: Setup::paper(Bytes::gib(4), 0),
            state: State::Keep,
            spare: None,
            run_pause_ns: Nanos(0),
            on_error: OnError::Stop,
            methodology: Methodology::default(),
            rounds: None,
            grid: None,
        },
        micro_benchmarks,
        "2026-01-01T00:00:00Z".into(),
    )
}
