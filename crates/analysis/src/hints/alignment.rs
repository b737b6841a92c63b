use flashscope_workload::uflip::Unit;

use super::{Found, Question, Rule, baselines, judge, ratio, sentences};
use crate::deviation::{AS_EXPECTED, Answer, Deviation, is_over, largest, over_value};
use crate::means::Means;
use crate::words::baseline_words;

/// Hint: align blocks to flash pages.
pub(super) const RULE: Rule = Rule {
    title: "Blocks should be aligned to flash pages",
    statement: "the dearest shift costs more than 1.25 times what aligned IOs do, for each baseline",
    judge: alignment,
};

fn alignment(means: &Means) -> Found {
    let (mut questions, mut free) = (Vec::new(), None);
    for (baseline, name) in baselines() {
        let shifted = over_value(means.experiment("alignment", name), 0);
        free = free.max(free_from(&shifted));
        let Some(dearest) = largest(shifted) else { continue };
        let words = baseline_words(baseline);
        let shift = Unit::Bytes.text(dearest.value);
        let what = format!("{words} shifted by {shift}, relative to aligned ones");
        questions.push(Question {
            of: words.into(),
            answer: is_over(&dearest.ratio, AS_EXPECTED),
            evidence: ratio(what, dearest.ratio, ("alignment", name), dearest.runs),
        });
    }
    if questions.is_empty() {
        return Found::nothing("shifted and aligned IOs (alignment)");
    }
    let judgement = judge(questions.iter().map(|question| question.answer));
    let mut finding = sentences(
        &questions,
        [
            (Answer::Yes, "pay for a lack of alignment"),
            (Answer::No, "do not pay for a lack of alignment"),
            (Answer::Unsure, "are too uncertain to say"),
        ],
    );
    if let Some(free) = free.filter(|_| questions.iter().any(|q| q.answer == Answer::Yes)) {
        finding += &format!(" Shifts by multiples of {} cost nothing.", Unit::Bytes.text(free));
    }
    let evidence = questions.into_iter().map(|question| question.evidence).collect();
    Found { judgement, finding, evidence }
}

/// Returns the smallest shift from which on no shift costs more than expected.
fn free_from(shifted: &[Deviation]) -> Option<i64> {
    let is_free = |shift: &&Deviation| shift.ratio.value <= AS_EXPECTED;
    shifted.iter().rev().take_while(is_free).last().map(|shift| shift.value)
}
