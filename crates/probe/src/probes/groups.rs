//! The cost of random reads, and address groups. Groups are parts of the address space; an access
//! to another group than the previous access is slower.

use std::ops::Range;

use crate::outcome::Outcome;
use crate::{
    Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median, standard_error,
};
use flashscope_block::Nanos;
use flashscope_document::probe::{Shape, Signal};

/// The length of the reads in bytes, as in Sun and Zhang.
const LEN: u64 = 4096;

/// The number of random reads in each run of the first attempt; Sun and Zhang use 1000.
const READS: u64 = 1500;

/// Maximum number of additional runs of reads until the costs are steady. Reads are slow while a
/// drive still works on earlier writes: it cleans or empties a buffer in the background, or writes
/// changed map entries back as reads replace them.
const SETTLING: u32 = 4;

/// The idle pause before the first additional run. Each pause is twice as long as the previous one.
const REST: Nanos = Nanos::secs(2);

/// Minimum decrease of the median from run to run, as a share, at which the costs are not steady
/// yet.
const FALL: f64 = 0.03;

/// The number of reads in order, for comparison, as in Sun and Zhang.
const IN_ORDER: u64 = 1000;

/// Maximum number of groups to consider.
const MAX_GROUPS: u64 = 64;

/// Minimum additional cost of a switch between groups that counts as certain, in standard errors.
const SURE: f64 = 6.0;

/// Minimum additional cost of a switch, as a share of the cost of a read.
const MIN_EFFECT: f64 = 0.03;

pub(super) const PROBE: Probe = Probe {
    name: "groups",
    summary: "reads 4 KiB at random offsets, and finds the division of the address space that explains \
                 their costs best; reads 4 KiB in order for comparison",
    source: "Sun and Zhang, sections 3.3 and 4.1, Figures 2, 3, 7 and 8",
    finds: &[Parameter::RequestCost, Parameter::Groups, Parameter::GroupSwitch],
    assumes: &[],
    writes: false,
    cost: |scene, _| scene.cost(READS * u64::from(1 + SETTLING) + IN_ORDER, 0, 0),
    run,
};

fn run(lab: &mut Lab<'_>, _: &Knowledge) -> Result<Outcome, Halt> {
    lab.ensure_filled()?;
    let space = 0..lab.capacity();
    let mut at_random = reads_at_random(lab, &space)?;
    for nth in 0..SETTLING {
        lab.idle(Nanos(REST.0 << nth));
        let before = std::mem::replace(&mut at_random, reads_at_random(lab, &space)?);
        if !has_fallen(&before.latencies(), &at_random.latencies()) {
            break;
        }
    }
    let reads = (0..IN_ORDER.min(space.end / LEN)).map(|nth| Request::read(nth * LEN, LEN));
    let in_order = lab.run("reads of 4 KiB in order", reads)?;
    let mut findings = estimate(&at_random, space.end);
    let cost = findings.iter_mut().find(|finding| finding.parameter == Parameter::RequestCost);
    if let Some(cost) = cost {
        cost.runs.push(in_order.number);
        cost.signals.push(cumulative(&in_order, &at_random));
    }
    Ok(findings.into())
}

fn reads_at_random(lab: &mut Lab<'_>, space: &Range<u64>) -> Result<Run, Halt> {
    let reads: Vec<Request> = (0..READS << lab.attempt)
        .map(|_| Request::read(lab.random_offset(space, LEN, LEN), LEN))
        .collect();
    lab.run("random reads of 4 KiB", reads)
}

/// Returns true if reads have become faster, by more than chance.
fn has_fallen(before: &[f64], now: &[f64]) -> bool {
    let error = standard_error(before).hypot(standard_error(now));
    median(before) - median(now) > (FALL * median(now)).max(3.0 * error)
}

/// Returns the cost of reads that stay in the group of the previous read; of all reads if no groups
/// are known.
fn request_cost(steps: &[Step], division: Option<&Division>, capacity: u64) -> Finding {
    let near = |step: &&Step| division.is_none_or(|d| !step.switches(d.groups, capacity));
    let costs: Vec<f64> = steps.iter().filter(near).map(|step| step.cost).collect();
    let value = median(&costs);
    let error = standard_error(&costs);
    Finding::value(Parameter::RequestCost, value, value - 1.96 * error, value + 1.96 * error, 0.98)
        .because(format!("the median of {} reads of 4 KiB at random offsets", costs.len()))
}

/// The offsets of two consecutive reads, and the cost of the second read.
#[derive(Debug, Clone, Copy)]
struct Step {
    from: u64,
    to: u64,
    cost: f64,
}

impl Step {
    /// Returns true if the two reads are in different groups.
    fn switches(&self, groups: u64, capacity: u64) -> bool {
        let size = capacity.div_ceil(groups);
        self.from / size != self.to / size
    }
}

/// A division of the address space, with the quality of its explanation of the costs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Division {
    groups: u64,
    /// The additional cost of a read in another group than the previous read.
    switch: f64,
    /// The distance of the additional cost from 0, in standard errors.
    significance: f64,
    /// The part of the costs that the division does not explain: the sum of the distances from the
    /// medians.
    unexplained: f64,
}

fn divide(steps: &[Step], groups: u64, capacity: u64) -> Option<Division> {
    let (away, near): (Vec<&Step>, Vec<&Step>) =
        steps.iter().partition(|step| step.switches(groups, capacity));
    if away.len() < 8 || near.len() < 8 {
        return None;
    }
    let [away, near] = [away, near].map(|part| part.iter().map(|s| s.cost).collect::<Vec<_>>());
    let switch = median(&away) - median(&near);
    let noise = standard_error(&away).hypot(standard_error(&near)).max(1.0);
    let apart = |part: &[f64]| {
        let middle = median(part);
        part.iter().map(|cost| (cost - middle).abs()).sum::<f64>()
    };
    let unexplained = apart(&away) + apart(&near);
    Some(Division { groups, switch, significance: switch / noise, unexplained })
}

fn estimate(run: &Run, capacity: u64) -> Vec<Finding> {
    let costs = run.latencies();
    // Longer times are waits of the host, which are much longer than any switch.
    let limit = 5.0 * median(&costs);
    let steps: Vec<Step> = run
        .records
        .windows(2)
        .map(|pair| Step {
            from: pair[0].offset.0,
            to: pair[1].offset.0,
            cost: Run::nanos(&pair[1]),
        })
        .filter(|step| step.cost < limit)
        .collect();
    let base = median(&costs);
    let divisions: Vec<Division> =
        (2..=MAX_GROUPS).filter_map(|groups| divide(&steps, groups, capacity)).collect();
    let best = divisions.iter().min_by(|a, b| a.unexplained.total_cmp(&b.unexplained));
    let picture = picture(&steps, best, capacity);
    let seen = |finding: Finding| finding.runs([run.number]).signal(picture.clone());
    let shown = best.filter(|best| best.significance >= SURE && best.switch >= MIN_EFFECT * base);
    let cost = seen(request_cost(&steps, shown, capacity)).signal(trials(&steps, shown, capacity));
    let Some(best) = shown else {
        return no_groups(&steps, base).into_iter().map(seen).chain([cost]).collect();
    };
    let probability = likelihood_of(best, &divisions, steps.len());
    let error = best.switch / best.significance;
    let because = format!(
        "reads that leave one of {} equal parts of the address space take {:.0} us longer ({:.0} standard errors)",
        best.groups,
        best.switch / 1e3,
        best.significance
    );
    // The ratio of the tolerance to the standard error.
    let within = Parameter::GroupSwitch.spec().tolerance * best.switch / error;
    let sure = if within > 2.6 { 0.99 } else { 0.9 };
    let (low, high) = (best.switch - 1.96 * error, best.switch + 1.96 * error);
    vec![
        seen(Finding::exact(Parameter::Groups, best.groups as f64, probability)).because(&because),
        seen(Finding::value(Parameter::GroupSwitch, best.switch, low, high, sure * probability))
            .because(because),
        cost,
    ]
}

/// Returns the probability of the best division among all. The model is a Laplace distribution
/// around two medians: its log-likelihood falls with the logarithm of the sum of distances, times
/// the number of reads.
fn likelihood_of(best: &Division, divisions: &[Division], steps: usize) -> f64 {
    let log = |division: &Division| -(steps as f64) * division.unexplained.max(1.0).ln();
    let others = divisions.iter().filter(|division| division.groups != best.groups);
    let weight: f64 = others.map(|other| (log(other) - log(best)).exp()).sum();
    (1.0 / (1.0 + weight)).min(0.995)
}

/// Returns the findings if no division explains the costs: the drive has no groups, unless noise
/// could have hidden them.
fn no_groups(steps: &[Step], base: f64) -> Vec<Finding> {
    let costs: Vec<f64> = steps.iter().map(|step| step.cost).collect();
    // The standard error of the difference between two halves of the reads.
    let error = 2.0 * standard_error(&costs);
    if error * SURE > 0.3 * base {
        let why = "reads vary too much for a switch of groups to show";
        return vec![
            Finding::unknown(Parameter::Groups, why),
            Finding::unknown(Parameter::GroupSwitch, why),
        ];
    }
    let because = "the time of a random read does not depend on the offset of the previous read";
    vec![
        Finding::exact(Parameter::Groups, 1.0, 0.985).because(because),
        Finding::absent(Parameter::GroupSwitch, 0.985).because(because),
    ]
}

fn picture(steps: &[Step], best: Option<&Division>, capacity: u64) -> Signal {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let points = steps.iter().map(|step| (mib(step.from.abs_diff(step.to)), step.cost / 1e6));
    let signal = Signal::new(
        "Cost of random reads by distance from the previous read (Sun and Zhang, Figure 7)",
        "distance (MiB)",
        "response time (ms)",
        Shape::Points,
    )
    .series("reads of 4 KiB", points);
    match best.filter(|best| best.significance >= SURE) {
        Some(best) => signal.mark(mib(capacity / best.groups), "size of a group"),
        None => signal,
    }
}

/// Returns the chart of each read's cost, separated by whether the read left the group of the
/// previous read.
fn trials(steps: &[Step], division: Option<&Division>, capacity: u64) -> Signal {
    let leaves = |step: &Step| division.is_some_and(|d| step.switches(d.groups, capacity));
    let points = |leaving: bool| {
        let all = steps.iter().enumerate().filter(move |(_, step)| leaves(step) == leaving);
        all.map(|(trial, step)| (trial as f64, step.cost / 1e6)).collect::<Vec<_>>()
    };
    let signal = Signal::new(
        "Random reads: cost of each (Sun and Zhang, Figures 2 and 8)",
        "trial",
        "response time (ms)",
        Shape::Points,
    );
    match division {
        Some(_) => signal
            .series("in the group of the previous read", points(false))
            .series("in another group", points(true)),
        None => signal.series("reads of 4 KiB", points(false)),
    }
}

/// Returns the chart of the cumulative cost of reads in order, and of as many random reads.
fn cumulative(in_order: &Run, at_random: &Run) -> Signal {
    let sums = |run: &Run| {
        let shown = run.records.iter().take(in_order.records.len());
        let sum = shown.scan((0.0, 0.0), |(bytes, cost), record| {
            *bytes += record.len.0 as f64 / 1024.0;
            *cost += Run::nanos(record) / 1e6;
            Some((*bytes, *cost))
        });
        sum.collect::<Vec<_>>()
    };
    Signal::new(
        "Reads in order: cumulative cost (Sun and Zhang, Figure 3)",
        "KiB read",
        "cumulative response time (ms)",
        Shape::Line,
    )
    .series("reads of 4 KiB in order", sums(in_order))
    .series("as many at random", sums(at_random))
}

#[cfg(test)]
mod tests {
    use flashscope_block::Op;

    use super::*;

    // The first reads from a drive that cleans in the background take longer.
    #[test]
    fn reads_are_repeated_as_long_as_they_become_faster_by_more_than_noise() {
        let around = |middle: f64| (0..1500).map(move |nth| middle + f64::from(nth % 20)).collect();
        let (slow, fast, alike): (Vec<f64>, Vec<f64>, Vec<f64>) =
            (around(700.0), around(500.0), around(501.0));
        assert!(has_fallen(&slow, &fast));
        assert!(!has_fallen(&alike, &fast), "a fall within noise");
        assert!(!has_fallen(&fast, &slow), "a rise");
    }

    fn reads(groups: u64, switch: u64, noise: f64) -> Run {
        const CAPACITY: u64 = 1 << 28;
        let mut rng = fastrand::Rng::with_seed(7);
        let mut current = 0;
        let reads = (0..READS).map(|_| {
            let offset = rng.u64(0..CAPACITY / LEN) * LEN;
            let group = offset / (CAPACITY / groups);
            let cost = 750_000 + if group == current { 0 } else { switch };
            current = group;
            let factor = 1.0 + noise * (rng.f64() - 0.5);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let latency = (cost as f64 * factor) as u64;
            (offset, latency)
        });
        Run::of(Op::Read, LEN, reads)
    }

    // The switch costs 0.25 ms, as in the paper.
    #[test]
    fn groups_and_their_switch_are_found() {
        for groups in [2, 3, 4, 8] {
            let findings = estimate(&reads(groups, 250_000, 0.2), 1 << 28);
            assert!(
                findings[0].agrees_with(&Finding::exact(Parameter::Groups, groups as f64, 1.0)),
                "{findings:?}"
            );
            assert!(findings[1].agrees_with(&Finding::exact(Parameter::GroupSwitch, 250e3, 1.0)));
            assert!(findings[0].probability > 0.95);
        }
    }

    #[test]
    fn the_cumulative_chart_ends_at_the_total_cost() {
        let in_order = Run::of(Op::Read, LEN, (0..10).map(|nth| (nth * LEN, 700_000)));
        let picture = cumulative(&in_order, &reads(2, 250_000, 0.0));
        let last = |series: usize| picture.series[series].points.last().copied().unwrap();
        assert!(picture.series.iter().all(|series| series.points.len() == 10));
        assert!(last(0).0 == 40.0 && (last(0).1 - 7.0).abs() < 1e-9, "{:?}", last(0));
        assert!(last(1).0 == 40.0 && (7.5..=10.0).contains(&last(1).1), "{:?}", last(1));
    }

    // Strong noise could hide a switch, which leaves the number of groups unknown.
    #[test]
    fn a_drive_without_groups_has_one_unless_noise_hides_them() {
        let findings = estimate(&reads(1, 0, 0.2), 1 << 28);
        assert!(findings[0].agrees_with(&Finding::exact(Parameter::Groups, 1.0, 1.0)));
        assert!(findings[1].agrees_with(&Finding::absent(Parameter::GroupSwitch, 1.0)));
        assert!(!estimate(&reads(1, 0, 6.0), 1 << 28)[0].is_known());
    }
}
