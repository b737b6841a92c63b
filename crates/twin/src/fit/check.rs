//! A twin beside results that it was not fitted to.

use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::Bytes;
use flashscope_sim::Profile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::Twin;
use super::tuning::Target;
use super::{FitError, LAST, Numbers, Range, Sources, Tell, side_by_side_telling};

/// How a twin compares with results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// How often intervals are to hold the truth.
    pub confidence: f64,
    /// Each run.
    pub runs: Vec<RunCheck>,
    /// Each level of a fill sweep.
    pub levels: Vec<LevelCheck>,
    /// All runs together; absent where there are none.
    pub summary: Option<Summary>,
}

/// A run on a drive and on its twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCheck {
    /// Its result.
    pub result: String,
    /// Its number there.
    pub run: u32,
    /// What it was.
    pub title: String,
    /// The mean response time, ns.
    pub mean: Compared,
    /// The 99th percentile, ns.
    pub p99: Compared,
}

/// A number that was measured, and that a twin predicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// What was measured.
    pub measured: f64,
    /// What is predicted.
    pub predicted: Range,
    /// By how much that is off, relative to what was measured.
    pub error: f64,
    /// Whether the interval holds what was measured.
    pub covered: bool,
}

/// A fill level, and what the closed form says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelCheck {
    /// Bytes that held data.
    pub fill: Bytes,
    /// The relative error of the write amplification; absent where it was not measured.
    pub write_amplification_error: Option<f64>,
    /// The relative error of the throughput; absent where it was not measured or fitted.
    pub throughput_error: Option<f64>,
}

/// All runs together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The median of the absolute relative errors of means.
    pub mean_error: f64,
    /// The same of 99th percentiles.
    pub p99_error: f64,
    /// The share of means that lie in their interval.
    pub mean_coverage: f64,
    /// The same of 99th percentiles.
    pub p99_coverage: f64,
}

/// How many draws are simulated for an interval.
const DRAWS: usize = 20;

impl Check {
    /// Compares a twin with results, simulating so many drives at once. `tell` is told of each.
    ///
    /// # Errors
    /// The twin does not work as the drive that was measured does, or `stop` was set before it was seen.
    pub fn new(
        twin: &Twin,
        sources: &Sources,
        stop: &AtomicBool,
        threads: usize,
        tell: &mut Tell<'_>,
    ) -> Result<Check, FitError> {
        let runs = runs(twin, sources, stop, threads, tell)?;
        let summary = (!runs.is_empty()).then(|| summary(&runs));
        let levels = levels(twin, sources)?;
        Ok(Check { confidence: twin.confidence, runs, levels, summary })
    }
}

fn runs(
    twin: &Twin,
    sources: &Sources,
    stop: &AtomicBool,
    threads: usize,
    tell: &mut Tell<'_>,
) -> Result<Vec<RunCheck>, FitError> {
    if sources.measured.is_empty() {
        return Ok(vec![]);
    }
    let target = Target { measured: &sources.measured, stop, threads, say: &|_| {} };
    let (drive, draws) = twin.drives(DRAWS)?;
    let all: Vec<Profile> = std::iter::once(drive).chain(draws).collect();
    let simulated = side_by_side_telling(&all, threads, tell, |profile| target.one(profile));
    let mut simulated = simulated.into_iter();
    if stop.load(Ordering::Relaxed) {
        return Err(FitError::Interrupted);
    }
    let best = simulated.next().flatten().ok_or(FitError::NoStart)?.numbers;
    let drawn: Vec<Vec<Numbers>> = simulated.flatten().map(|tuned| tuned.numbers).collect();
    let runs = sources.measured.iter().flat_map(|one| one.runs.iter().map(move |run| (one, run)));
    let compared = |nth: usize, at: usize, measured: f64, spread: f64| {
        let draws = drawn.iter().map(|numbers| numbers[nth][at]).collect();
        Compared::new(measured, Range::around(best[nth][at], draws, twin.confidence).wider(spread))
    };
    let check = |(nth, (one, run)): (usize, (&super::Measured, &super::MeasuredRun))| RunCheck {
        result: one.name.clone(),
        run: run.id,
        title: run.title.clone(),
        mean: compared(nth, 0, run.numbers[0], twin.spread[0]),
        p99: compared(nth, LAST, run.numbers[LAST], twin.spread[1]),
    };
    Ok(runs.enumerate().map(check).collect())
}

impl Compared {
    fn new(measured: f64, predicted: Range) -> Compared {
        let error = predicted.value / measured - 1.0;
        let covered = (predicted.low..=predicted.high).contains(&measured);
        Compared { measured, predicted, error, covered }
    }
}

fn levels(twin: &Twin, sources: &Sources) -> Result<Vec<LevelCheck>, FitError> {
    if sources.levels.is_empty() {
        return Ok(vec![]);
    }
    let fill = twin.fill.as_ref().ok_or_else(|| FitError::TooFew {
        what: "no fill levels among what the twin was fitted to".into(),
        needed: "fit it with a fill sweep, too".into(),
    })?;
    let off = |model: Option<f64>, measured: Option<f64>| Some(model? / measured? - 1.0);
    let check = |level: &super::Level| LevelCheck {
        fill: level.fill,
        write_amplification_error: off(
            Some(fill.best().write_amplification(level.fill)),
            level.write_amplification,
        ),
        throughput_error: off(fill.best().bytes_per_second(level.fill), level.bytes_per_second),
    };
    Ok(sources.levels.iter().map(check).collect())
}

fn summary(runs: &[RunCheck]) -> Summary {
    let median = |of: fn(&RunCheck) -> Compared| {
        let mut errors: Vec<f64> = runs.iter().map(|run| of(run).error.abs()).collect();
        errors.sort_unstable_by(f64::total_cmp);
        errors[errors.len() / 2]
    };
    #[allow(clippy::cast_precision_loss, reason = "runs")]
    let covered = |of: fn(&RunCheck) -> Compared| {
        runs.iter().filter(|run| of(run).covered).count() as f64 / runs.len() as f64
    };
    Summary {
        mean_error: median(|run| run.mean),
        p99_error: median(|run| run.p99),
        mean_coverage: covered(|run| run.mean),
        p99_coverage: covered(|run| run.p99),
    }
}
