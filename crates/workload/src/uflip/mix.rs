use flashscope_block::Bytes;

use super::Baseline::{self, RandomRead, RandomWrite, SequentialRead, SequentialWrite};
use super::{Experiment, MicroBenchmark, Run, Setup, Unit};
use super::{powers_of_two, unsigned};
use crate::pattern::Reference;

/// Measures whether two patterns disturb each other.
///
/// Table 1: the six pairs of baselines, Ratio (#1/#2) in [2⁰, …, 2⁶]. Pattern #1 has the first half
/// of the target space and pattern #2 the second half. Neither pattern therefore reads what the
/// other wrote.
pub(crate) const MIX: MicroBenchmark = MicroBenchmark {
    name: "mix",
    title: "Mix",
    question: "How does a mix of two patterns differ from each alone?",
    source: "uFLIP section 3.2 (7) and Table 1",
    parameter: "Ratio",
    unit: Unit::Count,
    experiments,
};

const PAIRS: [(Baseline, Baseline); 6] = [
    (SequentialRead, RandomRead),
    (SequentialRead, RandomWrite),
    (SequentialRead, SequentialWrite),
    (RandomRead, SequentialWrite),
    (RandomRead, RandomWrite),
    (SequentialWrite, RandomWrite),
];

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let half = Bytes(setup.target_size.0 / 2).round_down(setup.io_size);
    let lower = Setup { target_size: half, ..setup.clone() };
    let target_offset = Bytes(setup.target_offset.0 + half.0);
    let upper = Setup { target_offset, ..lower.clone() };
    let run = |(first, second), value| {
        let (first, second) = (lower.baseline(first), upper.baseline(second));
        Run { value, reference: Reference::Mixed { first, second, ratio: unsigned(value) } }
    };
    let experiment = |pair: (Baseline, Baseline)| Experiment {
        name: format!("{}/{}", pair.0.name(), pair.1.name()),
        runs: powers_of_two(6).map(|ratio| run(pair, ratio)).collect(),
    };
    PAIRS.into_iter().map(experiment).collect()
}
