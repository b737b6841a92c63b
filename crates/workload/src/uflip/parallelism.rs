use super::{Baseline, Experiment, MicroBenchmark, Run, Setup, Unit};
use super::{powers_of_two, unsigned};
use crate::pattern::Reference;

/// Measures whether the drive serves several processes at once.
///
/// Table 1: ParallelDegree in [2⁰, …, 2⁴].
pub(crate) const PARALLELISM: MicroBenchmark = MicroBenchmark {
    name: "parallelism",
    title: "Parallelism",
    question: "What do concurrent IOs gain?",
    source: "uFLIP section 3.2 (6) and Table 1",
    parameter: "ParallelDegree",
    unit: Unit::Count,
    experiments,
};

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let run = |baseline, value| {
        let degree = u16::try_from(unsigned(value)).expect("at most 16");
        Run { value, reference: Reference::Parallel { pattern: setup.baseline(baseline), degree } }
    };
    let experiment = |baseline: Baseline| Experiment {
        name: baseline.name().into(),
        runs: powers_of_two(4).map(|degree| run(baseline, degree)).collect(),
    };
    Baseline::ALL.into_iter().map(experiment).collect()
}
