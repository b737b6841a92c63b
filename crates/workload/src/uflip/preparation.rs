use super::Baseline::{self, RandomWrite, SequentialRead};
use super::{Experiment, MicroBenchmark, PerBaseline, Run, Setup, Unit, signed, vary};
use crate::pattern::{Pattern, Reference};

/// The measurements before all others: how the drive starts and oscillates (four long baselines),
/// and how long the effects of writes last (reads, writes, and reads again).
///
/// Each experiment has one run.
pub(super) const PREPARATION: MicroBenchmark = MicroBenchmark {
    name: "preparation",
    title: "Preparation",
    question: "How does the drive start, oscillate, and recover from writes?",
    source: "uFLIP sections 4.2 and 4.3",
    parameter: "IOCount",
    unit: Unit::Count,
    experiments,
};

/// The experiment of the preparation that shows how long writes linger: reads, writes, and reads
/// again.
pub const INTERFERENCE: &str = "SR-RW-SR";

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let count = setup.preparation_io_count;
    let setup = &Setup { io_count: PerBaseline::same(count), ..setup.clone() };
    let long = |baseline| vary(setup, baseline, [signed(count)], |_, _| {});
    let mut experiments: Vec<Experiment> = Baseline::ALL.into_iter().map(long).collect();
    experiments.push(interference(setup, count));
    experiments
}

/// Creates the experiment [`INTERFERENCE`] (section 4.3 and Figure 5). The first quarter of the IOs
/// are reads, the second quarter are writes. The second half are reads, which the writes may
/// affect.
fn interference(setup: &Setup, count: u64) -> Experiment {
    let part = |baseline, io_count| Pattern { io_count, ..setup.baseline(baseline) };
    let quarter = (count / 4).max(1);
    let patterns = vec![
        part(SequentialRead, quarter),
        part(RandomWrite, quarter),
        part(SequentialRead, 2 * quarter),
    ];
    let run = Run { value: signed(4 * quarter), reference: Reference::Sequence { patterns } };
    Experiment { name: INTERFERENCE.into(), runs: vec![run] }
}
