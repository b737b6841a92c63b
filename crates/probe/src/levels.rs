//! Typical costs of requests, and the separation of fast requests from slow ones.

use std::f64::consts::FRAC_PI_2;

/// Two levels of a cost, such as the costs of writes with and without a merge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// The median of the lower costs.
    pub low: f64,
    /// The median of the higher costs.
    pub high: f64,
    /// The cost that divides the levels.
    pub threshold: f64,
    /// The share of the costs that are on the higher level.
    pub share: f64,
    /// The distance between the levels, in units of the spread within the more scattered level.
    pub separation: f64,
}

/// Returns the median; 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Returns the spread: the median distance from the median, times 1.4826. For normally distributed
/// costs that is the standard deviation. Single outliers hardly change it.
pub fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    1.4826 * median(&distances)
}

/// Returns the standard error of the median, calculated from the spread. The standard error of a
/// mean is `deviation / sqrt(n)`; for the median of normally distributed costs it is `sqrt(pi / 2)`
/// times as large. Returns NaN for no costs.
#[allow(clippy::cast_precision_loss, reason = "counts of costs are far below 2^53")]
pub fn standard_error(costs: &[f64]) -> f64 {
    FRAC_PI_2.sqrt() * spread(costs) / (costs.len() as f64).sqrt()
}

/// Divides costs into two levels such that their logarithms vary least within each level (Otsu's
/// criterion). It compares logarithms because the costs of a drive differ by factors. Returns
/// `None` for fewer than four costs, or if all are equal.
pub fn levels(costs: &[f64]) -> Option<Levels> {
    let mut sorted: Vec<f64> = costs.iter().map(|cost| cost.max(1.0)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    if count < 4 || sorted[0] == sorted[count - 1] {
        return None;
    }
    let logs: Vec<f64> = sorted.iter().map(|cost| cost.ln()).collect();
    let total: f64 = logs.iter().sum();
    let (mut sum, mut best) = (0.0, (f64::MIN, 0));
    // Counts of costs are far below 2^53.
    #[allow(clippy::cast_precision_loss)]
    for below in 1..count {
        sum += logs[below - 1];
        let (n, m) = (below as f64, (count - below) as f64);
        let between = n * m * (sum / n - (total - sum) / m).powi(2);
        if between > best.0 {
            best = (between, below);
        }
    }
    let (lower, higher) = sorted.split_at(best.1);
    let (low, high) = (median(lower), median(higher));
    let within = spread(lower).max(spread(higher)).max(low * 1e-3);
    #[allow(clippy::cast_precision_loss)]
    let share = higher.len() as f64 / count as f64;
    let threshold = (lower[lower.len() - 1] * higher[0]).sqrt();
    Some(Levels { low, high, threshold, share, separation: (high - low) / within })
}

/// Returns the probability that a normally distributed quantity is off by less than this many
/// standard errors.
pub(crate) fn within_errors(errors: f64) -> f64 {
    1.0 - (-0.717 * errors - 0.416 * errors * errors).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_slow_writes_are_told_from_varying_fast_ones() {
        let costs: Vec<f64> = (0..640)
            .map(|i| if i % 64 == 63 { 120e6 } else { 1.5e6 + f64::from(i) * 1e3 })
            .collect();
        let levels = levels(&costs).unwrap();
        assert!((levels.share - 1.0 / 64.0).abs() < 1e-9);
        assert!(levels.low < 2.2e6 && levels.high == 120e6 && levels.separation > 50.0);
        assert!(levels.threshold > 2.2e6 && levels.threshold < 120e6);
    }

    // For normally distributed costs, the standard error matches the deviation of many medians.
    // Sixteen times as many costs divide it by four.
    #[test]
    fn the_standard_error_matches_the_deviation_of_medians() {
        let mut rng = fastrand::Rng::with_seed(11);
        let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let mut sample = |count: usize| (0..count).map(|_| normal()).collect::<Vec<f64>>();
        let medians: Vec<f64> = (0..400).map(|_| median(&sample(101))).collect();
        let (stated, true_error) = (standard_error(&sample(101)), spread(&medians));
        assert!((stated / true_error - 1.0).abs() < 0.25, "{stated} {true_error}");
        let (few, many) = (standard_error(&sample(100)), standard_error(&sample(1600)));
        assert!((few / many / 4.0 - 1.0).abs() < 0.25, "{few} {many}");
        assert!(standard_error(&[]).is_nan());
    }

    #[test]
    fn equal_or_too_few_costs_have_no_levels() {
        assert_eq!(levels(&[5.0; 10]), None);
        assert_eq!(levels(&[1.0, 2.0]), None);
    }
}
