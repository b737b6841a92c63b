use flashscope_block::Bytes;
use flashscope_stats::Estimate;

use super::{HintResult, NEARLY, Rule, judge, ratio};
use crate::deviation::is_over;
use crate::means::{Mean, Means};
use crate::words::times;
use flashscope_document::conclusion::Evidence;
use flashscope_document::facts::{CheapLimit, Judgement};

/// Hint: focus random writes on a small area.
pub(super) const RULE: Rule = Rule {
    title: "Random writes should be limited to a focused area",
    statement: "random writes are slow beyond an area (see the characteristics), and within it \
                cost at most twice as much as sequential writes; it holds in part if they cost \
                more within the area; it does not hold if they are cheap everywhere, or slow in \
                every area",
    judge: locality,
};

fn locality(means: &Means) -> HintResult {
    let Some(bounded) = means.characteristics().locality else {
        return HintResult::nothing(
            "random writes in several areas (locality) and sequential writes",
        );
    };
    let areas = means.experiment("locality", "RW");
    let evidence =
        bounds(means, areas, bounded, ("locality", "RW"), "random writes in areas up to", |v| {
            Bytes(v).to_string()
        });
    let (judgement, finding) = match bounded {
        CheapLimit::No => (
            Judgement::DoesNotHold,
            "Random writes are slow even in the smallest areas: focusing them gains nothing."
                .into(),
        ),
        CheapLimit::Unlimited { measured, ratio } => (
            Judgement::DoesNotHold,
            format!(
                "Random writes cost {} sequential ones in areas up to {}, the largest measured: there is no \
                 need to focus them.",
                times(&ratio),
                Bytes(measured)
            ),
        ),
        CheapLimit::UpTo { value, ratio, .. } => (
            nearly(&ratio),
            format!(
                "In areas up to {} random writes cost at most {} sequential ones; beyond, they are slow.",
                Bytes(value),
                times(&ratio)
            ),
        ),
    };
    HintResult { judgement, finding, evidence }
}

/// Returns the judgement from the cost of the cheap values relative to sequential writes. The hint
/// holds if the costs are nearly the same, and holds in part if the cheap values cost more.
pub(super) fn nearly(ratio: &Estimate) -> Judgement {
    match judge([is_over(ratio, NEARLY).not()]) {
        Judgement::DoesNotHold => Judgement::HoldsInPart,
        other => other,
    }
}

/// Returns the highest mean up to the bound and the highest of all, relative to sequential writes.
pub(super) fn bounds(
    means: &Means,
    series: &[Mean],
    bounded: CheapLimit,
    shown_by: (&str, &str),
    what: &str,
    text: impl Fn(u64) -> String,
) -> Vec<Evidence> {
    let Some(sequential) = means.basic("SW") else { return vec![] };
    let up_to = |last: u64| {
        let within = series.iter().filter(|mean| mean.value.unsigned_abs() <= last);
        let highest_cost = within.max_by(|a, b| a.ns.value.total_cmp(&b.ns.value))?;
        let runs = highest_cost.runs.iter().chain(&sequential.runs).copied().collect();
        let value = highest_cost.ns.ratio(&sequential.ns)?;
        let what = format!("{what} {}, relative to sequential writes", text(last));
        Some(ratio(what, value, shown_by, runs))
    };
    let bound = match bounded {
        CheapLimit::UpTo { value, ratio: found, .. } => up_to(value).map(|evidence| Evidence {
            // The smallest values may be slow for another reason.
            value: found,
            ..evidence
        }),
        CheapLimit::No | CheapLimit::Unlimited { .. } => None,
    };
    let all = series.last().and_then(|last| up_to(last.value.unsigned_abs()));
    bound.into_iter().chain(all).collect()
}
