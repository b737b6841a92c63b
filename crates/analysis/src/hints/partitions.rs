use super::locality::{bounds, nearly};
use super::{HintResult, Rule};
use crate::means::Means;
use crate::words::times;
use flashscope_document::facts::{Bounded, Judgement};

/// Hint: write sequentially to few places at once.
pub(super) const RULE: Rule = Rule {
    title: "Sequential writes should be limited to a few partitions",
    statement: "there is a number of partitions (see the characteristics) beyond which sequential writes \
                are slow, and up to it they cost at most twice what they do in one; in part where they \
                cost more up to it; not where they are cheap in any number, or slow in any",
    judge: partitions,
};

fn partitions(means: &Means) -> HintResult {
    let Some(bounded) = means.characteristics().partitioning else {
        return HintResult::nothing("sequential writes in several partitions (partitioning)");
    };
    let series = means.experiment("partitioning", "SW");
    let what = "sequential writes in turns in partitions up to";
    let evidence = bounds(means, series, bounded, ("partitioning", "SW"), what, |n| n.to_string());
    let (judgement, finding) = match bounded {
        Bounded::No => (
            Judgement::DoesNotHold,
            "Sequential writes that alternate between partitions are slow with any number of them."
                .into(),
        ),
        Bounded::Unlimited { measured, ratio } => (
            Judgement::DoesNotHold,
            format!(
                "Up to {measured} partitions, all that was measured, writes cost at most {} sequential \
                 ones: there is no need to limit them.",
                times(&ratio)
            ),
        ),
        Bounded::UpTo { value, ratio } => (
            nearly(&ratio),
            format!(
                "In up to {value} partitions writes cost at most {} sequential ones; in more, they are \
                 slow.",
                times(&ratio)
            ),
        ),
    };
    HintResult { judgement, finding, evidence }
}
