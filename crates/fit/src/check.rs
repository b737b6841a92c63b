//! Compares a twin with results that it was not fitted to.

use flashscope_document::twin::{
    Check, Comparison, Level, LevelCheck, Range, RunCheck, Summary, Twin,
};
use flashscope_measure::Progress;
use flashscope_sim::Profile;
use flashscope_simulate::Resources;

use super::sweep::{bytes_per_second, write_amplification};
use super::tuning::Target;
use super::{FitError, LAST, Numbers, Sources, drives_of, side_by_side_with_progress};

/// The number of the twin's draws that are simulated for intervals.
const DRAWS: usize = 20;

/// Compares a twin with results, by simulating the twin and its draws. Reports each simulated drive to `progress`.
///
/// # Errors
/// If the twin cannot run what the drive ran, if it was fitted to no fill sweep but `sources` has one, or if the caller
/// stops the simulations.
pub fn check(
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
    let (drive, draws) = drives_of(twin, DRAWS)?;
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

fn levels(twin: &Twin, sources: &Sources) -> Result<Vec<LevelCheck>, FitError> {
    if sources.levels.is_empty() {
        return Ok(vec![]);
    }
    let fill = twin.fill.as_ref().ok_or_else(|| FitError::TooFew {
        what: "the twin was fitted to no fill sweep".into(),
        needed: "fit the twin again, with a fill sweep as well".into(),
    })?;
    let off = |model: Option<f64>, measured: Option<f64>| Some(model? / measured? - 1.0);
    let compared = |level: &Level| LevelCheck {
        fill: level.fill,
        write_amplification_error: off(
            Some(write_amplification(fill.best(), level.fill)),
            level.write_amplification,
        ),
        throughput_error: off(bytes_per_second(fill.best(), level.fill), level.bytes_per_second),
    };
    Ok(sources.levels.iter().map(compared).collect())
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
