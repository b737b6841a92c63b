//! Compares a twin with results that it was not fitted to.

use flashscope_document::twin::{
    Check, Comparison, Level, LevelCheck, Range, RunCheck, Summary, Twin,
};
use flashscope_measure::Progress;
use flashscope_sim::Profile;
use flashscope_simulate::Resources;

use super::closed_form::{bytes_per_second, write_amplification};
use super::tuning::Target;
use super::{FitError, LAST, Numbers, Sources, drives_of, ends, side_by_side_with_progress};

/// Compares a twin with results, by simulating the twin and its draws. Reports each simulated drive
/// to `progress`.
///
/// # Errors
/// If the twin cannot execute the runs of the drive, if `sources` has a fill sweep but the twin has
/// none, or if the caller stops the simulations.
pub fn check(
    twin: &Twin,
    sources: &Sources,
    resources: &Resources<'_>,
    progress: &mut dyn Progress,
) -> Result<Check, FitError> {
    let simulated = simulated(twin, sources, resources, progress)?;
    let runs = simulated.as_ref().map(|simulated| simulated.runs(sources)).unwrap_or_default();
    let summary = simulated.map(|simulated| simulated.summary(&runs));
    let levels = levels(twin, sources)?;
    Ok(Check { confidence: twin.confidence, runs, levels, summary })
}

/// The numbers of each run on a twin and on its draws.
struct TwinNumbers<'t> {
    twin: &'t Twin,
    best: Vec<Numbers>,
    draws: Vec<Vec<Numbers>>,
}

/// The numbers of a run that are compared, with the index of the spread that widens their
/// intervals.
const COMPARED: [(usize, usize); 2] = [(0, 0), (LAST, 1)];

/// Simulates the twin and as many of its draws as it takes until the ends of most intervals are
/// known. Returns `None` without runs.
fn simulated<'t>(
    twin: &'t Twin,
    sources: &Sources,
    resources: &Resources<'_>,
    progress: &mut dyn Progress,
) -> Result<Option<TwinNumbers<'t>>, FitError> {
    if sources.measured.is_empty() {
        return Ok(None);
    }
    let target = Target { measured: &sources.measured, resources, report: &|_| {} };
    let (drive, drawn) = drives_of(twin, usize::MAX)?;
    let mut simulate = |profiles: &[Profile], done: usize| -> Vec<Option<Vec<Numbers>>> {
        side_by_side_with_progress(
            profiles,
            resources.jobs,
            (done as u64, None),
            progress,
            |profile| target.one(profile).map(|tuned| tuned.numbers),
        )
    };
    let best = simulate(&[drive], 0).pop().flatten();
    let mut simulated = best.map(|best| TwinNumbers { twin, best, draws: vec![] });
    let mut done = 0;
    while let Some(simulated) = &mut simulated {
        let end = drawn.len().min(done + if done == 0 { ends::FIRST } else { ends::MORE });
        let enough = simulated.end_error().is_some_and(|error| error <= ends::KNOWN);
        if resources.is_stopped() || enough || end == done {
            break;
        }
        simulated.draws.extend(simulate(&drawn[done..end], done + 1).into_iter().flatten());
        done = end;
    }
    if resources.is_stopped() {
        return Err(FitError::Interrupted);
    }
    Ok(Some(simulated.ok_or(FitError::NoStart)?))
}

impl TwinNumbers<'_> {
    /// Returns the values of a number of a run on the alternative drives.
    fn drawn(&self, run: usize, number: usize) -> Vec<f64> {
        self.draws.iter().map(|numbers| numbers[run][number]).collect()
    }

    /// Returns the interval of a number of a run, for given values on the alternative drives.
    fn interval(&self, run: usize, (number, spread): (usize, usize), draws: Vec<f64>) -> Range {
        let range = Range::around(self.best[run][number], draws, self.twin.confidence);
        range.wider(self.twin.spread[spread])
    }

    /// Returns the median of the standard errors of the ends of intervals, as shares of their
    /// widths.
    fn end_error(&self) -> Option<f64> {
        let all = (0..self.best.len()).flat_map(|run| COMPARED.map(|compared| (run, compared)));
        let error = |(run, compared): (usize, (usize, usize))| {
            let draws = self.drawn(run, compared.0);
            ends::end_error(&draws, self.twin.seed, |draws| self.interval(run, compared, draws))
        };
        let mut errors: Vec<f64> = all.map(error).collect::<Option<_>>()?;
        errors.sort_unstable_by(f64::total_cmp);
        errors.get(errors.len() / 2).copied()
    }

    fn runs(&self, sources: &Sources) -> Vec<RunCheck> {
        let runs =
            sources.measured.iter().flat_map(|one| one.runs.iter().map(move |run| (one, run)));
        let compared = |nth: usize, numbers: &Numbers, compared: (usize, usize)| {
            let range = self.interval(nth, compared, self.drawn(nth, compared.0));
            Comparison::new(numbers[compared.0], range)
        };
        let check =
            |(nth, (one, run)): (usize, (&super::MeasuredResult, &super::MeasuredRun))| RunCheck {
                result: one.name.clone(),
                run: run.id,
                title: run.title.clone(),
                mean: compared(nth, &run.numbers, COMPARED[0]),
                p99: compared(nth, &run.numbers, COMPARED[1]),
            };
        runs.enumerate().map(check).collect()
    }

    fn summary(&self, runs: &[RunCheck]) -> Summary {
        let median = |of: fn(&RunCheck) -> Comparison| {
            let mut errors: Vec<f64> = runs.iter().map(|run| of(run).error.abs()).collect();
            errors.sort_unstable_by(f64::total_cmp);
            errors[errors.len() / 2]
        };
        #[allow(clippy::cast_precision_loss, reason = "the number of runs is far below 2^53")]
        let covered = |of: fn(&RunCheck) -> Comparison| {
            runs.iter().filter(|run| of(run).covered).count() as f64 / runs.len() as f64
        };
        Summary {
            mean_error: median(|run| run.mean),
            p99_error: median(|run| run.p99),
            mean_coverage: covered(|run| run.mean),
            p99_coverage: covered(|run| run.p99),
            draws: u32::try_from(self.draws.len()).unwrap_or(u32::MAX),
            end_error: self.end_error(),
        }
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
