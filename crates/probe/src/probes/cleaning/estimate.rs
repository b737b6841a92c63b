//! What the writes tell.

use super::fit::{fit, windows};
use super::model::{Hypothesis, Policy, Size};
use super::plan::Regions;
use super::{AROUND_REST, FLUSH_EVERY, RESTS, Rests, Story};
use crate::{Finding, Parameter, median};

/// A write waited if it cost so much more than the dear ones among those that could not.
const WAITED: f64 = 1.4;

/// Overwriting here and there costs so much more than in order where more is written than is asked for.
const AMPLIFIES: f64 = 2.5;

/// Where cleaning began: from there on writes wait as often as they never did before. None as long
/// as they do not.
pub(super) fn onset(story: &Story, regions: &Regions) -> Option<usize> {
    let threshold = threshold(story, regions);
    let waits: Vec<usize> =
        (story.filled..story.costs.len()).filter(|at| story.costs[*at] > threshold).collect();
    let total = story.costs.len() - story.filled;
    // The change between two rates that explains the waits best: it is just before a wait.
    let count = waits.len();
    let rate = |waits: usize, writes: usize| {
        let (k, n) = (waits as f64, writes as f64);
        if waits == 0 || waits >= writes { 0.0 } else { k * (k / n).ln() + (n - k) * (1.0 - k / n).ln() }
    };
    let possible = |at: &usize| *at >= regions.units as usize;
    let candidates = waits.iter().enumerate().filter(|(_, at)| possible(at)).map(|(before, at)| {
        let written = at - story.filled;
        (rate(before, written) + rate(count - before, total - written), before, *at)
    });
    let (gain, before, at) = candidates.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (early, late) = (before as f64 / (at - story.filled).max(1) as f64, (count - before) as f64 / (story.costs.len() - at) as f64);
    let clear = gain - rate(count, total) > 12.0 && late > 4.0 * early && count - before >= 6;
    clear.then_some(at)
}

/// What a write costs more than if it waited for cleaning.
fn threshold(story: &Story, regions: &Regions) -> f64 {
    let mut costs = before(story, regions).to_vec();
    costs.sort_unstable_by(f64::total_cmp);
    let dear = costs[(costs.len() * 996 / 1000).min(costs.len() - 1)];
    WAITED * dear
}

/// What overwriting costs before there can have been any cleaning: until everything that the host
/// can address could have been written once.
fn before<'s>(story: &'s Story, regions: &Regions) -> &'s [f64] {
    &story.costs[story.filled..(regions.units as usize).min(story.costs.len())]
}

/// The number of places that fits best under each policy, roughly: as tried and as `step` tells.
fn places(story: &Story, regions: &Regions, base: f64, tried: &[usize], blocks: usize) -> Vec<(f64, usize, Hypothesis)> {
    let len = (regions.units as usize / 40).max(16);
    let windows = windows(story.filled, story.thinned, len);
    let mut all = Vec::new();
    for policy in [Policy::Greedy, Policy::BestOfTen, Policy::Fifo, Policy::Random] {
        for places in tried {
            let hypothesis = Hypothesis { policy, apart: false };
            let fit = fit(story, size(regions, *places, blocks), hypothesis, &windows, base);
            all.push((fit.misfit, *places, hypothesis));
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

fn size(regions: &Regions, places: usize, blocks: usize) -> Size {
    let units = regions.units as usize;
    Size { units, places, block: (units / blocks).max(4) }
}

/// Whether overwriting units here and there costs far more than overwriting them in order, long
/// before there can be any cleaning: `from` is where the former began.
pub(super) fn amplifies(story: &Story, from: usize) -> bool {
    let typical = |costs: &[f64]| {
        let means: Vec<f64> = costs.chunks_exact(FLUSH_EVERY).map(mean).collect();
        median(&means)
    };
    typical(&story.costs[from..]) > AMPLIFIES * typical(&story.costs[story.filled..from])
}

/// How many rests show whether waits for cleaning are fewer after them.
pub(super) fn rests(story: &Story, regions: &Regions) -> usize {
    let (_, rate) = waits(story, base(story, regions));
    let enough = 10.0 / (rate * AROUND_REST[1] as f64).max(1e-3);
    (enough.ceil() as usize).clamp(RESTS[0], RESTS[1])
}

/// What a write that waits for cleaning waits on average, beyond what others take, and the share
/// that does, in the steady state.
fn waits(story: &Story, base: f64) -> (f64, f64) {
    let steady = &story.costs[story.steady.0..story.steady.1];
    let excess: Vec<f64> = steady.chunks(FLUSH_EVERY).map(|c| (mean(c) - base) * c.len() as f64).collect();
    let total: f64 = excess.iter().sum();
    let squares: f64 = excess.iter().map(|excess| excess * excess).sum();
    // Weighted by themselves, so that what all writes share counts little.
    let wait = squares / total.max(1.0);
    (wait, total / wait.max(1.0) / steady.len() as f64)
}

/// What a write costs without cleaning: the median over stretches that each hold the same number of
/// flushes, of the mean.
fn base(story: &Story, regions: &Regions) -> f64 {
    let stretches = before(story, regions).chunks_exact(2 * FLUSH_EVERY);
    let means: Vec<f64> = stretches.map(mean).collect();
    median(&means)
}

fn mean(costs: &[f64]) -> f64 {
    costs.iter().sum::<f64>() / costs.len().max(1) as f64
}

pub(super) fn findings(
    story: &Story,
    regions: &Regions,
    onset: Option<usize>,
    rests: &Rests,
) -> Vec<Finding> {
    let unit = story.unit as f64;
    let units = regions.units as usize;
    let base = base(story, regions);
    let coarse: Vec<usize> = (0..22).map(|nth| units + units * (1 + 2 * nth) / 100).collect();
    let rough = places(story, regions, base, &coarse, 256);
    let len = (units / 40).max(16);
    let to_thin = windows(story.filled, story.thinned, len);
    let by_blocks = [128, 256, 512, 1024].map(|blocks| (fit(story, size(regions, rough[0].1, blocks), rough[0].2, &to_thin, base).misfit, blocks));
    let blocks = by_blocks.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or(256, |best| best.1);
    let best_places = |policy: Policy| rough.iter().find(|(_, _, h)| h.policy == policy).map_or(units, |best| best.1);
    let mut refined = Vec::new();
    for policy in Policy::ALL {
        let around = best_places(if policy == Policy::CostBenefit { Policy::Greedy } else { policy });
        for nth in 0..11 {
            let places = around + units * nth / 250 - units / 50;
            let hypothesis = Hypothesis { policy, apart: false };
            let fit = fit(story, size(regions, places, blocks), hypothesis, &to_thin, base);
            refined.push((fit.misfit, places, hypothesis));
        }
    }
    refined.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = to_thin.len() as f64;
    let (misfit, fitted, hypothesis) = refined[0];
    let class = hypothesis.policy.class();
    let other = refined.iter().find(|(_, _, h)| h.policy.class() != class).map_or(f64::MAX, |o| o.0);
    let near: Vec<usize> = refined.iter().filter(|r| r.2.policy.class() == class && r.0 - misfit < 0.1 * (misfit.max(0.1 * n))).map(|r| r.1).collect();
    let (low, high) = (*near.iter().min().unwrap_or(&fitted), *near.iter().max().unwrap_or(&fitted));
    let thin_end = mean(&story.costs[story.thinned - (story.thinned - story.filled) / 8..story.thinned]) / base - 1.0;
    let looped = story.looped - story.thinned;
    let quarter = |nth: usize| mean(&story.costs[story.thinned + looped * nth / 8..story.thinned + looped * (nth + 1) / 8]) / base - 1.0;
    let octants: Vec<f64> = (0..8).map(quarter).collect();
    let steady = &story.costs[story.steady.0..story.steady.1];
    let steadily = mean(steady) / base - 1.0;
    let (wait, rate) = waits(story, base);
    let after = mean(&rests.after) / base - 1.0;
    let before_rest = mean(&rests.before) / base - 1.0;
    eprintln!("STAT onset {:.4} fitted {:.4} ({:.4}-{:.4}) misfit {:.3} other {:.3} {:?} blocks {blocks} base {base:.0} thin {thin_end:.2} loop {octants:.2?} steadily {steadily:.2} wait {:.2} expected {:.1} before {before_rest:.2} after {after:.2}",
        onset.map_or(0.0, |o| 1.0 - units as f64 / o as f64), 1.0 - units as f64 / fitted as f64, 1.0 - units as f64 / low as f64, 1.0 - units as f64 / high as f64, misfit / n, other / n, hypothesis.policy, wait / base, rate * rests.after.len() as f64);
    let op = 1.0 - units as f64 / fitted as f64;
    let last = octants[7].min(octants[6]);
    let idle = after < 0.5 * steadily;
    let levels = crate::levels(steady);
    let period = levels.map(|levels| unit / levels.share);
    vec![
        Finding::exact(Parameter::CleaningOnset, fitted as f64 * unit, 0.98),
        Finding::exact(Parameter::OverProvisioning, op, 0.98),
        Finding::class(Parameter::CleaningPolicy, class, 0.98),
        Finding::class(Parameter::CleaningSeparation, if last < 0.3 * thin_end { "apart" } else { "together" }, 0.98),
        Finding::exact(Parameter::CleaningPeriod, period.unwrap_or(0.0), 0.98),
        Finding::class(Parameter::IdleCleaning, if idle { "yes" } else { "no" }, 0.98),
    ]
}
