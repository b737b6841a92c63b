//! The tests of the Solid State Storage Performance Test Specification (SNIA SSS PTS 2.0) that
//! exist as ready plans: IOPS, throughput, latency and write saturation.
//!
//! Each test purges the drive. If the specification requires it, the test then writes the whole
//! drive twice in sequence (*workload-independent preconditioning*). It then repeats a round of
//! one-minute runs until the tracked values are steady. This procedure is the specification's
//! variant for enterprise drives: it uses the whole drive.

mod iops;
mod latency;
mod saturation;
mod throughput;

use flashscope_block::{Bytes, DeviceInfo, Nanos, Op};
use flashscope_document::manifest::{Experiment, MicroBenchmark, Options, Progress, Run};
use flashscope_document::plan::{Costs, Estimate};
use flashscope_document::rounds::{Metric, Rounds};
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};
use flashscope_workload::seed_for;
use flashscope_workload::uflip::{Setup, Unit};

use crate::estimate::estimate;
use crate::plan::refusal;
use crate::steady::PTS;

/// The tests.
pub const TESTS: [&Test; 5] = [
    &iops::IOPS,
    &throughput::THROUGHPUT,
    &throughput::THROUGHPUT_128K,
    &latency::LATENCY,
    &saturation::SATURATION,
];

/// Returns the test of this name.
pub fn find(name: &str) -> Option<&'static Test> {
    TESTS.into_iter().find(|test| test.name == name)
}

/// The length of each run of a round.
pub(crate) const ROUND: Nanos = Nanos::secs(60);

/// The recommended IOs in flight, for tests that leave the number to the operator: 32 for each of
/// four threads.
pub const QUEUE_DEPTH: u32 = 128;

/// The number of rounds after which a test gives up waiting for a steady drive.
#[allow(clippy::cast_possible_truncation, reason = "the value is 25")]
const MAX_ROUNDS: u32 = PTS.most as u32;

/// The size of the IOs of the preconditioning.
const PRECONDITIONING_IO: Bytes = Bytes::kib(128);

/// More IOs than any drive completes in a run, so that time ends the run.
const ENDLESS: u64 = 1_000_000_000_000;

/// The name of the micro-benchmark that writes the drive before the rounds.
pub(crate) const PRECONDITIONING: &str = "preconditioning";

/// A test of the specification.
#[derive(Debug)]
pub struct Test {
    /// The name on the command line and in results.
    pub name: &'static str,
    /// The name shown to people.
    pub title: &'static str,
    /// The question that the test answers.
    pub question: &'static str,
    /// The section of the specification.
    pub source: &'static str,
    /// The number of sequential passes over the target space before the first round.
    preconditioning: u32,
    /// The order of the addresses.
    address: Address,
    /// The shares of reads in percent, in the order of a round.
    reads_percent: &'static [u8],
    /// The sizes of IOs for each share of reads, in the order of a round.
    sizes: &'static [Bytes],
    /// IOs in flight; `None` if the operator chooses.
    queue_depth: Option<u32>,
    /// The tracked experiments, as shares of reads and sizes.
    tracked: &'static [(u8, Bytes)],
    /// The metric to track.
    metric: Metric,
    /// Maximum number of rounds.
    pub max_rounds: u32,
    /// True if the test ends as soon as the drive is steady.
    until_steady: bool,
    /// The test ends when its rounds have written the target space this many times.
    max_capacities: Option<u64>,
}

/// The operator's settings of a test.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The length of each run of a round.
    pub round: Nanos,
    /// IOs in flight; `None` for the recommended number, limited to the queue depth of the drive.
    pub queue_depth: Option<u32>,
    /// Maximum number of rounds; `None` for the number in the specification.
    pub max_rounds: Option<u32>,
}

/// The error for a requested queue depth above the maximum of the test or the drive.
#[derive(Debug, thiserror::Error)]
#[error("QueueDepth = {wanted}: {}", match most {
    1 => "at most one IO can be in flight".to_string(),
    most => format!("at most {most} IOs can be in flight"),
})]
pub struct TooDeep {
    wanted: u32,
    most: u32,
}

impl Test {
    /// Returns the size of the largest IO.
    pub fn largest_io(&self) -> Bytes {
        self.sizes.iter().copied().fold(PRECONDITIONING_IO, Bytes::max)
    }

    /// Returns the queue depth to request of the drive.
    pub fn deepest(&self, wanted: Option<u32>) -> u32 {
        wanted.filter(|_| self.queue_depth.is_none()).unwrap_or(QUEUE_DEPTH)
    }

    /// Returns the number of IOs to keep in flight on a drive with a maximum queue depth of `most`.
    ///
    /// # Errors
    /// If `wanted` exceeds the maximum of the test or the drive.
    pub fn depth(&self, wanted: Option<u32>, most: u32) -> Result<u32, TooDeep> {
        let most = self.queue_depth.map_or(most, |fixed| fixed.min(most));
        match wanted {
            Some(wanted) if wanted > most => Err(TooDeep { wanted, most }),
            Some(wanted) => Ok(wanted),
            None => Ok(QUEUE_DEPTH.min(most)),
        }
    }

    /// Plans the test on a drive: its rule and its runs, round after round. Runs that the drive
    /// cannot do are skipped with the reason, and not tracked.
    ///
    /// # Errors
    /// See [`Test::depth`].
    pub fn plan(
        &self,
        setup: &Setup,
        choice: Choice,
        device: &DeviceInfo,
    ) -> Result<(Rounds, Vec<MicroBenchmark>), TooDeep> {
        let depth = self.depth(choice.queue_depth, device.queue_depth)?;
        let mut planner = Planner { setup, device, id: 0 };
        // The preconditioning does not depend on the queue depth of the measurement.
        let deep = self.queue_depth.map_or(depth, |_| QUEUE_DEPTH.min(device.queue_depth));
        let first = self.preconditioning(deep, &mut planner);
        let most = choice.max_rounds.unwrap_or(self.max_rounds);
        let experiments = self.experiments(depth, (most, choice.round), &mut planner);
        let possible = |name: &String| {
            let runs = experiments.iter().filter(|e| e.name == *name).flat_map(|e| &e.runs);
            runs.take(1).any(|run| run.progress == Progress::Pending)
        };
        let tracked = self.tracked.iter().map(|&(reads, size)| name(reads, size)).filter(possible);
        let rule = Rounds {
            test: self.name.into(),
            tracked: tracked.collect(),
            metric: self.metric,
            window: u32::try_from(PTS.windows).unwrap_or(u32::MAX),
            range: PTS.range,
            slope: PTS.slope,
            until_steady: self.until_steady,
            most_bytes: self.max_capacities.map(|times| Bytes(times * setup.target_size.0)),
            round_ns: choice.round,
            specified_round_ns: ROUND,
        };
        let rounds = MicroBenchmark {
            name: self.name.into(),
            title: self.title.into(),
            question: self.question.into(),
            parameter: "Round".into(),
            unit: Unit::Count,
            experiments,
        };
        Ok((rule, first.into_iter().chain([rounds]).collect()))
    }

    /// Plans the runs of each share and size in all rounds, numbered in the order of execution.
    fn experiments(
        &self,
        queue_depth: u32,
        (most, time): (u32, Nanos),
        planner: &mut Planner,
    ) -> Vec<Experiment> {
        let mixes = self.reads_percent.iter();
        let cells = mixes.flat_map(|&reads| self.sizes.iter().map(move |&size| (reads, size)));
        let cells: Vec<(u8, Bytes)> = cells.collect();
        let mut experiments: Vec<Experiment> = cells
            .iter()
            .map(|&(reads, size)| Experiment { name: name(reads, size), runs: vec![] })
            .collect();
        for round in 1..=most {
            for (experiment, &(reads_percent, size)) in experiments.iter_mut().zip(&cells) {
                let pattern = planner.pattern(self.address, size, ENDLESS);
                let op = if reads_percent == 100 { Op::Read } else { Op::Write };
                let pattern = Pattern { op, ..pattern };
                let time = Some(time);
                let reference = Reference::Blend { pattern, reads_percent, queue_depth, time };
                experiment.runs.push(planner.run(round.into(), reference));
            }
        }
        experiments
    }

    /// Plans the workload-independent preconditioning, if the test has one.
    fn preconditioning(&self, queue_depth: u32, planner: &mut Planner) -> Option<MicroBenchmark> {
        if self.preconditioning == 0 {
            return None;
        }
        let pattern = planner.pattern(Address::Sequential, PRECONDITIONING_IO, 0);
        let io_count = (u64::from(self.preconditioning) * pattern.slots()).max(1);
        let pattern = Pattern { io_count, ..pattern };
        let reference = Reference::Blend { pattern, reads_percent: 0, queue_depth, time: None };
        let run = planner.run(self.preconditioning.into(), reference);
        Some(MicroBenchmark {
            name: PRECONDITIONING.into(),
            title: "Preconditioning".into(),
            question: "How is the drive written before the rounds of a test?".into(),
            parameter: "Times".into(),
            unit: Unit::Count,
            experiments: vec![Experiment { name: "SW".into(), runs: vec![run] }],
        })
    }
}

/// Returns the name of the experiment with a share of reads and a size, such as `65/35 64 KiB`
/// (reads/writes).
fn name(reads_percent: u8, size: Bytes) -> String {
    format!("{reads_percent}/{} {size}", 100 - reads_percent)
}

/// Creates runs, numbered in the order of execution.
struct Planner<'a> {
    setup: &'a Setup,
    device: &'a DeviceInfo,
    id: u32,
}

impl Planner<'_> {
    /// Returns a pattern of writes on the whole target space, with the seed of the next run.
    fn pattern(&self, address: Address, io_size: Bytes, io_count: u64) -> Pattern {
        Pattern {
            op: Op::Write,
            address,
            timing: Timing::Consecutive,
            io_size,
            io_shift: Bytes(0),
            target_offset: self.setup.target_offset,
            target_size: self.setup.target_size,
            io_count,
            io_ignore: 0,
            seed: seed_for(self.setup.seed, (self.id + 1).into()),
        }
    }

    fn run(&mut self, value: i64, reference: Reference) -> Run {
        self.id += 1;
        let end = self.setup.target_offset + self.setup.target_size;
        let progress = match refusal(&reference, self.device, end, false) {
            Some(reason) => Progress::Skipped { reason },
            None => Progress::Pending,
        };
        Run { progress, ..Run::new(self.id, value, reference) }
    }
}

/// Estimates the cost of a test.
///
/// A test that ends when the drive is steady takes at least one window of rounds. A test that ends
/// after enough bytes takes the rounds that write them; if writes are slower than assumed, it takes
/// all rounds.
pub fn estimate_rounds(plan: &[MicroBenchmark], options: &Options, costs: &Costs) -> Estimate {
    let all = estimate(plan, options, costs);
    let Some(rule) = &options.rounds else { return all };
    let of = |rounds: i64| estimate(&first_rounds(plan, rule, rounds), options, costs);
    if rule.until_steady {
        return Estimate { min: of(rule.window.into()).min, ..all };
    }
    let Some(most) = rule.most_bytes else { return all };
    let [one, two] = [1, 2].map(|rounds| of(rounds).expected.bytes_written.0);
    let rounds = most.0.div_ceil(two.saturating_sub(one).max(1));
    let enough = of(i64::try_from(rounds).unwrap_or(i64::MAX));
    Estimate { min: enough.min, expected: enough.expected, ..all }
}

/// Returns the plan limited to its first `rounds` rounds.
fn first_rounds(plan: &[MicroBenchmark], rule: &Rounds, rounds: i64) -> Vec<MicroBenchmark> {
    let mut plan = plan.to_vec();
    let tests = plan.iter_mut().filter(|test| test.name == rule.test);
    let experiments = tests.flat_map(|test| &mut test.experiments);
    experiments.for_each(|e| e.runs.retain(|run| run.value <= rounds));
    plan
}

#[cfg(test)]
mod tests;
