//! Estimates the parameters of cleaning from the costs of the writes.

#![allow(clippy::cast_precision_loss, reason = "counts of writes are far below 2^53")]

use super::choose::{Choice, choose};
use super::fit::Window;
use super::model::Policy;
use super::plan::Regions;
use super::{FLUSH_EVERY, Rests, Story};
use crate::{Answer, Finding, Parameter, levels, median};
use flashscope_document::probe::{Shape, Signal};

/// Minimum cost of a write that waited for cleaning, relative to the slow writes before any
/// cleaning was possible.
const WAITED: f64 = 1.4;

/// The cost of scattered overwriting relative to overwriting in order, above which the drive writes
/// more than the host.
const AMPLIFIES: f64 = 2.5;

/// The probability that the best fit gives the onset within the parameter's tolerance, if waits do
/// not show the onset. The best fit was right for seven in eight simulated drives.
const FITTED: f64 = 0.87;

/// Maximum misfit at which the best fit determines the physical space, as a multiple of the misfit
/// that noise causes.
const MAX_MISFIT: f64 = 4.0;

/// Maximum relative difference between the over-provisioning that waits show and the
/// over-provisioning of the best fit.
const MAX_DISAGREEMENT: f64 = 0.4;

/// The factor on the probability of conclusions from the best fit, if the drive cleans between
/// requests. No model cleans between requests. The best fit has the right policy for seven in ten
/// simulated drives that do.
const HIDDEN: f64 = 0.72;

/// Minimum probability of a finding about the cleaning policy.
const MIN_PROBABILITY: f64 = 0.6;

/// Returns the index of the write at which cleaning began: from this write on, writes wait far more
/// often than before. Returns `None` if there is no such write.
pub(super) fn onset(story: &Story, regions: &Regions) -> Option<usize> {
    let threshold = threshold(story, regions);
    let waits: Vec<usize> =
        (story.filled..story.costs.len()).filter(|at| story.costs[*at] > threshold).collect();
    let total = story.costs.len() - story.filled;
    // Find the write at which a change of the wait rate explains the waits best. Only writes that
    // waited can be that write.
    let count = waits.len();
    let rate = |waits: usize, writes: usize| {
        let (k, n) = (waits as f64, writes as f64);
        if waits == 0 || waits >= writes {
            0.0
        } else {
            k * (k / n).ln() + (n - k) * (1.0 - k / n).ln()
        }
    };
    let possible = |at: &usize| *at >= regions.units as usize;
    let candidates = waits.iter().enumerate().filter(|(_, at)| possible(at)).map(|(before, at)| {
        let written = at - story.filled;
        (rate(before, written) + rate(count - before, total - written), before, *at)
    });
    let (gain, before, at) = candidates.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (early, late) = (
        before as f64 / (at - story.filled).max(1) as f64,
        (count - before) as f64 / (story.costs.len() - at) as f64,
    );
    let clear = gain - rate(count, total) > 12.0 && late > 4.0 * early && count - before >= 6;
    clear.then_some(at)
}

/// Returns the cost above which a write waited for cleaning.
fn threshold(story: &Story, regions: &Regions) -> f64 {
    let mut costs = before(story, regions).to_vec();
    costs.sort_unstable_by(f64::total_cmp);
    let slow = costs[(costs.len() * 996 / 1000).min(costs.len() - 1)];
    WAITED * slow
}

/// Returns the costs of overwriting before any cleaning is possible: the host has written less than
/// the capacity of the drive.
fn before<'s>(story: &'s Story, regions: &Regions) -> &'s [f64] {
    &story.costs[story.filled..(regions.units as usize).min(story.costs.len())]
}

/// Returns true if scattered overwriting costs far more than overwriting in order, long before any
/// cleaning is possible. The scattered overwriting began at `from`.
pub(super) fn amplifies(story: &Story, from: usize) -> bool {
    let typical = |costs: &[f64]| {
        let means: Vec<f64> = costs.chunks_exact(FLUSH_EVERY).map(mean).collect();
        median(&means)
    };
    typical(&story.costs[from..]) > AMPLIFIES * typical(&story.costs[story.filled..from])
}

/// Returns the approximate share of steady random writes that wait for cleaning.
pub(super) fn waiting(story: &Story) -> f64 {
    levels(&story.costs[story.steady.0..story.steady.1]).map_or(0.0, |levels| levels.share)
}

/// Returns the cost of a write without cleaning: the median of the means over chunks of writes,
/// each with the same number of flushes. Chunks are longer if the drive has an SLC cache, which
/// empties in whole blocks.
pub(super) fn base(story: &Story, regions: &Regions) -> f64 {
    let stretch = match story.cache {
        0 => 2 * FLUSH_EVERY,
        _ => (regions.units as usize / 60).max(2 * FLUSH_EVERY),
    };
    let stretches = before(story, regions).chunks_exact(stretch);
    let means: Vec<f64> = stretches.map(mean).collect();
    median(&means)
}

fn mean(costs: &[f64]) -> f64 {
    costs.iter().sum::<f64>() / costs.len().max(1) as f64
}

/// Returns the findings from all writes.
pub(super) fn findings(
    story: &Story,
    regions: &Regions,
    onset: Option<usize>,
    rests: &Rests,
    fetches_map: bool,
) -> Vec<Finding> {
    let base = base(story, regions);
    let choice = choose(story, regions, base);
    let idle = idle(rests, fetches_map);
    // If waits for the map hide idle cleaning, assume idle cleaning, which weakens the evidence for
    // the other findings.
    let cleans_idle = is_class(&idle, "yes") || fetches_map && !idle.is_known();
    let findings = [
        room(story, regions, onset, &choice, cleans_idle),
        begins(story, onset, &choice, cleans_idle),
        policy(&choice, cleans_idle),
        separation(story, &choice, base, cleans_idle),
        period(story, cleans_idle, choice.policy().draws()),
        idle,
    ];
    let course = course(story, &choice, onset);
    let with_course = |finding: Finding| match finding.signals.is_empty() {
        true => finding.signal(course.clone()),
        false => finding,
    };
    findings
        .into_iter()
        .map(|finding| with_course(finding).runs(story.runs.iter().copied()))
        .collect()
}

/// Returns the chart of the cost of writes since the first overwriting: the measured cost, and the
/// cost under the best fit.
fn course(story: &Story, choice: &Choice, onset: Option<usize>) -> Signal {
    let middle = |window: &Window| (window.from + window.to) as f64 / 2.0 * story.unit as f64 / 1e6;
    let series = |costs: &[f64]| -> Vec<(f64, f64)> {
        choice.windows.iter().map(&middle).zip(costs.iter().map(|cost| cost / 1e6)).collect()
    };
    let title = "Cost of overwriting a trimmed drive";
    let signal = Signal::new(title, "MB written since the trim", "response time (ms)", Shape::Line)
        .series("measured", series(&choice.seen))
        .series(&format!("expected with {:?} cleaning", choice.policy()), series(&choice.expected));
    match onset {
        Some(onset) => signal.mark(onset as f64 * story.unit as f64 / 1e6, "cleaning moves data"),
        None => signal,
    }
}

/// Estimates the over-provisioning. The amount written before cleaning had to move data equals the
/// physical space for data.
fn room(
    story: &Story,
    regions: &Regions,
    onset: Option<usize>,
    choice: &Choice,
    cleans_idle: bool,
) -> Finding {
    let unknown = |why: &str| Finding::unknown(Parameter::OverProvisioning, why);
    if cleans_idle {
        return unknown(
            "the drive cleans between requests, which hides the onset of necessary cleaning",
        );
    }
    if story.cache > 0 {
        return unknown("an SLC cache holds data as well");
    }
    let Some(onset) = onset else {
        return unknown("waiting for cleaning sets in gradually");
    };
    if choice.policy() == Policy::Random {
        return unknown("cleaning of random blocks moves data before the flash is full");
    }
    let spare = |places: usize| 1.0 - f64::from(regions.units) / places as f64;
    let (seen, fitted) = (spare(onset), spare(choice.places));
    // The relative difference between the waits and the best model.
    let off = (seen - fitted).abs() / seen.max(0.01);
    if seen < 0.02 {
        return unknown("the first possible writes already wait for cleaning");
    }
    if off > MAX_DISAGREEMENT {
        return unknown("waits begin earlier or later than in any modelled drive");
    }
    let probability = (0.99 - 0.25 * off) * (1.0 - 0.004 / seen);
    let blur = 0.01 + 0.5 * (seen - fitted).abs();
    Finding::value(Parameter::OverProvisioning, seen, seen - blur, seen + blur, probability)
        .because(format!(
            "{:.0} MB could be written before cleaning had to move data; the drive holds {:.0} MB",
            onset as f64 * story.unit as f64 / 1e6,
            f64::from(regions.units) * story.unit as f64 / 1e6
        ))
}

/// Estimates the onset of cleaning.
fn begins(story: &Story, onset: Option<usize>, choice: &Choice, cleans_idle: bool) -> Finding {
    let parameter = Parameter::CleaningOnset;
    let unknown = |why: &str| Finding::unknown(parameter, why);
    let fitted = choice.places + story.cache;
    let random = choice.policy() == Policy::Random;
    let Some(onset) = onset.filter(|_| !random) else {
        if choice.misfit > MAX_MISFIT {
            return unknown("waiting for cleaning sets in gradually");
        }
        let bytes = fitted as f64 * story.unit as f64;
        let probability = if cleans_idle { HIDDEN * FITTED } else { FITTED };
        return Finding::value(parameter, bytes, 0.85 * bytes, 1.15 * bytes, probability).because(
            format!(
                "waiting for cleaning sets in gradually, as on a drive with that much flash under \
                        {} cleaning",
                choice.policy().class()
            ),
        );
    };
    if (onset as f64 / fitted as f64 - 1.0).abs() > 0.12 {
        return unknown("waits begin earlier or later than in any modelled drive");
    }
    let bytes = onset as f64 * story.unit as f64;
    let probability = if cleans_idle { 0.95 } else { 0.985 };
    Finding::value(parameter, bytes, 0.97 * bytes, 1.03 * bytes, probability)
        .because("from that point on writes wait repeatedly, and far fewer waited before")
}

/// Estimates the cleaning policy, which is the policy of the best model.
fn policy(choice: &Choice, cleans_idle: bool) -> Finding {
    let ratio = choice.other / choice.misfit;
    let class = choice.policy().class();
    let seen = if cleans_idle { HIDDEN } else { 1.0 };
    let probability = seen * (1.0 - 0.2 / (ratio * ratio) - 0.25 * (-8.0 * (ratio - 1.0)).exp());
    if probability < MIN_PROBABILITY {
        let why = "drives with different policies would show nearly the same costs";
        return Finding::unknown(Parameter::CleaningPolicy, why);
    }
    Finding::class(Parameter::CleaningPolicy, class, probability).because(format!(
        "overwriting one region densely and the others thinly costs as much as under {class} cleaning; \
                the best model of another class has {ratio:.1} times the misfit"
    ))
}

/// Estimates whether the drive separates moved data from the host's writes. If it does, blocks that
/// hold only data of the small, repeatedly written region become invalid as a whole, and cleaning
/// costs less.
fn separation(story: &Story, choice: &Choice, base: f64, cleans_idle: bool) -> Finding {
    let eighth = |from: usize, to: usize, nth: usize| {
        let at = |nth: usize| from + (to - from) * nth / 8;
        mean(&story.costs[at(nth)..at(nth + 1)]) / base - 1.0
    };
    let before = eighth(story.filled, story.thinned, 7);
    let circles: Vec<f64> = (0..8).map(|nth| eighth(story.thinned, story.looped, nth)).collect();
    let signal = Signal::new(
        "Excess cost while a small region is written repeatedly",
        "part of the repetitions",
        "share of the cost without cleaning",
        Shape::Line,
    )
    .series("measured", (1u32..).map(f64::from).zip(circles.iter().copied()));
    let last = circles[6].min(circles[7]);
    let ratio = last / before.max(1e-3);
    let class = if ratio < 0.5 { "apart" } else { "together" };
    // A policy with random choices takes long to find all old data.
    // Cleaning between requests does not show in the costs.
    let doubt = if choice.policy().draws() || cleans_idle { 0.05 } else { 0.01 };
    let probability = 1.0 - doubt - 0.5 * (-8.0 * (ratio - 0.5).abs()).exp();
    if before < 0.15 || probability < 0.75 {
        let why = "cleaning costs too little to show whether its cost falls";
        return Finding::unknown(Parameter::CleaningSeparation, why).signal(signal);
    }
    Finding::class(Parameter::CleaningSeparation, class, probability)
        .because(format!(
            "cleaning adds {last:.2} of the cost of a write at the end of writing a small region \
                        repeatedly, and {before:.2} while old data was overwritten"
        ))
        .signal(signal)
}

/// Estimates the bytes written at random between waits.
fn period(story: &Story, cleans_idle: bool, by_chance: bool) -> Finding {
    let unknown = |why: &str| Finding::unknown(Parameter::CleaningPeriod, why);
    if cleans_idle {
        return unknown("the drive cleans between requests: no write waits for a whole cleaning");
    }
    if story.cache > 0 {
        return unknown("writes also wait for the SLC cache to be emptied");
    }
    if !story.by_pages {
        return unknown("it is defined for writes of one page, but the page size is not known");
    }
    let steady = &story.costs[story.steady.0..story.steady.1];
    let Some(levels) = levels(steady).filter(|levels| levels.high > 1.8 * levels.low) else {
        return unknown("writes that wait cannot be distinguished from others");
    };
    let waits = levels.share * steady.len() as f64;
    if levels.share > 0.4 || waits < 20.0 || by_chance {
        return unknown("the waits are too many, too few or too irregular to be counted");
    }
    let value = story.unit as f64 / levels.share;
    let blur = value * 2.0 / waits.sqrt();
    let probability = 0.97 - 0.5 * (-waits / 30.0).exp();
    Finding::value(Parameter::CleaningPeriod, value, value - blur, value + blur, probability)
        .because(format!("{waits:.0} of {} steady random writes waited", steady.len()))
        .signal(
            Signal::new("Steady random writes", "write", "response time (ms)", Shape::Points)
                .series("cost", (0u32..).map(f64::from).zip(steady.iter().map(|cost| cost / 1e6))),
        )
}

/// Estimates whether the drive cleans while idle. If it does, writes wait less often after an idle
/// pause. Waits for parts of the map are an exception, because a pause does not load the map into
/// memory.
fn idle(rests: &Rests, fetches_map: bool) -> Finding {
    let unknown = |why: &str| Finding::unknown(Parameter::IdleCleaning, why);
    if rests.after.is_empty() {
        return unknown("the write buffer absorbs the writes after an idle pause");
    }
    let mut sorted = rests.after.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let base = sorted[sorted.len() / 5];
    let [usual, after] = [&rests.usual, &rests.after].map(|costs| mean(costs) / base - 1.0);
    let expected = waits(&rests.usual, base) * rests.after.len() as f64;
    if usual < 0.1 || expected < 5.0 {
        return unknown("too few writes wait for cleaning to show whether an idle pause helps");
    }
    let ratio = after / usual;
    let class = if ratio < 0.45 { "yes" } else { "no" };
    if class == "no" && fetches_map {
        return unknown(
            "writes also wait for parts of the map, whether or not the drive cleans while idle",
        );
    }
    let clear = expected.sqrt() * (ratio - 0.45).abs() / 0.45;
    let probability = 0.99 - 0.4 * (-1.2 * clear).exp();
    if probability < 0.8 {
        return unknown("an idle pause helps only a little, which may be chance");
    }
    let signal = Signal::new(
        "Random writes after idle pauses",
        "write",
        "response time (ms)",
        Shape::Points,
    )
    .series("after an idle pause", (0u32..).map(f64::from).zip(rests.after.iter().map(|c| c / 1e6)))
    .series("without", (0u32..).map(f64::from).zip(rests.usual.iter().map(|c| c / 1e6)));
    Finding::class(Parameter::IdleCleaning, class, probability)
        .because(format!(
            "waits for cleaning cost {after:.2} of a write after an idle pause, and {usual:.2} without a pause"
        ))
        .signal(signal)
}

fn is_class(finding: &Finding, name: &str) -> bool {
    matches!(&finding.answer, Answer::Class { class } if class == name)
}

/// Returns the effective share of writes that wait: the share if all waits were equally long.
fn waits(costs: &[f64], base: f64) -> f64 {
    let total: f64 = costs.iter().map(|cost| cost - base).sum();
    let squares: f64 = costs.iter().map(|cost| (cost - base).powi(2)).sum();
    total.max(0.0).powi(2) / squares.max(1.0) / costs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cleaning_is_found_only_where_writes_wait() {
        let waiting: Vec<f64> =
            (0..400).map(|nth| if nth % 20 == 0 { 20e6 } else { 1e6 + f64::from(nth) }).collect();
        let cheap: Vec<f64> = (0..400).map(|nth| 1e6 + f64::from(nth)).collect();
        let after = |usual: &[f64], after: &[f64]| {
            idle(&Rests { usual: usual.to_vec(), after: after.to_vec() }, false)
        };
        assert!(is_class(&after(&waiting, &cheap), "yes"));
        assert!(is_class(&after(&waiting, &waiting), "no"));
        assert!(!after(&cheap, &cheap).is_known());
        let behind_map =
            |after: &[f64]| idle(&Rests { usual: waiting.clone(), after: after.to_vec() }, true);
        assert!(is_class(&behind_map(&cheap), "yes"));
        assert!(!behind_map(&waiting).is_known());
    }

    #[test]
    fn steady_waits_are_counted_if_the_page_is_known() {
        let costs: Vec<f64> =
            (0..1000).map(|nth| if nth % 16 == 0 { 20e6 } else { 1e6 + f64::from(nth) }).collect();
        let story = Story {
            unit: 4096,
            by_pages: true,
            steady: (0, costs.len()),
            costs,
            ..Story::default()
        };
        let finding = period(&story, false, false);
        let Answer::Value { value, .. } = finding.answer else { panic!("{finding:?}") };
        assert!((value / 65_536.0 - 1.0).abs() < 0.02);
        assert!(!period(&Story { by_pages: false, ..story }, false, false).is_known());
    }
}
