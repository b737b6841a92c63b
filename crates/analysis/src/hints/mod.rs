//! Judges the design hints of uFLIP's section 5.3 for one drive.
//!
//! The paper derived the hints from eleven drives of 2008. In this module, each hint is a set of
//! questions. The interval of a measured ratio answers a question by yes, no or unsure; see
//! [`judge`].

mod alignment;
mod block_size;
mod concurrency;
mod latency;
mod locality;
mod mixes;
mod partitions;

use flashscope_document::Manifest;
use flashscope_workload::uflip::{self, Baseline};

use crate::deviation::Answer;
use crate::means::Means;
use crate::words::list;
use flashscope_document::conclusion::{Evidence, EvidenceUnit};
use flashscope_document::facts::{Hint, Judgement};

/// A hint, and the rule that judges it.
pub struct Rule {
    /// The hint in the words of the paper.
    pub title: &'static str,
    /// The condition for the hint to hold, as text for the user.
    pub statement: &'static str,
    judge: fn(&Means) -> HintResult,
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

/// The largest ratio that counts as "nearly as well as" or "acceptable".
pub(crate) const NEARLY: f64 = 2.0;

/// The judgement of a hint, with its evidence.
struct HintResult {
    judgement: Judgement,
    finding: String,
    evidence: Vec<Evidence>,
}

impl HintResult {
    /// Creates the judgement for a drive on which the experiments in `missing` were not run.
    fn nothing(missing: &str) -> HintResult {
        HintResult {
            judgement: Judgement::NotMeasured,
            finding: format!("Not measured: this needs {missing}."),
            evidence: vec![],
        }
    }
}

/// A question with its answer and the number that answers it.
struct Question {
    /// The subject of the question, such as `random writes`.
    of: String,
    /// The answer: whether the hint holds for the subject.
    answer: Answer,
    evidence: Evidence,
}

/// Returns the judgement that follows from the answers. The hint holds if all are yes, does not
/// hold if all are no, and holds in part if some are yes. In all other cases, it is undecided.
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

/// Returns the subjects with this answer as a list.
fn answered(questions: &[Question], answer: Answer) -> Option<String> {
    let of = questions.iter().filter(|question| question.answer == answer);
    let of: Vec<String> = of.map(|question| question.of.clone()).collect();
    (!of.is_empty()).then(|| list(&of))
}

/// Returns a sentence for each answer given: `{of} {words}.`
fn sentences(questions: &[Question], words: [(Answer, &str); 3]) -> String {
    let sentence = |(answer, words): (Answer, &str)| {
        let of = answered(questions, answer)?;
        let (first, rest) = of.split_at(1);
        Some(format!("{}{rest} {words}.", first.to_ascii_uppercase()))
    };
    words.into_iter().filter_map(sentence).collect::<Vec<_>>().join(" ")
}

/// Judges the hints for the drive of a result; empty for a result without uFLIP's micro-benchmarks.
pub(crate) fn hints(manifest: &Manifest, means: &Means) -> Vec<Hint> {
    if !manifest.micro_benchmarks.iter().any(|benchmark| uflip::find(&benchmark.name).is_some()) {
        return vec![];
    }
    judged(means)
}

fn judged(means: &Means) -> Vec<Hint> {
    let hint = |(number, rule): (u32, &Rule)| {
        let HintResult { judgement, finding, evidence } = (rule.judge)(means);
        Hint { number, title: rule.title.into(), judgement, finding, evidence }
    };
    (1..).zip(&RULES).map(hint).collect()
}

/// Creates evidence that is a ratio.
fn ratio(
    what: String,
    value: flashscope_stats::Estimate,
    shown_by: (&str, &str),
    runs: Vec<u32>,
) -> Evidence {
    Evidence::measured(what, value, EvidenceUnit::Ratio, shown_by, runs)
}

/// Returns all baselines with their names.
fn baselines() -> impl Iterator<Item = (Baseline, &'static str)> {
    Baseline::ALL.into_iter().map(|baseline| (baseline, baseline.name()))
}

#[cfg(test)]
mod tests;
