use super::locality::{bounds, nearly};
use super::{HintResult, Rule};
use crate::means::Means;
use crate::words::times;
use flashscope_document::facts::{CheapLimit, Judgement};

/// Hint: write sequentially to few regions at once.
pub(super) const RULE: Rule = Rule {
    title: "Sequential writes should be limited to a few partitions",
    statement: "sequential writes are slow beyond a number of partitions (see the \
                characteristics), and up to it cost at most twice as much as in one partition; \
                it holds in part if they cost more up to that number; it does not hold if they \
                are cheap in any number, or slow in any",
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
        CheapLimit::No => (
            Judgement::DoesNotHold,
            "Sequential writes that alternate between partitions are slow with any number of partitions."
                .into(),
        ),
        CheapLimit::Unlimited { measured, ratio } => (
            Judgement::DoesNotHold,
            format!(
                "Up to {measured} partitions, the most measured, writes cost at most {} sequential \
                 ones: there is no need to limit them.",
                times(&ratio)
            ),
        ),
        CheapLimit::UpTo { value, ratio, .. } => (
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
