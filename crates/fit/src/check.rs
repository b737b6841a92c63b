//! Compares a twin with results that it was not fitted to.

use flashscope_block::Bytes;
use flashscope_measure::Progress;
use flashscope_sim::Profile;
use flashscope_simulate::Resources;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::Twin;
use super::tuning::Target;
use super::{FitError, LAST, Numbers, Range, Sources, side_by_side_with_progress};

/// The comparison of a twin with results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The share of intervals that are meant to contain the true value (0 to 1).
    pub confidence: f64,
    /// The comparison of each run.
    pub runs: Vec<RunCheck>,
    /// The comparison of each level of a fill sweep.
    pub levels: Vec<LevelCheck>,
    /// Summary over all runs; absent if there are none.
    pub summary: Option<Summary>,
}

/// The comparison of a run on the drive with the same run on the twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCheck {
    /// The name of the result that holds the run.
    pub result: String,
    /// The number of the run in that result.
    pub run: u32,
    /// The micro-benchmark, the experiment and the value of the parameter.
    pub title: String,
    /// The mean response time, in ns.
    pub mean: Comparison,
    /// The 99th percentile of response times, in ns.
    pub p99: Comparison,
}

/// A measured number next to its prediction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The measured value.
    pub measured: f64,
    /// The value that the twin predicts, with its interval.
    pub predicted: Range,
    /// The relative error of the prediction.
    pub error: f64,
    /// True if the interval contains the measured value.
    pub covered: bool,
}

/// The errors of the closed-form model at a fill level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelCheck {
    /// Bytes that held data.
    pub fill: Bytes,
    /// The relative error of the write amplification; absent if it was not measured.
    pub write_amplification_error: Option<f64>,
    /// The relative error of the throughput; absent if it was not measured or not fitted.
    pub throughput_error: Option<f64>,
}

/// The errors over all runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The median absolute relative error of the means.
    pub mean_error: f64,
    /// The median absolute relative error of the 99th percentiles.
    pub p99_error: f64,
    /// The share of means that lie in their interval.
    pub mean_coverage: f64,
    /// The share of 99th percentiles that lie in their interval.
    pub p99_coverage: f64,
}

/// The number of drawn drives that are simulated for an interval.
const DRAWS: usize = 20;

impl Check {
    /// Compares a twin with results, on simulated drives. Reports each to `progress`.
    ///
    /// # Errors
    /// If the twin cannot run what the drive ran, if it was fitted to no fill sweep but `sources` has one, or if it was
    /// stopped.
    pub fn new(
        twin: &Twin,
        sources: &Sources,
        resources: &Resources<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Check, FitError> {
        let runs = runs(twin, sources, resources, progress)?;
        let summary = (!runs.is_empty()).then(|| summary(&runs));
        let levels = levels(twin, sources)?;
        Ok(Check { confidence: twin.confidence, runs, levels, summary })
    }
}

fn runs(
    twin: &Twin,
    sources: &Sources,
    resources: &Resources<'_>,
    progress: &mut dyn Progress,
) -> Result<Vec<RunCheck>, FitError> {
    if sources.measured.is_empty() {
        return Ok(vec![]);
    }
    let target = Target { measured: &sources.measured, resources, report: &|_| {} };
    let (drive, draws) = twin.drives(DRAWS)?;
    let all: Vec<Profile> = std::iter::once(drive).chain(draws).collect();
    let simulated =
        side_by_side_with_progress(&all, resources.jobs, progress, |profile| target.one(profile));
    let mut simulated = simulated.into_iter();
    if resources.is_stopped() {
        return Err(FitError::Interrupted);
    }
    let best = simulated.next().flatten().ok_or(FitError::NoStart)?.numbers;
    let drawn: Vec<Vec<Numbers>> = simulated.flatten().map(|tuned| tuned.numbers).collect();
    let runs = sources.measured.iter().flat_map(|one| one.runs.iter().map(move |run| (one, run)));
    let compared = |nth: usize, at: usize, measured: f64, spread: f64| {
        let draws = drawn.iter().map(|numbers| numbers[nth][at]).collect();
        Comparison::new(
            measured,
            Range::around(best[nth][at], draws, twin.confidence).wider(spread),
        )
    };
    let check =
        |(nth, (one, run)): (usize, (&super::MeasuredResult, &super::MeasuredRun))| RunCheck {
            result: one.name.clone(),
            run: run.id,
            title: run.title.clone(),
            mean: compared(nth, 0, run.numbers[0], twin.spread[0]),
            p99: compared(nth, LAST, run.numbers[LAST], twin.spread[1]),
        };
    Ok(runs.enumerate().map(check).collect())
}

impl Comparison {
    fn new(measured: f64, predicted: Range) -> Comparison {
        let error = predicted.value / measured - 1.0;
        let covered = (predicted.low..=predicted.high).contains(&measured);
        Comparison { measured, predicted, error, covered }
    }
}

fn levels(twin: &Twin, sources: &Sources) -> Result<Vec<LevelCheck>, FitError> {
    if sources.levels.is_empty() {
        return Ok(vec![]);
    }
    let fill = twin.fill.as_ref().ok_or_else(|| FitError::TooFew {
        what: "the twin was fitted to no fill sweep".into(),
        needed: "fit the twin again, with a fill sweep as well".into(),
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
    let median = |of: fn(&RunCheck) -> Comparison| {
        let mut errors: Vec<f64> = runs.iter().map(|run| of(run).error.abs()).collect();
        errors.sort_unstable_by(f64::total_cmp);
        errors[errors.len() / 2]
    };
    #[allow(clippy::cast_precision_loss, reason = "runs")]
    let covered = |of: fn(&RunCheck) -> Comparison| {
        runs.iter().filter(|run| of(run).covered).count() as f64 / runs.len() as f64
    };
    Summary {
        mean_error: median(|run| run.mean),
        p99_error: median(|run| run.p99),
        mean_coverage: covered(|run| run.mean),
        p99_coverage: covered(|run| run.p99),
    }
}
