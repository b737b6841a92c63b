//! Chooses the model of a drive that fits the measured costs best, by policy, physical space and
//! block size.

use super::Story;
use super::fit::{Fit, Window, fit, mean_cost, windows};
use super::model::{Policy, Size};
use super::plan::Regions;

/// The block sizes to try, each given as the number of blocks in the drive.
const BLOCKS: [usize; 4] = [128, 256, 512, 1024];

/// The model that fits best.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// The model's physical space for data, in units.
    pub(super) places: usize,
    /// The model's misfit per window.
    pub(super) misfit: f64,
    /// The misfit of the best model with a policy of another class.
    pub(super) other: f64,
    pub(super) windows: Vec<Window>,
    /// The measured cost of writes in each window, in nanoseconds.
    pub(super) seen: Vec<f64>,
    /// The expected cost of writes in each window, in nanoseconds.
    pub(super) expected: Vec<f64>,
    policy: Policy,
}

impl Choice {
    pub(super) fn policy(&self) -> Policy {
        self.policy
    }
}

/// A model to try.
#[derive(Debug, Clone, Copy)]
struct Trial {
    policy: Policy,
    places: usize,
    blocks: usize,
}

/// Fits models to the costs of the thin overwriting (see [`Regions`]), where policies differ. A
/// coarse search comes first, then a fine search around the best model of each policy.
pub(super) fn choose(story: &Story, regions: &Regions, base: f64) -> Choice {
    let units = regions.units as usize;
    let windows = windows(story.filled, story.thinned, (units / 40).max(16));
    let tried = |trial: Trial| {
        let size = Size {
            units,
            places: trial.places,
            block: (units / trial.blocks).max(4),
            cache: story.cache,
        };
        (fit(story, size, trial.policy, &windows, base), trial)
    };
    let rough: Vec<(Fit, Trial)> = Policy::ALL
        .into_iter()
        .flat_map(|policy| (0..22).map(move |nth| (policy, nth)))
        .map(|(policy, nth)| {
            tried(Trial { policy, places: units + units * (1 + 2 * nth) / 100, blocks: 256 })
        })
        .collect();
    let first = best(&rough).1;
    let by_blocks: Vec<(Fit, Trial)> =
        BLOCKS.into_iter().map(|blocks| tried(Trial { blocks, ..first })).collect();
    let blocks = best(&by_blocks).1.blocks;
    let fine = |policy: Policy| {
        let of_policy: Vec<_> =
            rough.iter().filter(|(_, trial)| trial.policy == policy).cloned().collect();
        let around = best(&of_policy).1;
        let least = around.places - units / 50;
        (0..11).map(move |nth| Trial { places: least + units * nth / 250, blocks, ..around })
    };
    let refined: Vec<_> = Policy::ALL.into_iter().flat_map(fine).map(tried).collect();
    conclude(story, &refined, windows.clone())
}

fn best(trials: &[(Fit, Trial)]) -> &(Fit, Trial) {
    let best = trials.iter().min_by(|a, b| a.0.misfit.total_cmp(&b.0.misfit));
    best.expect("there are trials")
}

#[allow(clippy::cast_precision_loss, reason = "counts of windows are far below 2^53")]
fn conclude(story: &Story, trials: &[(Fit, Trial)], windows: Vec<Window>) -> Choice {
    let (fit, trial) = best(trials);
    let others = trials.iter().filter(|(_, other)| other.policy.class() != trial.policy.class());
    let other = others.map(|(fit, _)| fit.misfit).fold(f64::MAX, f64::min);
    // Below a misfit of 0.05 per window, differences are noise.
    let each = |misfit: f64| (misfit / windows.len() as f64).max(0.05);
    Choice {
        places: trial.places,
        misfit: each(fit.misfit),
        other: each(other),
        seen: windows.iter().map(|window| mean_cost(story, *window)).collect(),
        expected: fit.expected.clone(),
        policy: trial.policy,
        windows,
    }
}
