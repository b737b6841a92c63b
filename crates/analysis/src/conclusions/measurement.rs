//! The conclusions of a measurement.

use flashscope_document::Manifest;
use flashscope_document::conclusion::{Conclusion, Evidence, EvidenceUnit, PageSection};
use flashscope_document::facts::{Facts, Latency, RunFacts, TrackedValue};
use flashscope_document::grid::GridPoint;
use flashscope_document::manifest::{Experiment, MicroBenchmark, Run};
use flashscope_document::rounds::Metric;
use flashscope_stats::Estimate;

use super::{depths, uflip};
use crate::deviation::{Answer, is_over};
use crate::means::Means;
use crate::words::{duration, number, percent, rate, ratio_text, rounded, with_interval};

/// The ratio from which free space makes a difference.
const SPACE_MATTERS: f64 = 1.1;

/// Returns the conclusions about a drive, the most consequential first; empty if nothing that they
/// need was measured.
pub(crate) fn conclusions(manifest: &Manifest, means: &Means, facts: &Facts) -> Vec<Conclusion> {
    if facts.verdicts_withheld.is_some() {
        return vec![disturbed(facts)];
    }
    let mut all = uflip::conclusions(means, &facts.characteristics);
    // The costs of the baselines come last.
    let concurrency = depths::conclusions(manifest, facts);
    all.splice(
        all.len().saturating_sub(1)..,
        [concurrency, all.last().cloned()].into_iter().flatten(),
    );
    all.splice(0..0, [rounds(facts), free_space(manifest, facts)].into_iter().flatten());
    if all.is_empty() {
        all.extend(slowest(manifest, facts));
    }
    all
}

#[allow(clippy::cast_precision_loss, reason = "runs are few")]
fn disturbed(facts: &Facts) -> Conclusion {
    let (all, is_disturbed) = (facts.runs.len(), |run: &&RunFacts| !run.disturbed_by.is_empty());
    let runs: Vec<u32> = facts.runs.iter().filter(is_disturbed).map(|run| run.run).collect();
    let share = Estimate::symmetric(runs.len() as f64 / all as f64, None);
    let text = format!(
        "Other processes disturbed {} of {all} runs, so these numbers allow no conclusions: measure again on an idle machine.",
        runs.len()
    );
    let what = "share of runs that other processes disturbed";
    let evidence = Evidence::shown_in(PageSection::Numbers, what, share, EvidenceUnit::Share);
    Conclusion::new(text, vec![Evidence { runs, ..evidence }])
}

/// Returns the conclusion of a test in rounds.
fn rounds(facts: &Facts) -> Option<Conclusion> {
    let rounds = facts.rounds.as_ref()?;
    let known = rounds.tracked.iter().filter_map(|one| Some((one, one.mean?)));
    let known: Vec<(&TrackedValue, f64)> = known.collect();
    let evidence = known.iter().map(|(one, mean)| {
        let unit = match one.metric {
            Metric::Iops => EvidenceUnit::IosPerSecond,
            Metric::Throughput => EvidenceUnit::BytesPerSecond,
            Metric::Latency => EvidenceUnit::Nanoseconds,
        };
        let of_test = (rounds.test.as_str(), one.experiment.as_str());
        let what = format!("{}, mean over the last rounds", one.experiment);
        Evidence::measured(what, Estimate::symmetric(*mean, None), unit, of_test, vec![])
    });
    let value = known.first().map(|(one, mean)| {
        let mean = match one.metric {
            Metric::Iops => format!("{} IOs a second", rounded(*mean)),
            Metric::Throughput => rate(*mean),
            Metric::Latency => duration(*mean),
        };
        format!("{} {mean} on average", one.experiment)
    });
    let value = value.map(|value| format!(": {value}")).unwrap_or_default();
    let text = match rounds.steady_round {
        Some(round) => format!("The drive was steady from round {round} on{value}."),
        None => format!(
            "The drive was not steady after {} rounds, so its numbers may still change{value}.",
            rounds.rounds
        ),
    };
    Some(Conclusion::new(text, evidence.collect()))
}

/// Returns the effect of free space on the shortest writes of a grid.
fn free_space(manifest: &Manifest, facts: &Facts) -> Option<Conclusion> {
    let grid = crate::write_grid(manifest, facts)?;
    let shortest = grid.points.iter().map(|point| point.mean_len).min()?;
    let points: Vec<&GridPoint> =
        grid.points.iter().filter(|point| point.mean_len == shortest).collect();
    let by_space = |a: &&&GridPoint, b: &&&GridPoint| a.free_space.total_cmp(&b.free_space);
    let (least, most) = (points.iter().min_by(by_space)?, points.iter().max_by(by_space)?);
    if least.run == most.run {
        return None;
    }
    let ratio = least.per_page.ratio(&most.per_page)?;
    let (few, many) = (percent(least.free_space), percent(most.free_space));
    let pages =
        if shortest == 1 { "one page".into() } else { format!("{shortest} pages on average") };
    let text = match is_over(&ratio, SPACE_MATTERS) {
        Answer::Yes => format!(
            "Keep space free: uniform writes of {pages} cost {} times as much with {few} of free space as with {many}.",
            ratio_text(&ratio)
        ),
        Answer::No => format!(
            "Uniform writes of {pages} cost about the same with {few} of free space as with {many}."
        ),
        Answer::Unsure => format!(
            "Uniform writes of {pages} cost {} times as much with {few} of free space as with {many}, which is inconclusive: \
             measure longer.",
            ratio_text(&ratio)
        ),
    };
    let what = format!("cost of a page with {few} of free space, relative to {many}");
    let shown_by = experiment_of(manifest, least.run)?;
    let runs = vec![least.run, most.run];
    let evidence = Evidence::measured(what, ratio, EvidenceUnit::Ratio, names(shown_by), runs);
    Some(Conclusion::new(text, vec![evidence]))
}

type OfRun<'a> = (&'a MicroBenchmark, &'a Experiment, &'a Run);

fn experiment_of(manifest: &Manifest, id: u32) -> Option<OfRun<'_>> {
    let all = manifest.micro_benchmarks.iter().flat_map(|benchmark| {
        let of = move |experiment| (benchmark, experiment);
        benchmark.experiments.iter().map(of)
    });
    let mut runs = all.flat_map(|(benchmark, experiment): (_, &Experiment)| {
        experiment.runs.iter().map(move |run| (benchmark, experiment, run))
    });
    runs.find(|(_, _, run)| run.id == id)
}

fn names<'a>((benchmark, experiment, _): OfRun<'a>) -> (&'a str, &'a str) {
    (&benchmark.name, &experiment.name)
}

/// Returns the response times of the run with the slowest mean, for a result without other
/// conclusions.
#[allow(clippy::cast_precision_loss, reason = "latencies are far below 2^53 ns")]
fn slowest(manifest: &Manifest, facts: &Facts) -> Option<Conclusion> {
    let order =
        |a: &&RunFacts, b: &&RunFacts| a.latency_ns.mean.value.total_cmp(&b.latency_ns.mean.value);
    let run = facts.runs.iter().max_by(order)?;
    let found @ (benchmark, experiment, _) = experiment_of(manifest, run.run)?;
    let Latency { mean, p50, p99, .. } = run.latency_ns;
    let name = match facts.runs.len() {
        1 => "IOs".to_string(),
        runs => {
            format!("IOs of {} {}, the slowest of {runs} runs,", benchmark.title, experiment.name)
        }
    };
    let tail = match p50 {
        0 => String::new(),
        _ => format!(", {} times the median", number(p99 as f64 / p50 as f64)),
    };
    let mut text = format!(
        "{name} took {} on average, and 1 % took more than {}{tail}.",
        with_interval(&mean, duration),
        duration(p99 as f64)
    );
    if let Some(open_loop) = &run.open_loop {
        let late = open_loop.late_ns.p99 as f64;
        text += &match late > mean.value {
            true => format!(
                " The drive fell behind: 1 % of the IOs were submitted more than {} late.",
                duration(late)
            ),
            false => " The drive kept up with the request times of the workload.".into(),
        };
    }
    let evidence = |what: &str, value| {
        let unit = EvidenceUnit::Nanoseconds;
        Evidence::measured(what, value, unit, names(found), vec![run.run])
    };
    let all = vec![
        evidence("mean response time", mean),
        evidence("99th percentile", Estimate::symmetric(p99 as f64, None)),
    ];
    Some(Conclusion::new(text, all))
}
