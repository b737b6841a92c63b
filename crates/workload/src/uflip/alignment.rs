use flashscope_block::Bytes;

use super::{Baseline, Experiment, MicroBenchmark, Setup, Unit};
use super::{powers_of_two, signed, unsigned, vary};

/// Measures the cost of IOs that are not aligned to their size.
///
/// Table 1: IOShift in [2⁰, …, IOSize/512] × 512 B. The text varies it "from 0 to IOSize". The runs
/// therefore include 0, the aligned pattern with which the other runs are compared.
pub(super) const ALIGNMENT: MicroBenchmark = MicroBenchmark {
    name: "alignment",
    title: "Alignment",
    question: "What is the penalty for badly aligned IOs?",
    source: "uFLIP section 3.2 (2) and Table 1",
    parameter: "IOShift",
    unit: Unit::Bytes,
    experiments,
};

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let shifts = || {
        let sectors = powers_of_two(62).take_while(|n| n * 512 <= signed(setup.io_size.0));
        std::iter::once(0).chain(sectors.map(|n| n * 512))
    };
    let experiment = |baseline| {
        vary(setup, baseline, shifts(), |pattern, shift| {
            pattern.io_shift = Bytes(unsigned(shift));
            // Adds room for the shift after the last IO, if the drive has this room.
            let room = setup.target_size;
            pattern.target_size = (pattern.target_size + pattern.io_shift).min(room);
        })
    };
    Baseline::ALL.into_iter().map(experiment).collect()
}
