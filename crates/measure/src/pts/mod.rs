//! The tests of the Solid State Storage Performance Test Specification (SNIA SSS PTS 2.0), as far
//! as they are ready plans: IOPS, throughput, latency and write saturation.
//!
//! Each purges the drive, writes all of it twice in sequence where the specification asks for that
//! (*workload-independent preconditioning*), and then repeats a round of runs of one minute until
//! what it tracks is steady. Of the two variants of the specification this is the one for enterprise
//! drives: all of the drive is used.

mod iops;
mod latency;
mod saturation;
mod throughput;

use flashscope_block::{Bytes, DeviceInfo, Nanos, Op};
use flashscope_result::manifest::{Experiment, MicroBenchmark, Options, Progress, Run};
use flashscope_result::plan::{Costs, Estimate};
use flashscope_result::rounds::{Metric, Rounds};
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

/// Finds a test by its name.
pub fn find(name: &str) -> Option<&'static Test> {
    TESTS.into_iter().find(|test| test.name == name)
}

/// How long each run of a round is.
pub const ROUND: Nanos = Nanos::secs(60);

/// How many IOs are in flight, where a test leaves that to its operator: 32 for each of four threads,
/// as recommended.
pub const QUEUE_DEPTH: u32 = 128;

/// After so many rounds it is given up that the drive becomes steady.
#[allow(clippy::cast_possible_truncation, reason = "a small constant")]
const MOST_ROUNDS: u32 = PTS.most as u32;

/// The IOs of the preconditioning.
const PRECONDITIONING_IO: Bytes = Bytes::kib(128);

/// More IOs than any drive answers in a run: time ends it.
const ENDLESS: u64 = 1_000_000_000_000;

/// The name of the micro-benchmark that writes the drive before the rounds.
pub const PRECONDITIONING: &str = "preconditioning";

/// A test of the specification.
#[derive(Debug)]
pub struct Test {
    /// How it is named on the command line and in results.
    pub name: &'static str,
    /// How it is named to people.
    pub title: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// How often the whole target space is written in sequence before the first round.
    preconditioning: u32,
    /// Where its IOs go.
    address: Address,
    /// The shares of reads in percent, in the order of a round.
    reads_percent: &'static [u8],
    /// The sizes of IOs for each of them, in the order of a round.
    sizes: &'static [Bytes],
    /// How many IOs are in flight; `None` where that is the choice of its operator.
    queue_depth: Option<u32>,
    /// What is tracked: shares of reads and sizes.
    tracked: &'static [(u8, Bytes)],
    /// What of it.
    metric: Metric,
    /// Rounds at most.
    pub most_rounds: u32,
    /// Whether it ends as soon as the drive is steady.
    until_steady: bool,
    /// It ends when its rounds have written the target space so many times.
    most_capacities: Option<u64>,
}

/// What the operator of a test chooses.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// How long each run of a round is.
    pub round: Nanos,
    /// How many IOs are in flight; `None` for as many as recommended, or as the drive takes.
    pub queue_depth: Option<u32>,
    /// Rounds at most; `None` for as many as the specification has.
    pub most_rounds: Option<u32>,
}

/// More IOs are to be in flight than there can be.
#[derive(Debug, thiserror::Error)]
#[error("QueueDepth = {wanted}: {}", match most {
    1 => "there is one IO in flight at most".to_string(),
    most => format!("there are {most} IOs in flight at most"),
})]
pub struct TooDeep {
    wanted: u32,
    most: u32,
}

impl Test {
    /// The largest IO.
    pub fn largest_io(&self) -> Bytes {
        self.sizes.iter().copied().fold(PRECONDITIONING_IO, Bytes::max)
    }

    /// How many IOs the drive has to take at once, if it can.
    pub fn deepest(&self, wanted: Option<u32>) -> u32 {
        wanted.filter(|_| self.queue_depth.is_none()).unwrap_or(QUEUE_DEPTH)
    }

    /// How many IOs are in flight on a drive that takes `most`.
    ///
    /// # Errors
    /// Where more are wanted than the test or the drive allows.
    pub fn depth(&self, wanted: Option<u32>, most: u32) -> Result<u32, TooDeep> {
        let most = self.queue_depth.map_or(most, |fixed| fixed.min(most));
        match wanted {
            Some(wanted) if wanted > most => Err(TooDeep { wanted, most }),
            Some(wanted) => Ok(wanted),
            None => Ok(QUEUE_DEPTH.min(most)),
        }
    }

    /// The rule and the runs of the test on a drive, round after round. What the drive cannot do is
    /// skipped with the reason, and not tracked.
    ///
    /// # Errors
    /// As [`Test::depth`].
    pub fn plan(
        &self,
        setup: &Setup,
        choice: Choice,
        device: &DeviceInfo,
    ) -> Result<(Rounds, Vec<MicroBenchmark>), TooDeep> {
        let depth = self.depth(choice.queue_depth, device.queue_depth)?;
        let mut planner = Planner { setup, device, id: 0 };
        // How the drive is written first does not depend on how it is measured then.
        let deep = self.queue_depth.map_or(depth, |_| QUEUE_DEPTH.min(device.queue_depth));
        let first = self.preconditioning(deep, &mut planner);
        let most = choice.most_rounds.unwrap_or(self.most_rounds);
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
            most_bytes: self.most_capacities.map(|times| Bytes(times * setup.target_size.0)),
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

    /// The runs of each share and size in all rounds, numbered in the order of execution.
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

    /// The workload-independent preconditioning, where there is one.
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

/// The experiment with a share of reads and a size, as `65/35 64 KiB` (reads/writes).
fn name(reads_percent: u8, size: Bytes) -> String {
    format!("{reads_percent}/{} {size}", 100 - reads_percent)
}

/// Numbers runs in the order of execution.
struct Planner<'a> {
    setup: &'a Setup,
    device: &'a DeviceInfo,
    id: u32,
}

impl Planner<'_> {
    /// Writes on the whole target space, with random addresses of the next run's own.
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

/// What a test takes: one that ends when the drive is steady as many rounds as are looked at together
/// at least; one that ends when enough is written those that write it, and all where writes take
/// longer than they are taken to.
pub fn estimate_rounds(plan: &[MicroBenchmark], options: &Options, costs: &Costs) -> Estimate {
    let all = estimate(plan, options, costs);
    let Some(rule) = &options.rounds else { return all };
    let of = |rounds: i64| estimate(&first_rounds(plan, rule, rounds), options, costs);
    if rule.until_steady {
        return Estimate { least: of(rule.window.into()).least, ..all };
    }
    let Some(most) = rule.most_bytes else { return all };
    let [one, two] = [1, 2].map(|rounds| of(rounds).expected.bytes_written.0);
    let rounds = most.0.div_ceil(two.saturating_sub(one).max(1));
    let enough = of(i64::try_from(rounds).unwrap_or(i64::MAX));
    Estimate { least: enough.least, expected: enough.expected, ..all }
}

/// A plan with the first so many rounds alone.
fn first_rounds(plan: &[MicroBenchmark], rule: &Rounds, rounds: i64) -> Vec<MicroBenchmark> {
    let mut plan = plan.to_vec();
    let tests = plan.iter_mut().filter(|test| test.name == rule.test);
    let experiments = tests.flat_map(|test| &mut test.experiments);
    experiments.for_each(|e| e.runs.retain(|run| run.value <= rounds));
    plan
}

#[cfg(test)]
mod tests;
