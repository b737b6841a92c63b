//! From what was measured to a drive: choices by trying them, times by tuning.

use std::collections::BTreeSet;

use flashscope_block::Bytes;
use flashscope_sim::Profile;

use super::choices::alternatives;
use super::tuning::{Outcome, REACH, Said, Slopes, Target, Tuned};
use super::{FitError, Measured};

/// What a search found.
pub struct Found {
    /// The drive.
    pub best: Tuned,
    /// What its times do.
    pub slopes: Slopes,
    /// Drives that differ by one choice and cannot be told from it, with the field of the choice.
    pub as_well: Vec<(&'static str, Tuned)>,
    /// The fields for which there is no alternative that fits as well.
    pub told: Vec<&'static str>,
}

/// Choices are looked at at most so often.
const ROUNDS: u32 = 40;

/// How many of the alternatives that look best are tuned before one is chosen.
const TUNED: usize = 3;

/// How many of them tell which fields are worth another look at once.
const PROMISING: usize = 12;

/// Steps of tuning before every choice is tried, and of an alternative of its own.
const STEPS: (u32, u32) = (4, 1);

/// A choice has to lower the misfit by such a share.
const BETTER: f64 = 0.02;

/// A misfit that is larger by such a share, or by so much, is one of a drive that fits as well.
const AS_WELL: (f64, f64) = (0.05, 0.02);

/// Nothing is left to be fitted below this: deviations are a tenth of what can be told.
const EXACT: f64 = 0.01;

/// The drive that fits best near `start`.
///
/// Where all runs read and write more than `most`, its structure is found by some of them, and its times by all.
///
/// # Errors
/// `start` does not work.
pub fn search(target: &Target<'_>, most: Bytes, start: &Profile) -> Result<Found, FitError> {
    let share = Bytes(most.0 / target.measured.len().max(1) as u64);
    let sampled: Vec<Measured> = target.measured.iter().map(|one| one.sampled(share)).collect();
    let sample = Target { measured: &sampled, ..*target };
    let start = start.sized(target.capacity()).map_err(|_| FitError::NoStart)?;
    let found = descend(&sample, &start)?;
    if sample.runs() == target.runs() {
        return Ok(found);
    }
    let best = target.one(&found.best.profile).ok_or(FitError::NoStart)?;
    let best = target.tune(&best, STEPS.0);
    (target.say)(Said::Fitted("times", best.misfit));
    let (slopes, tried) = (target.slopes(&best), tried(target, &best, None, 0));
    Ok(concluded(best, slopes, tried))
}

/// A drive from which no single choice leads to a better one. Fields that led nowhere near a better one are left
/// until those that did lead no further.
fn descend(target: &Target<'_>, start: &Profile) -> Result<Found, FitError> {
    let mut best = target.one(start).ok_or(FitError::NoStart)?;
    let (mut round, mut promising) = (0, None);
    loop {
        let every = promising.is_none();
        if every {
            best = target.tune(&best, STEPS.0);
            (target.say)(Said::Fitted("times", best.misfit));
        }
        let slopes = target.slopes(&best);
        if !every {
            best = target.step(&best, &slopes, REACH);
        }
        let tried = tried(target, &best, promising.as_ref(), PROMISING);
        let enough = best.misfit < EXACT || round >= ROUNDS || target.stopped();
        let better = (!enough).then(|| better(target, &best, &slopes, &tried, every)).flatten();
        match better {
            Some((field, better)) => {
                best = better;
                promising = Some(tried.fields(PROMISING));
                (target.say)(Said::Fitted(field, best.misfit));
            }
            None if every => return Ok(concluded(best, slopes, tried)),
            None => promising = None,
        }
        round += 1;
    }
}

/// Drives that differ from another by one choice.
struct Tried {
    /// Those that were simulated to the end, with the field of the choice, the best first.
    within: Vec<(&'static str, Tuned)>,
    /// The fields of which one works.
    works: BTreeSet<&'static str>,
}

impl Tried {
    /// The fields of the best so many.
    fn fields(&self, best: usize) -> BTreeSet<&'static str> {
        self.within.iter().take(best).map(|(field, _)| *field).collect()
    }
}

/// The alternatives to a drive in the given fields, or in all, as far as they may be among so many that are best, or
/// fit as well.
fn tried(
    target: &Target<'_>,
    best: &Tuned,
    fields: Option<&BTreeSet<&'static str>>,
    most: usize,
) -> Tried {
    let others = alternatives(&best.profile, target.capacity());
    let others = others.into_iter().filter(|(field, _)| fields.is_none_or(|f| f.contains(field)));
    let (fields, others): (Vec<_>, Vec<_>) = others.unzip();
    let outcomes = target.race(&others, most, as_well(best));
    let mut tried = Tried { within: vec![], works: BTreeSet::new() };
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

/// The best of the alternatives that look best, if it is better. The times of each are fitted along `slopes`, which are
/// those of `best` and mostly do for its like; where none of them is better so, and it is `worth` it, along its own.
fn better(
    target: &Target<'_>,
    best: &Tuned,
    slopes: &Slopes,
    tried: &Tried,
    worth: bool,
) -> Option<(&'static str, Tuned)> {
    let least = |tune: &dyn Fn(&Tuned) -> Tuned| {
        let tuned = tried.within.iter().take(TUNED).map(|(field, other)| (*field, tune(other)));
        let least = tuned.min_by(|(_, one), (_, other)| one.misfit.total_cmp(&other.misfit));
        least.filter(|(_, least)| least.misfit < best.misfit * (1.0 - BETTER))
    };
    let own = || worth.then(|| least(&|other| target.tune(other, STEPS.1))).flatten();
    least(&|other| target.step(other, slopes, REACH)).or_else(own)
}

/// The largest misfit of a drive that fits as well as another.
fn as_well(best: &Tuned) -> f64 {
    best.misfit * (1.0 + AS_WELL.0) + AS_WELL.1
}

/// What was found, with all the alternatives to it.
fn concluded(best: Tuned, slopes: Slopes, tried: Tried) -> Found {
    let Tried { within, mut works } = tried;
    let most = as_well(&best);
    let as_well: Vec<_> = within.into_iter().filter(|(_, other)| other.misfit <= most).collect();
    works.retain(|field| as_well.iter().all(|(other, _)| other != field));
    Found { best, slopes, as_well, told: works.into_iter().collect() }
}
