use flashscope_document::comparison::{ComparedWorkload, Regression, RegressionCheck};
use flashscope_document::what_if::Quantity;
use flashscope_stats::Estimate;

/// Finds the numbers that are worse than those of the baseline by more than `limit`, a share.
pub(super) fn check(workloads: &[ComparedWorkload], limit: f64) -> RegressionCheck {
    let mut check = RegressionCheck { limit, found: vec![], undecided: vec![], not_judged: 0 };
    for workload in workloads {
        for compared in &workload.quantities {
            for (result, number) in compared.results.iter().enumerate() {
                let Some(ratio) = number.ratio else { continue };
                if number.verdict.is_none() {
                    check.not_judged += 1;
                    continue;
                }
                let Some(loss) = loss(ratio, compared.quantity) else { continue };
                let (workload, quantity) = (workload.name.clone(), compared.quantity);
                let result = u32::try_from(result).unwrap_or(u32::MAX);
                let regression = Regression { result, workload, quantity, loss };
                if loss.low.is_some_and(|low| low > limit) {
                    check.found.push(regression);
                } else if loss.high.is_none_or(|high| high > limit) {
                    check.undecided.push(regression);
                }
            }
        }
    }
    check
}

/// Returns the loss, as a share. For a quantity of which less is better, this is its rise; for a
/// rate, the excess of the baseline over the rate. A rate of 1/1.1 and a latency of 1.1 are both a
/// loss of 10 %.
fn loss(ratio: Estimate, quantity: Quantity) -> Option<Estimate> {
    let factor = match quantity.is_better_higher() {
        false => ratio,
        true => inverse(ratio)?,
    };
    let minus_one = |end: f64| end - 1.0;
    Some(Estimate {
        value: factor.value - 1.0,
        low: factor.low.map(minus_one),
        high: factor.high.map(minus_one),
    })
}

/// Returns the inverse of a positive ratio.
pub(super) fn inverse(ratio: Estimate) -> Option<Estimate> {
    let end = |end: Option<f64>| end.filter(|end| *end > 0.0).map(f64::recip);
    (ratio.value > 0.0).then(|| Estimate {
        value: ratio.value.recip(),
        low: end(ratio.high),
        high: end(ratio.low),
    })
}
