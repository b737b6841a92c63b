use super::{HintResult, Question, Rule, baselines, judge, ratio, sentences};
use crate::deviation::{Answer, Line, is_over, per_byte};
use crate::means::Means;
use crate::words::{baseline_words, duration};
use flashscope_document::conclusion::{Evidence, EvidenceUnit};

/// The ratio of a byte's cost in small IOs to that in large ones, above which larger IOs are
/// beneficial.
const BENEFICIAL: f64 = 1.5;

/// The size of small IOs in bytes: a page of a file system.
const SMALL: i64 = 4096;

/// Hint: larger IOs amortize the latency.
pub(super) const RULE: Rule = Rule {
    title: "Flash devices do incur latency",
    statement: "a byte in IOs of 4 KiB costs more than 1.5 times a byte in the largest IOs, for \
                each baseline",
    judge: latency,
};

fn latency(means: &Means) -> HintResult {
    let (mut questions, mut latencies) = (Vec::new(), Vec::new());
    for (baseline, name) in baselines() {
        let series = means.experiment("granularity", name);
        let small = series.iter().find(|mean| mean.value >= SMALL);
        let Some((small, large)) = small.zip(series.last()).filter(|(s, l)| s.value < l.value)
        else {
            continue;
        };
        let Some(value) = per_byte(small, large, 1) else { continue };
        let words = baseline_words(baseline);
        let what = format!(
            "{words}: cost of a byte in the smallest IOs of 4 KiB or more, relative to the largest IOs"
        );
        let runs = small.runs.iter().chain(&large.runs).copied().collect();
        questions.push(Question {
            of: words.into(),
            answer: is_over(&value, BENEFICIAL),
            evidence: ratio(what, value, ("granularity", name), runs),
        });
        latencies.extend(Line::latency(series).map(|value| {
            let what = format!("{words}: fixed cost per IO");
            let runs = series.iter().flat_map(|mean| &mean.runs).copied().collect();
            let shown_by = ("granularity", name);
            Evidence::measured(what, value, EvidenceUnit::Nanoseconds, shown_by, runs)
        }));
    }
    if questions.is_empty() {
        return HintResult::nothing("several sizes of IO (granularity)");
    }
    let judgement = judge(questions.iter().map(|question| question.answer));
    let costs: Vec<String> = latencies
        .iter()
        .map(|evidence| format!("{} {}", evidence.experiment, duration(evidence.value.value)))
        .collect();
    let mut finding = sentences(
        &questions,
        [
            (Answer::Yes, "are cheaper by the byte in larger IOs"),
            (Answer::No, "are hardly cheaper by the byte in larger IOs"),
            (Answer::Unsure, "are inconclusive"),
        ],
    );
    if !costs.is_empty() {
        finding += &format!(" Fixed cost per IO: {}.", costs.join(", "));
    }
    let evidence = questions.into_iter().map(|question| question.evidence).chain(latencies);
    HintResult { judgement, finding, evidence: evidence.collect() }
}
