use flashscope_document::comparison::{ComparedNumber, ComparisonVerdict};
use flashscope_document::what_if::Quantity;
use flashscope_stats::Estimate;

use super::numbers::Number;

/// The smallest difference, as a share, that can be significant. Runs of the same drive with other
/// seeds differ by up to this much, for reasons that the interval of a single run does not cover.
pub(super) const MIN_DIFFERENCE: f64 = 0.02;

/// The largest difference, as a share, of numbers that count as equivalent.
const EQUIVALENT: f64 = 0.05;

/// Returns the number of ratios to the baseline that have an interval.
pub(super) fn comparisons(results: &[Option<Number>]) -> usize {
    let [first, others @ ..] = results else { return 0 };
    let has_interval =
        |number: &Option<Number>| number.is_some_and(|number| number.value.half_width().is_some());
    if has_interval(first) { others.iter().filter(|one| has_interval(one)).count() } else { 0 }
}

/// Compares a quantity of each result with that of the first. The intervals of ratios hold for
/// `comparisons` ratios at once.
pub(super) fn beside_baseline(
    results: &[Option<Number>],
    quantity: Quantity,
    comparisons: usize,
) -> Vec<ComparedNumber> {
    let widened = |number: &Number| number.value.among_few(comparisons, number.freedom);
    let first = results.first().copied().flatten();
    let beside = |(nth, number): (usize, &Option<Number>)| {
        let ratio = number.zip(first).filter(|_| nth > 0);
        let ratio = ratio.and_then(|(number, first)| widened(&number).ratio(&widened(&first)));
        let verdict = ratio.and_then(|ratio| verdict(ratio, quantity));
        let differs = verdict
            .map(|verdict| matches!(verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse));
        ComparedNumber { value: number.map(|number| number.value), ratio, differs, verdict }
    };
    results.iter().enumerate().map(beside).collect()
}

/// Returns the verdict about a ratio to the baseline; `None` without an interval.
fn verdict(ratio: Estimate, quantity: Quantity) -> Option<ComparisonVerdict> {
    if ratio.low.is_none() && ratio.high.is_none() {
        return None;
    }
    let (low, high) = (ratio.low.unwrap_or(0.0), ratio.high.unwrap_or(f64::INFINITY));
    let is_higher = low > 1.0 + MIN_DIFFERENCE;
    let is_lower = high < 1.0 / (1.0 + MIN_DIFFERENCE);
    Some(match (is_higher, is_lower) {
        (false, false) if low >= 1.0 / (1.0 + EQUIVALENT) && high <= 1.0 + EQUIVALENT => {
            ComparisonVerdict::Equivalent
        }
        (false, false) => ComparisonVerdict::Inconclusive,
        (higher, _) if higher == quantity.is_better_higher() => ComparisonVerdict::Better,
        _ => ComparisonVerdict::Worse,
    })
}
