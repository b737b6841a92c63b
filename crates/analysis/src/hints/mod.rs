//! The design hints of uFLIP's section 5.3, judged for one drive.
//!
//! The paper drew them from eleven drives of 2008. Each is put here as questions that the interval of
//! a measured ratio answers by yes, no, or not surely; see [`judge`].

mod alignment;
mod block_size;
mod concurrency;
mod latency;
mod locality;
mod mixes;
mod partitions;

use flashscope_result::Manifest;
use flashscope_workload::uflip::{self, Baseline};

use crate::deviation::Answer;
use crate::facts::{Evidence, EvidenceUnit, Hint, Judgement};
use crate::means::Means;
use crate::words::list;

/// A hint, and the rule by which it is judged.
pub struct Rule {
    /// What it says, in the words of the paper.
    pub title: &'static str,
    /// When it holds, for people.
    pub statement: &'static str,
    judge: fn(&Means) -> Found,
}

/// The hints, in the order of the paper.
pub const RULES: [Rule; 7] = [
    latency::RULE,
    block_size::RULE,
    alignment::RULE,
    locality::RULE,
    partitions::RULE,
    mixes::RULE,
    concurrency::RULE,
];

/// "Nearly as well as", "acceptable": up to so many times the cost.
pub(crate) const NEARLY: f64 = 2.0;

/// What was found on a drive.
struct Found {
    judgement: Judgement,
    finding: String,
    evidence: Vec<Evidence>,
}

impl Found {
    /// Nothing, for want of what `missing` names.
    fn nothing(missing: &str) -> Found {
        Found {
            judgement: Judgement::NotMeasured,
            finding: format!("Not measured: it takes {missing}."),
            evidence: vec![],
        }
    }
}

/// A question, answered by a number.
struct Question {
    /// What it is asked of, such as `random writes`.
    of: String,
    /// Whether the hint is right there.
    answer: Answer,
    evidence: Evidence,
}

/// What the answers come to: the hint holds where all are yes, does not where all are no, holds in part
/// where some are yes, and is undecided where none is.
fn judge(answers: impl IntoIterator<Item = Answer>) -> Judgement {
    let answers: Vec<Answer> = answers.into_iter().collect();
    let all = |wanted| answers.iter().all(|answer| *answer == wanted);
    match &answers[..] {
        [] => Judgement::NotMeasured,
        _ if all(Answer::Yes) => Judgement::Holds,
        _ if all(Answer::No) => Judgement::DoesNotHold,
        answers if answers.contains(&Answer::Yes) => Judgement::HoldsInPart,
        _ => Judgement::Undecided,
    }
}

/// Of what a question was answered so, as a list.
fn answered(questions: &[Question], answer: Answer) -> Option<String> {
    let of = questions.iter().filter(|question| question.answer == answer);
    let of: Vec<String> = of.map(|question| question.of.clone()).collect();
    (!of.is_empty()).then(|| list(&of))
}

/// A sentence for each answer that was given: `{of} {words}.`
fn sentences(questions: &[Question], words: [(Answer, &str); 3]) -> String {
    let sentence = |(answer, words): (Answer, &str)| {
        let of = answered(questions, answer)?;
        let (first, rest) = of.split_at(1);
        Some(format!("{}{rest} {words}.", first.to_ascii_uppercase()))
    };
    words.into_iter().filter_map(sentence).collect::<Vec<_>>().join(" ")
}

/// The hints, judged for the drive of a result; none for a result that is none of uFLIP.
pub(crate) fn hints(manifest: &Manifest, means: &Means) -> Vec<Hint> {
    if !manifest.micro_benchmarks.iter().any(|benchmark| uflip::find(&benchmark.name).is_some()) {
        return vec![];
    }
    judged(means)
}

fn judged(means: &Means) -> Vec<Hint> {
    let hint = |(number, rule): (u32, &Rule)| {
        let Found { judgement, finding, evidence } = (rule.judge)(means);
        Hint { number, title: rule.title.into(), judgement, finding, evidence }
    };
    (1..).zip(&RULES).map(hint).collect()
}

/// Evidence that is a ratio.
fn ratio(
    what: String,
    value: flashscope_stats::Estimate,
    shown_by: (&str, &str),
    runs: Vec<u32>,
) -> Evidence {
    let (micro_benchmark, experiment) = (shown_by.0.into(), shown_by.1.into());
    Evidence { what, value, unit: EvidenceUnit::Ratio, micro_benchmark, experiment, runs }
}

/// All baselines by their names.
fn baselines() -> impl Iterator<Item = (Baseline, &'static str)> {
    Baseline::ALL.into_iter().map(|baseline| (baseline, baseline.name()))
}

#[cfg(test)]
mod tests;
