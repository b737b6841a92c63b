use flashscope_workload::uflip::Unit;

use super::{HintResult, Question, Rule, baselines, judge, ratio, sentences};
use crate::deviation::{AS_EXPECTED, Answer, Deviation, is_over, largest, over_value};
use crate::means::Means;
use crate::words::baseline_words;

/// Hint: align blocks to flash pages.
pub(super) const RULE: Rule = Rule {
    title: "Blocks should be aligned to flash pages",
    statement: "the most expensive shift costs more than 1.25 times an aligned IO, for each \
                baseline",
    judge: alignment,
};

fn alignment(means: &Means) -> HintResult {
    let (mut questions, mut free) = (Vec::new(), None);
    for (baseline, name) in baselines() {
        let shifted = over_value(means.experiment("alignment", name), 0);
        free = free.max(free_from(&shifted));
        let Some(highest_cost) = largest(shifted) else { continue };
        let words = baseline_words(baseline);
        let shift = Unit::Bytes.text(highest_cost.value);
        let what = format!("{words} shifted by {shift}, relative to aligned ones");
        questions.push(Question {
            of: words.into(),
            answer: is_over(&highest_cost.ratio, AS_EXPECTED),
            evidence: ratio(what, highest_cost.ratio, ("alignment", name), highest_cost.runs),
        });
    }
    if questions.is_empty() {
        return HintResult::nothing("shifted and aligned IOs (alignment)");
    }
    let judgement = judge(questions.iter().map(|question| question.answer));
    let mut finding = sentences(
        &questions,
        [
            (Answer::Yes, "pay for a lack of alignment"),
            (Answer::No, "do not pay for a lack of alignment"),
            (Answer::Unsure, "are inconclusive"),
        ],
    );
    if let Some(free) = free.filter(|_| questions.iter().any(|q| q.answer == Answer::Yes)) {
        finding += &format!(" Shifts by multiples of {} cost nothing.", Unit::Bytes.text(free));
    }
    let evidence = questions.into_iter().map(|question| question.evidence).collect();
    HintResult { judgement, finding, evidence }
}

/// Returns the smallest shift from which on no shift costs more than expected.
fn free_from(shifted: &[Deviation]) -> Option<i64> {
    let is_free = |shift: &&Deviation| shift.ratio.value <= AS_EXPECTED;
    shifted.iter().rev().take_while(is_free).last().map(|shift| shift.value)
}
