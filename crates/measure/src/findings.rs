//! Derives findings from the preparation and applies them to the runs after it (uFLIP sections 4.2
//! and 4.3).

use flashscope_block::{Nanos, Op};
use flashscope_document::manifest::{Progress, Run};
use flashscope_document::methodology::{
    BaselinePhases, EndedBy, Findings, Interference, Obstacle, PhaseLength, Precision,
    PreparationQuantity, Unknown,
};
use flashscope_stats::{Phases, lingering, min_length};
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};
use flashscope_workload::uflip::{Baseline, INTERFERENCE};

/// IOIgnore relative to the start-up phase, whose length is known within 5 %.
const IGNORE_MARGIN: f64 = 1.1;

/// The pause between runs relative to the time for which writes linger.
pub const PAUSE_MARGIN: u64 = 2;

/// The shortest pause between runs: the paper's value for drives whose writes do not linger
/// (section 5.1).
pub const MIN_RUN_PAUSE: Nanos = Nanos::secs(1);

/// The longest common multiple of two periods to use, in IOs. Above it, the longer of the two
/// periods is used.
const LONGEST_JOINT_PERIOD: u64 = 4096;

/// Adds the findings of a preparation run, from its response times in ns.
pub(crate) fn learn(findings: &mut Findings, experiment: &str, run: &Run, series: &[f64]) {
    if experiment == INTERFERENCE {
        let least = run_pause(findings).unwrap_or(MIN_RUN_PAUSE);
        findings.interference.extend(interference(run, series, least));
    }
    if let Some(baseline) = Baseline::ALL.into_iter().find(|baseline| baseline.name() == experiment)
    {
        let Phases { start_up, period } = Phases::of(series);
        let start_up =
            start_up.map(|s| PhaseLength { ios: s.ios as u64, confidence: s.confidence });
        let period = period.map(|p| PhaseLength { ios: p.ios as u64, confidence: p.confidence });
        let ignored = start_up.map_or(0, |found| with_margin(found.ios));
        let ignored = usize::try_from(ignored).unwrap_or(usize::MAX);
        let running = series.get(ignored..).unwrap_or_default();
        let least_ios = min_length(running, Precision::default().relative).map(|n| n as u64);
        findings.phases.push(BaselinePhases { baseline, run: run.id, start_up, period, least_ios });
        let place = |of: Baseline| Baseline::ALL.iter().position(|baseline| *baseline == of);
        findings.phases.sort_by_key(|phases| place(phases.baseline));
    }
}

/// Returns what a preparation run could not show, after its findings were added.
pub(crate) fn unknown(findings: &Findings, experiment: &str, run: &Run) -> Option<Unknown> {
    let because = match run.progress {
        Progress::Failed { .. } => Some(Obstacle::Failure),
        Progress::Skipped { .. } if run.cut_from_ios.is_some() => Some(Obstacle::Space),
        Progress::Skipped { .. } => Some(Obstacle::Budget),
        _ => run.length.and_then(|length| match length.ended_by {
            EndedBy::Time => Some(Obstacle::Time),
            EndedBy::Bytes => Some(Obstacle::Bytes),
            EndedBy::Space => Some(Obstacle::Space),
            EndedBy::Ios | EndedBy::Precision => None,
        }),
    };
    let look = findings.interference.iter().find(|look| look.run == run.id);
    let (quantity, because, assumed) = if experiment == INTERFERENCE {
        let pause = run_pause(findings).unwrap_or(MIN_RUN_PAUSE);
        match (look, because) {
            (None, because) => {
                let assumed = format!("pauses of {pause} between runs are enough");
                (PreparationQuantity::Interference, because.unwrap_or(Obstacle::Noise), assumed)
            }
            (Some(look), because) if !look.settled => {
                let assumed = format!("writes linger for {}, or longer", look.lasted_ns);
                (PreparationQuantity::Interference, because.unwrap_or(Obstacle::Noise), assumed)
            }
            (Some(_), None) => return None,
            (Some(_), Some(because)) => {
                let assumed = format!("pauses of {pause} between runs are enough");
                (PreparationQuantity::Interference, because, assumed)
            }
        }
    } else {
        let assumed = match run.progress.ios() {
            0 => "there is no start-up phase and no period".to_string(),
            ios => format!("no start-up phase or period extends beyond the {ios} IOs of the run"),
        };
        (PreparationQuantity::Phases, because?, assumed)
    };
    let experiment = experiment.to_string();
    Some(Unknown { quantity, experiment, run: run.id, because, assumed })
}

/// Excludes the start-up phase of a preparation run from its own statistics.
pub(crate) fn ignore_start_up(findings: &Findings, run: &mut Run) {
    let of_run = findings.phases.iter().find(|phases| phases.run == run.id);
    let start_up = of_run.and_then(|phases| phases.start_up);
    if let (Some(found), Reference::Basic { pattern }) = (start_up, &mut run.reference) {
        pattern.io_ignore = with_margin(found.ios);
    }
}

/// Returns how long writes slow down the reads after them, and the pause between runs derived from
/// that time, at least `least`.
fn interference(run: &Run, series: &[f64], least: Nanos) -> Option<Interference> {
    let Reference::Sequence { patterns } = &run.reference else { return None };
    let ends: Vec<usize> =
        patterns.iter().map(|p| usize::try_from(p.io_count).unwrap_or(usize::MAX)).collect();
    let [before, writes, _] = ends[..] else { return None };
    let (before, after) = (series.get(..before)?, series.get(before + writes..)?);
    let lingering = lingering(before, after);
    let affected = lingering.map_or(0, |found| found.ios);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // far below 2^64 ns
    let lasted_ns = Nanos(after[..affected].iter().sum::<f64>() as u64);
    Some(Interference {
        run: run.id,
        reads: lingering.map(|l| PhaseLength { ios: l.ios as u64, confidence: l.confidence }),
        lasted_ns,
        settled: lingering.is_none_or(|found| found.settled),
        run_pause_ns: least.max(Nanos(PAUSE_MARGIN * lasted_ns.0)),
    })
}

/// Returns the pause between runs; `None` while it is not known.
pub(crate) fn run_pause(findings: &Findings) -> Option<Nanos> {
    findings.interference.last().map(|found| found.run_pause_ns)
}

/// Sets the IOIgnore of a run to cover the start-up phases of its operations, and extends the run
/// by as many IOs. The start-up phases are upper bounds across the baselines, as in the paper:
/// writes in another order may behave like random writes.
pub(crate) fn adapt(findings: &Findings, run: &mut Run) {
    let ops: Vec<Op> = run.reference.patterns().iter().map(|pattern| pattern.op).collect();
    let start_up = start_up(findings, &ops);
    let adapt = |pattern: &mut Pattern, start_up: u64| {
        let counted = pattern.io_count - pattern.io_ignore;
        (pattern.io_count, pattern.io_ignore) = (counted + start_up, start_up);
    };
    match &mut run.reference {
        Reference::Basic { pattern } | Reference::Parallel { pattern, .. } => {
            adapt(pattern, start_up);
        }
        // The second pattern of a mix determines the IOs that count. If the first pattern has the
        // same operation, its IOs are a part of the start-up phase, too.
        Reference::Mixed { first, second, ratio } => {
            let of_both = if first.op == second.op { ratio.saturating_add(1) } else { 1 };
            adapt(second, start_up.div_ceil(of_both));
        }
        Reference::Sequence { .. }
        | Reference::Blend { .. }
        | Reference::Uniform { .. }
        | Reference::Jobs { .. }
        | Reference::Trace { .. } => {}
    }
}

/// Returns the number of IOs that covers every start-up phase of the baselines with one of `ops`,
/// including the margin of an IOIgnore.
pub fn start_up(findings: &Findings, ops: &[Op]) -> u64 {
    let relevant = findings.phases.iter().filter(|phases| ops.contains(&phases.baseline.op()));
    let longest = relevant.filter_map(|phases| phases.start_up).map(|found| found.ios).max();
    longest.map_or(0, with_margin)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn with_margin(start_up: u64) -> u64 {
    (start_up as f64 * IGNORE_MARGIN).ceil() as u64
}

/// Returns the known period, in IOs, of a run's response times; 1 if they do not oscillate.
pub(crate) fn period(findings: &Findings, reference: &Reference) -> u64 {
    let of = |pattern: &Pattern| joint(oscillation(findings, pattern), cycle(pattern));
    match reference {
        Reference::Basic { pattern } | Reference::Parallel { pattern, .. } => of(pattern),
        Reference::Mixed { second, ratio, .. } => (ratio + 1).saturating_mul(of(second)),
        Reference::Sequence { .. }
        | Reference::Blend { .. }
        | Reference::Uniform { .. }
        | Reference::Jobs { .. }
        | Reference::Trace { .. } => 1,
    }
}

/// Returns the minimum number of counted IOs of a run, as the preparation found it; 0 if it found
/// none.
pub(crate) fn least_ios(findings: &Findings, reference: &Reference) -> u64 {
    let of = |pattern: &Pattern| {
        phases_of(findings, pattern).and_then(|phases| phases.least_ios).unwrap_or(0)
    };
    match reference {
        Reference::Basic { pattern } | Reference::Parallel { pattern, .. } => of(pattern),
        Reference::Mixed { second, ratio, .. } => of(second).saturating_mul(ratio + 1),
        Reference::Sequence { .. }
        | Reference::Blend { .. }
        | Reference::Uniform { .. }
        | Reference::Jobs { .. }
        | Reference::Trace { .. } => 0,
    }
}

/// Returns the period of the baseline that a pattern derives from.
fn oscillation(findings: &Findings, pattern: &Pattern) -> u64 {
    phases_of(findings, pattern).and_then(|phases| phases.period).map_or(1, |found| found.ios)
}

/// Returns the phases of the baseline that a pattern derives from.
fn phases_of<'f>(findings: &'f Findings, pattern: &Pattern) -> Option<&'f BaselinePhases> {
    let random = pattern.address == Address::Random;
    let same = |phases: &&BaselinePhases| {
        (phases.baseline.op(), phases.baseline.is_random()) == (pattern.op, random)
    };
    findings.phases.iter().find(same)
}

/// Returns the period inherent in a pattern: its bursts and partitions.
fn cycle(pattern: &Pattern) -> u64 {
    let in_time = match pattern.timing {
        Timing::Burst { burst, .. } => burst,
        Timing::Consecutive | Timing::Pause { .. } => 1,
    };
    match pattern.address {
        Address::Partitioned { partitions } => joint(in_time, partitions),
        _ => in_time,
    }
}

/// Returns the least common multiple, or the longer period if the multiple is too long.
fn joint(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let multiple = a / divisor.max(1) * b;
    if multiple <= LONGEST_JOINT_PERIOD { multiple } else { a.max(b) }
}
