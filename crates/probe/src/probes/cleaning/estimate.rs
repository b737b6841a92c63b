//! What the writes tell.

use std::collections::BTreeMap;

use super::fit::{Fit, Window, fit, mean_cost, windows};
use super::model::{Hypothesis, Policy, Size};
use super::plan::Regions;
use super::{Rests, Story};
use crate::finding::{Shape, Signal};
use crate::{Finding, Parameter, median};

/// A write waited if it cost so much more than the dear ones among those that could not.
const WAITED: f64 = 1.4;

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
fn places(story: &Story, regions: &Regions, base: f64, tried: &[usize]) -> Vec<(f64, usize, Hypothesis)> {
    let len = (regions.units as usize / 200).max(16);
    let windows = windows(story.filled, story.thinned, len);
    let mut all = Vec::new();
    for policy in [Policy::Greedy, Policy::BestOfTen, Policy::Fifo, Policy::Random] {
        for places in tried {
            let hypothesis = Hypothesis { policy, apart: false };
            let fit = fit(story, size(regions, *places), hypothesis, &windows, base);
            all.push((fit.misfit, *places, hypothesis));
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

fn size(regions: &Regions, places: usize) -> Size {
    let units = regions.units as usize;
    Size { units, places, block: (units / 256).max(8) }
}

pub(super) fn findings(
    story: &Story,
    regions: &Regions,
    onset: Option<usize>,
    rests: &Rests,
) -> Vec<Finding> {
    let unit = story.unit as f64;
    let units = regions.units as usize;
    let base = median(before(story, regions));
    let coarse: Vec<usize> = (0..22).map(|nth| units + units * (1 + 2 * nth) / 100).collect();
    let rough = places(story, regions, base, &coarse);
    let fine: Vec<usize> = (0..11).map(|nth| rough[0].1 - units / 50 + units * nth / 250).collect();
    let refined = places(story, regions, base, &fine);
    let count = refined[0].1;
    let len = (units / 200).max(16);
    let windows = windows(story.filled, story.looped, len);
    let mut fits: Vec<Fit> = Hypothesis::all().map(|h| fit(story, size(regions, count), h, &windows, base)).collect();
    fits.sort_by(|a, b| a.misfit.total_cmp(&b.misfit));
    let n = windows.len() as f64;
    eprintln!("N {units} onset {onset:?} fitted {count} {:?} {:.2}; {:?}", refined[0].2.policy, refined[0].0 / n, rough.iter().take(5).map(|r| (r.0 / n, r.1, r.2.policy)).collect::<Vec<_>>());
    for fit in &fits {
        eprintln!("{:?} misfit {:.2} costs {:.0?} base {base:.0}", fit.hypothesis, fit.misfit / n, fit.costs);
    }
    for (i, w) in windows.iter().enumerate().step_by(4) {
        eprintln!("{:.3} {:.2} {:.2?}", w.from as f64 / units as f64, mean_cost(story, *w) / base, fits.iter().take(4).map(|f| f.expected[i] / base).collect::<Vec<_>>());
    }
    let best = &fits[0];
    let places = match onset {
        Some(onset) if best.hypothesis.policy != Policy::Random => onset,
        _ => count,
    } as f64;
    let op = 1.0 - f64::from(regions.units) / places;
    let mut found = vec![
        Finding::exact(Parameter::CleaningOnset, places * unit, 0.98),
        Finding::exact(Parameter::OverProvisioning, op, 0.98),
        Finding::class(Parameter::CleaningPolicy, best.hypothesis.policy.class(), 0.98),
        Finding::class(Parameter::CleaningSeparation, if best.hypothesis.apart { "apart" } else { "together" }, 0.98),
    ];
    let threshold = threshold(story, regions);
    let steady = &story.costs[story.steady.0..story.steady.1];
    let waits = steady.iter().filter(|cost| **cost > threshold).count();
    eprintln!("steady {} waits of {} mean {:.2}", waits, steady.len(), steady.iter().sum::<f64>() / steady.len() as f64 / base);
    found.push(Finding::exact(Parameter::CleaningPeriod, unit * steady.len() as f64 / waits.max(1) as f64, 0.98));
    let excess = |costs: &[f64]| costs.iter().sum::<f64>() / costs.len() as f64 - base;
    let ratio = excess(&rests.after) / excess(&rests.before);
    eprintln!("idle {:.2} {:.2} {ratio:.2}", excess(&rests.before) / base, excess(&rests.after) / base);
    found.push(Finding::class(Parameter::IdleCleaning, if ratio < 0.5 { "yes" } else { "no" }, 0.98));
    let _: (BTreeMap<u8, u8>, Option<Signal>, Option<Shape>, Option<Window>) = (BTreeMap::new(), None, None, None);
    found
}
