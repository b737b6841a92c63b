use flashscope_document::comparison::{
    ComparedKind, ComparedResult, ComparedWorkload, ComparisonConclusion, ComparisonEvidence,
    ComparisonVerdict,
};
use flashscope_document::what_if::Quantity;
use flashscope_stats::Estimate;

use super::regressions::inverse;
use super::verdict_of;
use crate::words::{list, number};

/// The classes of patterns, by operation. If both classes of an operation have the same verdict,
/// the conclusion names only the operation.
const CLASSES: [(&str, [&str; 2]); 2] = [
    ("reads", ["random reads", "sequential reads"]),
    ("writes", ["random writes", "sequential writes"]),
];

/// Returns a conclusion for each result but the first.
pub(super) fn conclusions(
    results: &[ComparedResult],
    workloads: &[ComparedWorkload],
) -> Vec<ComparisonConclusion> {
    (1..results.len()).map(|result| conclusion(results, workloads, result)).collect()
}

/// A workload with its verdict.
struct JudgedWorkload<'a> {
    workload: &'a str,
    ratio: Estimate,
    verdict: ComparisonVerdict,
}

fn judged(
    workloads: &[ComparedWorkload],
    quantity: Quantity,
    result: usize,
) -> Vec<JudgedWorkload<'_>> {
    let judge = |workload: &'_ ComparedWorkload| verdict_of(workload, quantity, result);
    let all = workloads.iter().filter_map(|workload| {
        let (ratio, verdict) = judge(workload)?;
        Some(JudgedWorkload { workload: &workload.name, ratio, verdict })
    });
    all.collect()
}

fn conclusion(
    results: &[ComparedResult],
    workloads: &[ComparedWorkload],
    result: usize,
) -> ComparisonConclusion {
    let (name, baseline) = (&results[result].name, &results[0].name);
    let latency = judged(workloads, Quantity::MeanLatency, result);
    let amplified = judged(workloads, Quantity::WriteAmplification, result);
    let mut sentences = Vec::new();
    sentences.extend(speed(name, baseline, &latency));
    sentences.extend(amplification(name, baseline, &amplified));
    if sentences.is_empty() {
        let is_measured = |kind| kind == ComparedKind::Measurement;
        let remedy = match is_measured(results[result].kind) || is_measured(results[0].kind) {
            true => {
                "a single run of a pattern does not show how much runs differ, so measure with `--repeats 3`"
            }
            false => "compare their values with care",
        };
        sentences
            .push(format!("{name} and {baseline} share no number with an interval: {remedy}."));
    }
    let evidence = [(Quantity::MeanLatency, latency), (Quantity::WriteAmplification, amplified)];
    let evidence =
        evidence.into_iter().flat_map(|(quantity, all)| {
            all.into_iter().map(move |JudgedWorkload { workload, ratio, verdict }| {
                ComparisonEvidence { workload: workload.into(), quantity, ratio, verdict }
            })
        });
    ComparisonConclusion {
        result: u32::try_from(result).unwrap_or(u32::MAX),
        text: sentences.join(" "),
        evidence: evidence.collect(),
    }
}

/// Returns the sentence about mean latencies; `None` if there is none with an interval.
fn speed(name: &str, baseline: &str, all: &[JudgedWorkload]) -> Option<String> {
    let of = |verdict| all.iter().filter(move |one| one.verdict == verdict).collect::<Vec<_>>();
    let [better, worse, equivalent, unclear] = [
        ComparisonVerdict::Better,
        ComparisonVerdict::Worse,
        ComparisonVerdict::Equivalent,
        ComparisonVerdict::Inconclusive,
    ]
    .map(of);
    let mut differ = Vec::new();
    if !better.is_empty() {
        let range = range(better.iter().filter_map(|one| inverse(one.ratio)));
        differ.push(format!("{range} times as fast as {baseline} in {}", names(&better, all)));
    }
    if !worse.is_empty() {
        let range = range(worse.iter().map(|one| one.ratio));
        let than = if better.is_empty() { format!(" as {baseline}") } else { String::new() };
        differ.push(format!("{range} times as slow{than} in {}", names(&worse, all)));
    }
    let mut parts = Vec::new();
    if !differ.is_empty() {
        parts.push(format!("{name} is {}", differ.join(" and ")));
    }
    if !equivalent.is_empty() {
        let names = names(&equivalent, all);
        parts.push(match differ.is_empty() {
            true => format!("{name} and {baseline} differ by at most 5 % in {names}"),
            false => format!("{names} differ by at most 5 %"),
        });
    }
    if !unclear.is_empty() {
        parts.push(format!(
            "the mean latencies of {} are too uncertain for a verdict",
            names(&unclear, all)
        ));
    }
    let mut text = parts.join("; ");
    // The other parts name the results; the part about inconclusive workloads does not.
    if differ.is_empty() && equivalent.is_empty() {
        text = format!("{name} and {baseline}: {text}");
    }
    (!parts.is_empty()).then(|| text + ".")
}

fn amplification(name: &str, baseline: &str, all: &[JudgedWorkload]) -> Option<String> {
    let differ = |one: &&JudgedWorkload| {
        matches!(one.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse)
    };
    let differ: Vec<&JudgedWorkload> = all.iter().filter(differ).collect();
    let range = range(differ.iter().map(|one| one.ratio));
    let names = names(&differ, all);
    (!differ.is_empty()).then(|| {
        format!("The write amplification of {name} is {range} times that of {baseline} in {names}.")
    })
}

/// Returns the range that contains all intervals.
fn range(ratios: impl Iterator<Item = Estimate>) -> String {
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for ratio in ratios {
        low = low.min(ratio.low.unwrap_or(ratio.value));
        high = high.max(ratio.high.unwrap_or(f64::INFINITY));
    }
    let [low_text, high_text] = [low, high].map(number);
    match () {
        () if high.is_infinite() => format!("at least {low_text}"),
        () if low_text == high_text => low_text,
        () => format!("{low_text} to {high_text}"),
    }
}

/// Maximum number of workloads of a class to name one by one.
const MAX_NAMED: usize = 3;

/// Returns the names of the workloads `some`. The name of a class replaces its workloads if `some`
/// has all or many of them.
fn names(some: &[&JudgedWorkload], all: &[JudgedWorkload]) -> String {
    let count_some = |of: &str| some.iter().filter(|one| class(one) == Some(of)).count();
    let count_all = |of: &str| all.iter().filter(|one| class(one) == Some(of)).count();
    let is_whole = |of: &&str| count_all(of) > 0 && count_all(of) == count_some(of);
    let of_class = |of: &'static str| match CLASSES.iter().find(|(_, both)| both.contains(&of)) {
        Some((operation, both)) if both.iter().all(&is_whole) => operation.to_string(),
        _ if is_whole(&of) => of.to_string(),
        _ => format!("{of} ({} of {} workloads)", count_some(of), count_all(of)),
    };
    let mut names: Vec<String> = Vec::new();
    for one in some {
        let name = match class(one) {
            Some(class) if is_whole(&class) || count_some(class) > MAX_NAMED => of_class(class),
            _ => one.workload.to_string(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    list(&names)
}

/// Returns the class of a workload, if it is a pattern of one operation.
fn class(one: &JudgedWorkload) -> Option<&'static str> {
    let mut classes = CLASSES.iter().flat_map(|(_, classes)| classes);
    classes.find(|class| one.workload.starts_with(&format!("{class} of "))).copied()
}
