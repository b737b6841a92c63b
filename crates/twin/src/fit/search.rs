//! From what was measured to a drive: choices by trying them, times by tuning.

use flashscope_sim::Profile;

use super::FitError;
use super::choices::alternatives;
use super::tuning::{Slopes, Target, Tuned};

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

/// Choices are changed at most so often.
const ROUNDS: u32 = 24;

/// How many of the alternatives that look best are tuned before one is chosen.
const TUNED: usize = 3;

/// Steps of tuning where a search begins and ends, and after each choice.
const STEPS: (u32, u32) = (4, 1);

/// A choice has to lower the misfit by such a share.
const BETTER: f64 = 0.02;

/// A misfit that is larger by such a share, or by so much, is one of a drive that fits as well.
const AS_WELL: (f64, f64) = (0.05, 0.02);

/// Nothing is left to be fitted below this: deviations are a tenth of what can be told.
const EXACT: f64 = 0.01;

/// The drive that fits best near one of `starts`. `tell` is told of each step, with the misfit.
///
/// # Errors
/// None of them works.
pub fn search(
    target: &Target<'_>,
    starts: &[Profile],
    tell: &mut dyn FnMut(&str, f64),
) -> Result<Found, FitError> {
    let capacity = target.capacity();
    let starts: Vec<Profile> =
        starts.iter().filter_map(|start| start.sized(capacity).ok()).collect();
    let begun = target.simulate(&starts).into_iter().flatten();
    let tuned = begun.map(|start| target.tune(&start, STEPS.0));
    let Some(mut best) = least(tuned) else { return Err(FitError::NoStart) };
    tell("times", best.misfit);
    for _ in 0..ROUNDS {
        if best.misfit < EXACT || target.stop.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
        let mut tried = tried(target, &best);
        tried.truncate(TUNED);
        let tuned = tried.into_iter().map(|(field, other)| (field, target.tune(&other, STEPS.1)));
        let better = tuned.min_by(|(_, one), (_, other)| one.misfit.total_cmp(&other.misfit));
        match better.filter(|(_, better)| better.misfit < best.misfit * (1.0 - BETTER)) {
            Some((field, better)) => {
                best = better;
                tell(field, best.misfit);
            }
            None => break,
        }
    }
    let best = target.tune(&best, STEPS.0);
    tell("times", best.misfit);
    Ok(concluded(target, best))
}

/// The alternatives to a drive, the best first.
fn tried(target: &Target<'_>, best: &Tuned) -> Vec<(&'static str, Tuned)> {
    let capacity = target.capacity();
    let (fields, others): (Vec<_>, Vec<_>) =
        alternatives(&best.profile, capacity).into_iter().unzip();
    let tried = fields.into_iter().zip(target.simulate(&others));
    let mut tried: Vec<_> = tried.filter_map(|(field, other)| Some((field, other?))).collect();
    tried.sort_by(|(_, one), (_, other)| one.misfit.total_cmp(&other.misfit));
    tried
}

fn concluded(target: &Target<'_>, best: Tuned) -> Found {
    let most = best.misfit * (1.0 + AS_WELL.0) + AS_WELL.1;
    let tried = tried(target, &best);
    let mut told: Vec<&'static str> = tried.iter().map(|(field, _)| *field).collect();
    let as_well: Vec<_> = tried.into_iter().filter(|(_, other)| other.misfit <= most).collect();
    told.sort_unstable();
    told.dedup();
    told.retain(|field| as_well.iter().all(|(other, _)| other != field));
    let slopes = target.slopes(&best);
    Found { best, slopes, as_well, told }
}

fn least(tuned: impl Iterator<Item = Tuned>) -> Option<Tuned> {
    tuned.min_by(|one, other| one.misfit.total_cmp(&other.misfit))
}
