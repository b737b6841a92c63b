//! The self-check of a measurement: the identical baseline pattern occurs in several
//! micro-benchmarks, and its means must agree.

use flashscope_document::facts::{BaselineCheck, BaselineDifference, Cause, RepeatFacts, RunFacts};
use flashscope_document::manifest::{Manifest, Run, find_run};
use flashscope_document::methodology::EndedBy;
use flashscope_stats::Estimate;
use flashscope_workload::uflip::Baseline;

use crate::deviation::ratio_among;
use crate::means::{Mean, Means};
use crate::words::{baseline_words, list, times};

/// The difference between identical baselines that is accepted in any case.
pub const AGREEMENT: f64 = 0.02;

/// The confidence with which repeats have to differ to count as drift.
const DRIFT_CONFIDENCE: f64 = 0.99;

/// Returns how many counted IOs of a preparation run are compared with the other runs of its
/// baseline: as many as those runs may have.
pub(crate) fn head(manifest: &Manifest, run: &Run) -> Option<u64> {
    let (benchmark, experiment, _) = find_run(&manifest.micro_benchmarks, run.id)?;
    let of = |baseline: &Baseline| baseline.name() == experiment.name;
    let baseline = Baseline::ALL.into_iter().find(of).filter(|_| benchmark.prepares())?;
    Some(manifest.options.setup.io_count.get(baseline))
}

/// Compares the identical baselines of a result; `None` if no baseline was run in two
/// micro-benchmarks.
pub(crate) fn baseline_check(
    manifest: &Manifest,
    means: &Means,
    runs: &[RunFacts],
    repeats: &[RepeatFacts],
) -> Option<BaselineCheck> {
    let all: Vec<(Baseline, Vec<(&'static str, &Mean)>)> = Baseline::ALL
        .into_iter()
        .map(|baseline| (baseline, means.identical(baseline.name())))
        .filter(|(_, found)| found.len() > 1)
        .collect();
    let compared = all.iter().map(|(_, found)| found.len()).sum();
    if compared == 0 {
        return None;
    }
    let (mut largest, mut differences) = (0.0_f64, Vec::new());
    for (baseline, found) in &all {
        for (benchmark, mean) in found {
            let others = found.iter().filter(|(other, _)| other != benchmark);
            let others = together(&others.map(|(_, mean)| mean.ns).collect::<Vec<_>>());
            let Some(ratio) = ratio_among(&mean.ns, &others, compared) else { continue };
            let off = (ratio.value - 1.0).abs();
            largest = largest.max(off);
            if off > AGREEMENT && !ratio.covers(1.0) && ratio.low.is_some() {
                let cause = cause(manifest, &mean.runs, runs, repeats);
                differences.push(difference(*baseline, benchmark, mean, ratio, cause));
            }
        }
    }
    Some(BaselineCheck {
        compared: u32::try_from(compared).unwrap_or(u32::MAX),
        largest_difference: largest,
        agree: differences.is_empty(),
        differences,
    })
}

impl Means {
    /// Returns the means. For each run in `heads`, the mean of its first IOs replaces the mean of
    /// all its IOs.
    pub(crate) fn with_heads(&self, heads: &[(u32, Estimate)]) -> Means {
        let mut means = self.clone();
        for mean in means.series.iter_mut().flat_map(|series| &mut series.means) {
            let head = heads.iter().find(|(run, _)| mean.runs == [*run]);
            mean.ns = head.map_or(mean.ns, |(_, head)| *head);
        }
        means
    }

    /// Returns the means of all runs of the same baseline pattern, with their micro-benchmarks.
    fn identical(&self, baseline: &str) -> Vec<(&'static str, &Mean)> {
        let io_size = i64::try_from(self.io_size.0).unwrap_or(i64::MAX);
        let long = self.experiment("preparation", baseline).first();
        let others = [
            ("granularity", io_size),
            ("alignment", 0),
            ("partitioning", 1),
            ("order", 1),
            ("parallelism", 1),
        ];
        let found = others.into_iter().filter_map(|(benchmark, value)| {
            Some((benchmark, self.at(benchmark, baseline, value)?))
        });
        long.map(|mean| ("preparation", mean)).into_iter().chain(found).collect()
    }
}

/// Returns the mean of independent estimates.
#[allow(clippy::cast_precision_loss)] // there are at most six means
fn together(means: &[Estimate]) -> Estimate {
    let weight = 1.0 / means.len() as f64;
    let parts: Vec<(f64, Estimate)> = means.iter().map(|mean| (weight, *mean)).collect();
    Estimate::weighted_sum(&parts)
}

fn difference(
    baseline: Baseline,
    micro_benchmark: &str,
    mean: &Mean,
    ratio: Estimate,
    (cause, why): (Cause, String),
) -> BaselineDifference {
    let what = baseline_words(baseline);
    BaselineDifference {
        baseline: baseline.name().into(),
        micro_benchmark: micro_benchmark.into(),
        mean_ns: mean.ns,
        ratio,
        runs: mean.runs.clone(),
        cause,
        finding: format!(
            "In {micro_benchmark}, {what} cost {} what they cost in the other micro-benchmarks. \
             Likely cause: {why}.",
            times(&ratio)
        ),
    }
}

/// Returns the likely cause of a difference, and its explanation.
fn cause(
    manifest: &Manifest,
    ids: &[u32],
    runs: &[RunFacts],
    repeats: &[RepeatFacts],
) -> (Cause, String) {
    let of: Vec<&Run> = manifest.runs().filter(|run| ids.contains(&run.id)).collect();
    let sharing: Vec<String> =
        of.iter().flat_map(|run| &run.shares_space_with).map(u32::to_string).collect();
    if !sharing.is_empty() {
        let why = format!("the state: runs {} wrote to the same space before", list(&sharing));
        return (Cause::State, why);
    }
    let disturbed = |facts: &&RunFacts| ids.contains(&facts.run) && !facts.disturbed_by.is_empty();
    if runs.iter().any(|facts| disturbed(&facts)) {
        return (Cause::Disturbance, "other processes disturbed its runs".into());
    }
    let differ = |facts: &&RepeatFacts| facts.runs.iter().any(|run| ids.contains(run));
    let repeated = repeats.iter().find(differ);
    if repeated.is_some_and(|facts| facts.differ_confidence >= DRIFT_CONFIDENCE) {
        return (Cause::Drift, "drift: its repeats differ from each other, too".into());
    }
    let is_short =
        |run: &&Run| run.length.is_some_and(|length| length.ended_by != EndedBy::Precision);
    if of.iter().any(is_short) {
        let why = "the length: a run ended before its mean was known as well as requested";
        return (Cause::Length, why.into());
    }
    let why = "the state: earlier work of the drive outside the target space still has effects";
    (Cause::State, why.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{GivenMeans, result};

    fn check(given: &[GivenMeans], change: impl FnOnce(&mut Manifest)) -> Option<BaselineCheck> {
        let (mut manifest, facts) = result(given);
        change(&mut manifest);
        let means = Means::of(&manifest, &facts.runs, &[]);
        baseline_check(&manifest, &means, &facts.runs, &[])
    }

    const SIZES: &[(i64, f64)] = &[(512, 0.3), (32768, 1.92)];

    #[test]
    fn baselines_that_agree_are_counted() {
        let given: &[GivenMeans] = &[
            ("preparation", "SW", &[(20480, 1.9)]),
            ("granularity", "SW", SIZES),
            ("order", "SW", &[(-1, 4.0), (1, 1.91)]),
        ];
        let found = check(given, |_| {}).unwrap();
        assert!(found.agree && found.compared == 3 && found.differences.is_empty());
        assert!((found.largest_difference - 0.0079).abs() < 1e-3, "{found:?}");
    }

    // A sequential write takes 1.90 ms in the preparation and 0.95 ms in one partition.
    #[test]
    fn a_baseline_that_differs_is_named_with_its_cause() {
        let given: &[GivenMeans] = &[
            ("preparation", "SW", &[(20480, 1.9)]),
            ("granularity", "SW", SIZES),
            ("partitioning", "SW", &[(1, 0.95), (2, 1.0)]),
        ];
        let found = check(given, |manifest| {
            manifest.run_mut(4).unwrap().shares_space_with = vec![2, 3];
        });
        let found = found.unwrap();
        assert!(!found.agree);
        let named = found.differences.iter().find(|d| d.micro_benchmark == "partitioning").unwrap();
        assert_eq!(
            (named.baseline.as_str(), named.cause, &named.runs[..]),
            ("SW", Cause::State, &[4][..])
        );
        assert!(
            named.finding.contains("runs 2 and 3 wrote to the same space"),
            "{}",
            named.finding
        );
        assert!(named.ratio.high.unwrap() < 0.6);
    }

    #[test]
    fn uncertain_means_do_not_differ() {
        let given: &[GivenMeans] =
            &[("preparation", "RR", &[(20480, 0.02)]), ("alignment", "RR", &[(0, 0.024)])];
        // Each mean is known to within 10 µs only.
        assert!(check(given, |_| {}).unwrap().agree);
        assert_eq!(check(&given[..1], |_| {}), None);
    }
}
