use super::{Address, Baseline, Experiment, MicroBenchmark, Setup, Unit};
use super::{powers_of_two, unsigned, vary};

/// Measures the number of partitions in which the drive can write (or read) sequentially at once.
///
/// Table 1: Partitions in [2⁰, …, 2⁸], sequential patterns only. The partitions divide the whole
/// target space; each partition therefore has its own flash blocks.
pub(crate) const PARTITIONING: MicroBenchmark = MicroBenchmark {
    name: "partitioning",
    title: "Partitioning",
    question: "Over how many partitions can sequential IOs alternate?",
    source: "uFLIP section 3.2 (4) and Table 1",
    parameter: "Partitions",
    unit: Unit::Count,
    experiments,
};

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let experiment = |baseline| {
        vary(setup, baseline, powers_of_two(8), |pattern, partitions| {
            pattern.address = Address::Partitioned { partitions: unsigned(partitions) };
            pattern.target_size = setup.target_size;
        })
    };
    Baseline::SEQUENTIAL.into_iter().map(experiment).collect()
}
