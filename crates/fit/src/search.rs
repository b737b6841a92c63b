//! Searches for the drive that fits measurements best: tries structural choices and tunes times.

use std::collections::BTreeSet;

use flashscope_block::Bytes;
use flashscope_sim::Profile;

use super::choices::alternatives;
use super::tuning::{Jacobian, Outcome, REACH, SearchEvent, Target, TunedDrive};
use super::{FitError, MeasuredResult};

/// The result of a search.
pub struct SearchResult {
    /// The drive that fits best.
    pub best: TunedDrive,
    /// The change of the response times of `best` with its fitted times.
    pub slopes: Jacobian,
    /// Drives that differ from `best` by one choice and fit as well, with the field of the choice.
    pub as_well: Vec<(&'static str, TunedDrive)>,
    /// The fields whose alternatives all fit worse.
    pub determined: Vec<&'static str>,
}

/// Maximum number of rounds in which choices are tried.
const ROUNDS: u32 = 40;

/// The number of best alternatives that are tuned before one of them is chosen.
const TUNED: usize = 3;

/// The number of best alternatives whose fields are tried again in the next round.
const PROMISING: usize = 12;

/// The number of tuning steps before all choices are tried, and the number for an alternative that
/// is tuned with its own slopes.
const STEPS: (u32, u32) = (4, 1);

/// The share by which an alternative must lower the misfit to replace the best drive.
const BETTER: f64 = 0.02;

/// The limits within which a misfit counts as equal to the smallest misfit: relative and absolute.
const AS_WELL: (f64, f64) = (0.05, 0.02);

/// The misfit below which the search stops: deviations are a tenth of the measurement errors.
const EXACT: f64 = 0.01;

/// Returns the drive that fits best near `start`.
///
/// If all runs together read and write more than `most`, a sample of the runs determines the
/// structure. All runs determine the times.
///
/// # Errors
/// If the drive `start` cannot be simulated.
pub fn search(target: &Target<'_>, most: Bytes, start: &Profile) -> Result<SearchResult, FitError> {
    let share = Bytes(most.0 / target.measured.len().max(1) as u64);
    let sampled: Vec<MeasuredResult> =
        target.measured.iter().map(|one| one.sampled(share)).collect();
    let sample = Target { measured: &sampled, ..*target };
    let start = start.sized(target.capacity()).map_err(|_| FitError::NoStart)?;
    let result = descend(&sample, &start)?;
    if sample.runs() == target.runs() {
        return Ok(result);
    }
    let best = target.one(&result.best.profile).ok_or(FitError::NoStart)?;
    let best = target.tune(&best, STEPS.0);
    (target.report)(SearchEvent::Fitted("times", best.misfit));
    let (slopes, tried) = (target.slopes(&best), tried(target, &best, None, 0));
    Ok(concluded(best, slopes, tried))
}

/// Descends to a drive that no single choice improves. After a success, tries only the fields of
/// the best alternatives again. If these bring no gain, tries all fields.
fn descend(target: &Target<'_>, start: &Profile) -> Result<SearchResult, FitError> {
    let mut best = target.one(start).ok_or(FitError::NoStart)?;
    let (mut round, mut promising) = (0, None);
    loop {
        let every = promising.is_none();
        if every {
            best = target.tune(&best, STEPS.0);
            (target.report)(SearchEvent::Fitted("times", best.misfit));
        }
        let slopes = target.slopes(&best);
        if !every {
            best = target.step(&best, &slopes, REACH);
        }
        let tried = tried(target, &best, promising.as_ref(), PROMISING);
        let enough = best.misfit < EXACT || round >= ROUNDS || target.is_stopped();
        let better = (!enough).then(|| better(target, &best, &slopes, &tried, every)).flatten();
        match better {
            Some((field, better)) => {
                best = better;
                promising = Some(tried.fields(PROMISING));
                (target.report)(SearchEvent::Fitted(field, best.misfit));
            }
            None if every => return Ok(concluded(best, slopes, tried)),
            None => promising = None,
        }
        round += 1;
    }
}

/// The alternatives to a drive that were tried, each with one choice changed.
struct Alternatives {
    /// The alternatives that were simulated to the end, with the field of the choice, the best
    /// first.
    within: Vec<(&'static str, TunedDrive)>,
    /// The fields with at least one alternative that can be built.
    works: BTreeSet<&'static str>,
}

impl Alternatives {
    /// Returns the fields of the `best` first alternatives.
    fn fields(&self, best: usize) -> BTreeSet<&'static str> {
        self.within.iter().take(best).map(|(field, _)| *field).collect()
    }
}

/// Simulates the alternatives to a drive in `fields`, or in all fields. Returns at least the `most`
/// best alternatives and all alternatives that fit as well as the drive.
fn tried(
    target: &Target<'_>,
    best: &TunedDrive,
    fields: Option<&BTreeSet<&'static str>>,
    most: usize,
) -> Alternatives {
    let others = alternatives(&best.profile, target.capacity());
    let others = others.into_iter().filter(|(field, _)| fields.is_none_or(|f| f.contains(field)));
    let (fields, others): (Vec<_>, Vec<_>) = others.unzip();
    let outcomes = target.race(&others, most, as_well(best));
    let mut tried = Alternatives { within: vec![], works: BTreeSet::new() };
    for (field, outcome) in fields.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Unable => continue,
            Outcome::Worse => {}
            Outcome::Within(other) => tried.within.push((field, *other)),
        }
        tried.works.insert(field);
    }
    tried.within.sort_by(|(_, one), (_, other)| one.misfit.total_cmp(&other.misfit));
    tried
}

/// Returns the best of the most promising alternatives if it beats `best`. The times of the
/// alternatives are first fitted with `slopes`, the slopes of `best`, because similar drives mostly
/// have similar slopes. If no alternative wins and `worth` is true, each alternative is tuned with
/// its own slopes.
fn better(
    target: &Target<'_>,
    best: &TunedDrive,
    slopes: &Jacobian,
    tried: &Alternatives,
    worth: bool,
) -> Option<(&'static str, TunedDrive)> {
    let least = |tune: &dyn Fn(&TunedDrive) -> TunedDrive| {
        let tuned = tried.within.iter().take(TUNED).map(|(field, other)| (*field, tune(other)));
        let least = tuned.min_by(|(_, one), (_, other)| one.misfit.total_cmp(&other.misfit));
        least.filter(|(_, least)| least.misfit < best.misfit * (1.0 - BETTER))
    };
    let own = || worth.then(|| least(&|other| target.tune(other, STEPS.1))).flatten();
    least(&|other| target.step(other, slopes, REACH)).or_else(own)
}

/// Returns the largest misfit that counts as equal to that of `best`.
fn as_well(best: &TunedDrive) -> f64 {
    best.misfit * (1.0 + AS_WELL.0) + AS_WELL.1
}

/// Builds the result of the search from the best drive and its alternatives.
fn concluded(best: TunedDrive, slopes: Jacobian, tried: Alternatives) -> SearchResult {
    let Alternatives { within, mut works } = tried;
    let most = as_well(&best);
    let as_well: Vec<_> = within.into_iter().filter(|(_, other)| other.misfit <= most).collect();
    works.retain(|field| as_well.iter().all(|(other, _)| other != field));
    SearchResult { best, slopes, as_well, determined: works.into_iter().collect() }
}
