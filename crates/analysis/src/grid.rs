//! The summary grid of uFLIP (the visual tool's "device result summary"): a verdict on whether each
//! experiment of the nine micro-benchmarks is interesting.
//!
//! Every rule states an expectation for the parameter. An experiment is interesting if it deviates
//! by more than the limit of the rule, and if the interval of the ratio, widened for all
//! comparisons made, excludes 1.

use flashscope_block::Bytes;
use flashscope_document::Manifest;
use flashscope_stats::Estimate;
use flashscope_workload::uflip::{self, MICRO_BENCHMARKS, MicroBenchmark, Setup};

use crate::characteristics::ABOUT_THE_SAME;
use crate::deviation::{
    AS_EXPECTED, Deviation, Line, deviations, largest, over_value, pairs, per_byte, size,
};
use crate::means::{Mean, Means};
use crate::words::{ratio_text, times};
use flashscope_document::facts::{Interest, Verdict};

/// The rule of a micro-benchmark.
pub struct Rule {
    /// The micro-benchmark.
    pub micro_benchmark: &'static str,
    /// The condition for an interesting experiment, as text for the user.
    pub statement: &'static str,
    /// Returns the deviations of an experiment, or the text that names what is missing.
    find: fn(&Series) -> Result<Vec<Finding>, String>,
}

/// The rules, in the order of the micro-benchmarks.
pub const RULES: [Rule; 9] = [
    Rule {
        micro_benchmark: "granularity",
        statement: "the mean of an IO size differs by more than a factor of 1.25 from the line \
                    latency + size / bandwidth through the means, or a byte in IOs of the usual \
                    size costs more than twice a byte in the largest IOs",
        find: granularity,
    },
    Rule {
        micro_benchmark: "alignment",
        statement: "a shift costs more than 1.25 times an aligned IO",
        find: alignment,
    },
    Rule {
        micro_benchmark: "locality",
        statement: "the most expensive area costs more than 1.5 times the cheapest",
        find: highest_cost,
    },
    Rule {
        micro_benchmark: "partitioning",
        statement: "the most expensive number of partitions costs more than 1.5 times the cheapest",
        find: highest_cost,
    },
    Rule {
        micro_benchmark: "order",
        statement: "the most expensive increment costs more than 1.5 times the cheapest",
        find: highest_cost,
    },
    Rule {
        micro_benchmark: "parallelism",
        statement: "an IO at some degree differs by more than a factor of 1.25 from the degree \
                    times a single IO",
        find: parallelism,
    },
    Rule {
        micro_benchmark: "mix",
        statement: "a mix differs by more than a factor of 1.25 from the mean of its two \
                    baselines, each weighted by its share of the IOs",
        find: mix,
    },
    Rule {
        micro_benchmark: "pause",
        statement: "an IO with some pause differs by more than a factor of 1.25 from an IO \
                    without a pause",
        find: pause,
    },
    Rule {
        micro_benchmark: "bursts",
        statement: "the most expensive length of bursts costs more than 1.5 times the cheapest",
        find: highest_cost,
    },
];

/// The largest expected ratio of the cost per byte in IOs of the usual size to that in the largest
/// IOs.
const BYTE_LIMIT: f64 = 2.0;

/// An experiment as input of a rule.
struct Series<'a> {
    means: &'a [Mean],
    all: &'a Means,
    benchmark: &'a MicroBenchmark,
    experiment: &'a str,
}

impl Series<'_> {
    /// Returns a value of the parameter as text.
    fn text(&self, value: i64) -> String {
        format!("{} {}", self.benchmark.parameter, self.benchmark.unit.text(value))
    }

    /// Returns the mean of a baseline, or a text that names the missing baseline.
    fn basic(&self, baseline: &str) -> Result<Estimate, String> {
        let missing = || format!("It is compared with {baseline}, which was not run.");
        self.all.basic(baseline).map(|mean| mean.ns).ok_or_else(missing)
    }
}

/// A possible deviation.
struct Finding {
    /// The size of the deviation, above 1.
    ratio: Estimate,
    /// The largest expected ratio.
    limit: f64,
    /// The deviation as text, with the ratio.
    words: String,
}

impl Finding {
    fn is_interesting(&self) -> bool {
        self.ratio.value > self.limit && self.ratio.low.is_some_and(|low| low > 1.0)
    }

    fn rank(&self) -> (bool, f64) {
        (self.is_interesting(), self.ratio.value / self.limit)
    }

    fn verdict(self) -> (Interest, String, Option<Estimate>) {
        let Finding { ratio, limit, ref words } = self;
        let (interest, why) = match (self.is_interesting(), ratio.value > limit) {
            (true, _) => (Interest::Interesting, format!("more than ×{limit} is not expected")),
            (false, true) => (Interest::NotInteresting, "it may be chance".into()),
            (false, false) => (Interest::NotInteresting, format!("up to ×{limit} is expected")),
        };
        let mut words = words.clone();
        if let Some(first) = words.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        (interest, format!("{words}: {why}."), Some(ratio))
    }
}

/// Returns the grid of a result, with every experiment of the nine micro-benchmarks; empty if the
/// result has none of them.
pub(crate) fn grid(manifest: &Manifest, means: &Means) -> Vec<Verdict> {
    if !manifest.micro_benchmarks.iter().any(|benchmark| uflip::find(&benchmark.name).is_some()) {
        return vec![];
    }
    // The names of experiments do not depend on the setup, and a manifest may hold an impossible
    // setup.
    let any = Setup::paper(Bytes::gib(1), 0);
    let mut grid = Vec::new();
    for (benchmark, rule) in MICRO_BENCHMARKS.into_iter().zip(&RULES) {
        for experiment in benchmark.experiments(&any) {
            grid.push(verdict(rule, benchmark, &experiment.name, means));
        }
    }
    grid
}

fn verdict(rule: &Rule, benchmark: &MicroBenchmark, experiment: &str, all: &Means) -> Verdict {
    let means = all.experiment(benchmark.name, experiment);
    let series = Series { means, all, benchmark, experiment };
    let found = match means.len() {
        0 => Err("Not run.".into()),
        1 => Err(format!("Only one value of {} was run.", benchmark.parameter)),
        _ => (rule.find)(&series),
    };
    let first = |found: Vec<Finding>| {
        let by_rank = |a: &Finding, b: &Finding| {
            let (a, b) = (a.rank(), b.rank());
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        };
        found.into_iter().max_by(by_rank).ok_or_else(|| "Too few runs were done.".to_string())
    };
    let (interest, reason, effect) = match found.and_then(first) {
        Ok(finding) => finding.verdict(),
        Err(missing) => (Interest::NotPerformed, missing, None),
    };
    Verdict {
        micro_benchmark: benchmark.name.into(),
        experiment: experiment.into(),
        interest,
        reason,
        effect,
    }
}

fn highest_cost(series: &Series) -> Result<Vec<Finding>, String> {
    let found = largest(pairs(series.means)).map(|found| {
        let than = found.than.map(|than| series.text(than)).unwrap_or_default();
        let (value, times) = (series.text(found.value), times(&found.ratio));
        let words = format!("{value} costs {times} what {than} does");
        Finding { ratio: found.ratio, limit: ABOUT_THE_SAME, words }
    });
    Ok(found.into_iter().collect())
}

#[allow(clippy::cast_precision_loss)] // sizes are few
fn granularity(series: &Series) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    if let Some(line) = Line::through(series.means) {
        // Two numbers are fitted to all means, which determines the uncertainty of the line.
        let known: Vec<f64> = series.means.iter().filter_map(relative_half_width).collect();
        let squares = known.iter().map(|half| half * half).sum::<f64>();
        let half = (2.0 * squares).sqrt() / (known.len() as f64);
        let expected = |mean: &Mean| {
            let ns = line.at(size(mean));
            Some(Estimate::symmetric(ns, Some(ns * half).filter(|half| half.is_finite())))
        };
        found = either_way(
            deviations(series.means, expected),
            |value| format!("{} costs", series.text(value)),
            "what latency and bandwidth predict",
        );
    }
    let usual = i64::try_from(series.all.io_size.0).unwrap_or(i64::MAX);
    let usual = series.means.iter().find(|mean| mean.value == usual);
    if let Some((usual, large)) = usual.zip(series.means.last()).filter(|(u, l)| u.value < l.value)
        && let Some(ratio) = per_byte(usual, large, 1)
    {
        let (usual, large) = (series.text(usual.value), series.text(large.value));
        let words = format!("a byte of {usual} costs {} one of {large}", times(&ratio));
        found.push(Finding { ratio, limit: BYTE_LIMIT, words });
    }
    Ok(found)
}

/// Returns half the width of a mean's interval, relative to the mean.
fn relative_half_width(mean: &Mean) -> Option<f64> {
    Some(mean.ns.half_width()? / mean.ns.value)
}

fn alignment(series: &Series) -> Result<Vec<Finding>, String> {
    if !series.means.iter().any(|mean| mean.value == 0) {
        return Err("It is compared with the aligned pattern, which was not run.".into());
    }
    let found = largest(over_value(series.means, 0)).map(|found| {
        let words = format!(
            "{} costs {} what aligned IOs do",
            series.text(found.value),
            times(&found.ratio)
        );
        Finding { ratio: found.ratio, limit: AS_EXPECTED, words }
    });
    Ok(found.into_iter().collect())
}

fn parallelism(series: &Series) -> Result<Vec<Finding>, String> {
    let alone = series.means.iter().find(|mean| mean.value == 1).map(|mean| mean.ns);
    let alone = alone.map_or_else(|| series.basic(series.experiment), Ok)?;
    let concurrent: Vec<Mean> =
        series.means.iter().filter(|mean| mean.value > 1).cloned().collect();
    let expected = |mean: &Mean| Some(Estimate::weighted_sum(&[(size(mean), alone)]));
    Ok(either_way(
        deviations(&concurrent, expected),
        |value| format!("with {} an IO costs", series.text(value)),
        "the degree times what a single IO costs",
    ))
}

fn mix(series: &Series) -> Result<Vec<Finding>, String> {
    let (first, second) = series.experiment.split_once('/').unwrap_or_default();
    let (first, second) = (series.basic(first)?, series.basic(second)?);
    Ok(either_way(
        deviations(series.means, |mean| Some(expected_of_mix(mean, first, second))),
        |value| format!("{} costs", series.text(value)),
        "the weighted mean of its baselines",
    ))
}

/// Returns the expected cost of a mix if neither pattern disturbs the other: `value` IOs of the
/// first for one of the second.
pub(crate) fn expected_of_mix(mean: &Mean, first: Estimate, second: Estimate) -> Estimate {
    let ratio = size(mean);
    Estimate::weighted_sum(&[(ratio / (ratio + 1.0), first), (1.0 / (ratio + 1.0), second)])
}

fn pause(series: &Series) -> Result<Vec<Finding>, String> {
    let without = series.basic(series.experiment)?;
    Ok(either_way(
        deviations(series.means, |_| Some(without)),
        |value| format!("with {} an IO costs", series.text(value)),
        "what it costs without a pause",
    ))
}

/// Returns the largest deviation upwards and the largest downwards, as the cost of `of` relative to
/// `than`.
fn either_way(all: Vec<Deviation>, of: impl Fn(i64) -> String, than: &str) -> Vec<Finding> {
    let finding = |found: Deviation, words: String| {
        let words = format!("{} {words} {than}", of(found.value));
        Finding { ratio: found.ratio, limit: AS_EXPECTED, words }
    };
    let inverse: Vec<_> = all.iter().map(Deviation::inverse).collect();
    let dear = largest(all).map(|found| {
        let words = times(&found.ratio);
        finding(found, words)
    });
    let cheap = largest(inverse).map(|found| {
        let words = format!("1/{} of", ratio_text(&found.ratio));
        finding(found, words)
    });
    dear.into_iter().chain(cheap).collect()
}

#[cfg(test)]
mod tests;
