//! Intervals from independent parts of a sample.

use flashscope_stats::Estimate;

/// The number of parts into which a hash divides a sample of pages or page groups.
pub(super) const REPLICATES: usize = 16;

/// The 97.5 % quantile of Student's t with 15 degrees of freedom, one less than the number of
/// parts.
const T: f64 = 2.131_45;

/// Returns the sum over the parts of a sample, each scaled to the whole, with its 95 % interval.
/// The method is that of random groups (Wolter, *Introduction to Variance Estimation*, 2007,
/// chapter 2). `rate` is the share of the whole that the sample contains; at 1, the sum is exact.
pub(super) fn total(parts: &[f64; REPLICATES], rate: f64) -> Estimate {
    let sum: f64 = parts.iter().sum();
    let count = REPLICATES as f64;
    Estimate::symmetric(sum, Some(T * (count * variance(parts) * (1.0 - rate)).sqrt()))
}

/// Returns half the width of the 95 % interval of a ratio, from its `value` in the whole sample and
/// its values in the parts.
pub(super) fn half_width(value: f64, parts: &[f64; REPLICATES], rate: f64) -> f64 {
    let count = REPLICATES as f64;
    let squares: f64 = parts.iter().map(|part| (part - value).powi(2)).sum();
    T * (squares / (count - 1.0) / count * (1.0 - rate)).sqrt()
}

fn variance(parts: &[f64; REPLICATES]) -> f64 {
    let count = REPLICATES as f64;
    let mean = parts.iter().sum::<f64>() / count;
    parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / (count - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_is_exact_and_a_sample_has_the_interval_of_its_parts() {
        let mut parts = [10.0; REPLICATES];
        (parts[0], parts[1]) = (14.0, 6.0);
        let whole = total(&parts, 1.0);
        assert_eq!((whole.value, whole.low, whole.high), (160.0, Some(160.0), Some(160.0)));
        // The variance of the parts is 32/15. Their sum has 16 times that variance, and half of the
        // whole is not in the sample.
        let half: f64 = T * (16.0 * 32.0 / 15.0 * 0.5f64).sqrt();
        assert!((total(&parts, 0.5).high.unwrap() - 160.0 - half).abs() < 1e-9);
        assert!((half_width(10.0, &parts, 0.5) - half / 16.0).abs() < 1e-9);
    }
}
