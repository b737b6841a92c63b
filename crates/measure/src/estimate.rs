//! Estimates the cost of a plan.

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_document::manifest::{MicroBenchmark, Options, Progress, Run, State};
use flashscope_document::plan::{Amount, Cost, Costs, Estimate};
use flashscope_stats::MIN_COUNT;
use flashscope_workload::job::{Job, JobAddresses};
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing, UniformWrites};
use flashscope_workload::state::{LARGEST_FILL_IO, MEAN_RANDOM_FILL_IO};

use crate::state::{StateSize, rest_after_state};

/// The case to estimate, for runs that end when their mean is known.
#[derive(Debug, Clone, Copy)]
enum Case {
    /// Runs end at the first check.
    Least,
    /// Runs end after twice the IOs of the first check.
    Expected,
    /// Runs end at their caps.
    Most,
}

/// Estimates `plan` from the cost of each kind of IO.
pub fn estimate(plan: &[MicroBenchmark], options: &Options, costs: &Costs) -> Estimate {
    let runs = || {
        let runs = plan.iter().flat_map(|benchmark| {
            let runs = benchmark.experiments.iter().flat_map(|e| &e.runs);
            runs.map(|run| (benchmark.prepares(), run))
        });
        runs.filter(|(_, run)| run.progress == Progress::Pending)
    };
    let states = match options.state {
        State::Keep => 0,
        _ => 1 + runs().filter(|(_, run)| run.reset).count() as u64,
    };
    let amount = |case| {
        let parts = runs().map(|(prepares, run)| of_run(run, prepares, options, costs, case));
        let states = (0..states).map(|_| of_state(options, costs));
        parts.chain(states).fold(Amount::default(), add)
    };
    Estimate {
        runs: runs().count() as u64,
        states,
        min: amount(Case::Least),
        expected: amount(Case::Expected),
        max: amount(Case::Most),
        costs: *costs,
        endurance_share: None,
    }
}

fn add(a: Amount, b: Amount) -> Amount {
    Amount {
        ios: a.ios + b.ios,
        bytes_written: a.bytes_written + b.bytes_written,
        time_ns: Nanos(a.time_ns.0.saturating_add(b.time_ns.0)),
    }
}

/// Returns the cost of bringing the drive into its state once.
fn of_state(options: &Options, costs: &Costs) -> Amount {
    let size = StateSize::of(options).written;
    let (cost, io) = match (options.state, options.spare) {
        // No one can predict how long a drive takes to erase itself.
        (State::Keep | State::Purged | State::Formatted | State::Sanitized, _) => {
            return Amount::default();
        }
        (State::Sequential, _) => (costs.sequential_write, LARGEST_FILL_IO),
        (State::Steady, Some(spare)) => (costs.random_write, spare.page),
        (State::Random | State::Steady, _) => (costs.random_write, MEAN_RANDOM_FILL_IO),
    };
    let ios = size.0.div_ceil(io.0);
    let took = nanos(whole(ios) * cost.of(io));
    let rest = rest_after_state(took, options.run_pause_ns);
    Amount { ios: 0, bytes_written: size, time_ns: took + rest }
}

fn of_run(run: &Run, prepares: bool, options: &Options, costs: &Costs, case: Case) -> Amount {
    let methodology = &options.methodology;
    let planned = run.reference.io_count();
    let ios = match (case, &run.reference, &options.grid) {
        _ if prepares || methodology.precision.is_none() => planned,
        (Case::Most, ..) => planned,
        (_, Reference::Uniform { writes }, Some(rule)) => {
            let more = if matches!(case, Case::Least) { 0 } else { 2 };
            rule.ios_in(rule.windows + rule.least_counted + more, writes)
        }
        (Case::Least, reference, _) => least_ios(reference).min(planned),
        (Case::Expected, reference, _) => (2 * least_ios(reference)).min(planned),
    };
    let shares = shares(&run.reference);
    let one: f64 = shares.iter().map(|(pattern, share)| share * time(pattern, costs)).sum();
    // With several IOs in flight, `Case::Least` assumes that the drive serves them one after the
    // other. The other cases assume that it serves all of them at once.
    let time = match (&run.reference, case) {
        (Reference::Blend { .. } | Reference::Jobs { .. }, Case::Expected | Case::Most) => {
            one / f64::from(run.reference.in_flight())
        }
        _ => one,
    };
    let written = |(pattern, share): &(Pattern, f64)| match pattern.op {
        Op::Write => share * whole(pattern.io_size.0),
        _ => 0.0,
    };
    let bytes: f64 = shares.iter().map(written).sum();
    // The cap that is reached first ends the run.
    let max_time = methodology.most_run_time_ns.into_iter().chain(run.reference.time()).min();
    let time_allowed = max_time.map_or(1.0, |most| ratio(most.0, time * whole(ios)));
    let bytes_allowed =
        methodology.most_run_bytes.map_or(1.0, |most| ratio(most.0, bytes * whole(ios)));
    let done = whole(ios) * time_allowed.min(bytes_allowed);
    Amount {
        ios: rounded(done),
        bytes_written: Bytes(rounded(done * bytes)),
        time_ns: nanos(done * time + whole(options.run_pause_ns.0)),
    }
}

/// Returns the number of IOs up to the first check of how well the mean is known.
fn least_ios(reference: &Reference) -> u64 {
    let per_second = match reference {
        Reference::Mixed { ratio, .. } => ratio + 1,
        _ => 1,
    };
    (MIN_COUNT as u64).saturating_mul(per_second)
}

/// Returns the patterns of a reference, each with its share of the IOs.
fn shares(reference: &Reference) -> Vec<(Pattern, f64)> {
    match reference {
        Reference::Mixed { first, second, ratio } => {
            let of_second = 1.0 / whole(ratio + 1);
            vec![(*first, 1.0 - of_second), (*second, of_second)]
        }
        Reference::Blend { pattern, reads_percent, .. } => {
            let reads = f64::from(*reads_percent) / 100.0;
            vec![(Pattern { op: Op::Read, ..*pattern }, reads), (*pattern, 1.0 - reads)]
        }
        Reference::Jobs { jobs, .. } => shares_of_jobs(jobs),
        // The cost of these writes is linear in their length, so the mean length stands for all.
        Reference::Uniform { writes } => vec![(mean_write(writes), 1.0)],
        _ => {
            let all = whole(reference.io_count().max(1));
            let patterns = reference.patterns().into_iter();
            let count = patterns.len();
            let share = |pattern: &Pattern| match count {
                1 => 1.0,
                _ => whole(pattern.io_count) / all,
            };
            patterns.map(|pattern| (*pattern, share(pattern))).collect()
        }
    }
}

/// Returns a pattern of the mean size for each operation of each job, with its share of the IOs.
/// Jobs that end by their time count as equally many IOs.
fn shares_of_jobs(jobs: &[Job]) -> Vec<(Pattern, f64)> {
    let counts: Vec<f64> = jobs.iter().map(|job| whole(job.max_total_ios())).collect();
    let all: f64 = counts.iter().sum();
    let of_job = |(job, count): (&Job, f64)| {
        let address = match job.places {
            JobAddresses::Sequential => Address::Sequential,
            _ => Address::Random,
        };
        let timing = match job.think {
            None => Timing::Consecutive,
            Some(think) => Timing::Burst { pause: think.pause, burst: think.ios },
        };
        let pattern = move |(op, io_size, share): (Op, Bytes, f64)| {
            let pattern = Pattern {
                op,
                address,
                timing,
                io_size,
                io_shift: Bytes(0),
                target_offset: job.target_offset,
                target_size: job.target_size,
                io_count: job.max_total_ios(),
                io_ignore: 0,
                seed: job.seed,
            };
            (pattern, share * count / all)
        };
        job.mix().into_iter().map(pattern).collect::<Vec<_>>()
    };
    jobs.iter().zip(counts).flat_map(of_job).collect()
}

/// Returns a pattern of random writes of the mean length.
fn mean_write(writes: &UniformWrites) -> Pattern {
    Pattern {
        op: Op::Write,
        address: Address::Random,
        timing: Timing::Consecutive,
        io_size: writes.mean_bytes(),
        io_shift: Bytes(0),
        target_offset: writes.target_offset,
        target_size: writes.target_size,
        io_count: writes.io_count,
        io_ignore: writes.io_ignore,
        seed: writes.seed,
    }
}

/// Returns the time of an IO of a pattern in ns, including its share of the pauses.
fn time(pattern: &Pattern, costs: &Costs) -> f64 {
    let cost: Cost = match (pattern.op, pattern.address) {
        (Op::Read | Op::Flush, _) => costs.read,
        (_, Address::Random) => costs.random_write,
        (_, _) => costs.sequential_write,
    };
    let pause = match pattern.timing {
        Timing::Consecutive => 0.0,
        Timing::Pause { pause } => whole(pause.0),
        Timing::Burst { pause, burst } => whole(pause.0) / whole(burst.max(1)),
    };
    cost.of(pattern.io_size) + pause
}

/// Returns the share of `wanted` that `most` allows, at most 1.
fn ratio(most: u64, wanted: f64) -> f64 {
    if wanted > 0.0 { (whole(most) / wanted).min(1.0) } else { 1.0 }
}

#[allow(clippy::cast_precision_loss)] // an estimate tolerates rounding
fn whole(number: u64) -> f64 {
    number as f64
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

fn nanos(ns: f64) -> Nanos {
    Nanos(rounded(ns))
}
