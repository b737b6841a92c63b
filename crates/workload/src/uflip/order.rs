use super::{Address, Baseline, Experiment, MicroBenchmark, Setup, Unit};
use super::{powers_of_two, vary};

/// Measures the cost of reverse order, of rewriting in place and of gaps.
///
/// Table 1: Incr in [−1, 0, 2⁰, …, 2⁸], sequential patterns only.
pub(super) const ORDER: MicroBenchmark = MicroBenchmark {
    name: "order",
    title: "Order",
    question: "What do reverse order, rewriting in place and gaps cost?",
    source: "uFLIP section 3.2 (5) and Table 1",
    parameter: "Incr",
    unit: Unit::Count,
    experiments,
};

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let experiment = |baseline| {
        vary(setup, baseline, [-1, 0].into_iter().chain(powers_of_two(8)), |pattern, incr| {
            pattern.address = Address::Ordered { incr };
            let slots = pattern.io_count.saturating_mul(incr.unsigned_abs().max(1));
            pattern.target_size = setup.span(slots, pattern.io_size);
        })
    };
    Baseline::SEQUENTIAL.into_iter().map(experiment).collect()
}
