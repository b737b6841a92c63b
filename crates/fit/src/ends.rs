//! The precision of the ends of intervals, which decides how many draws a prediction simulates.

use flashscope_document::twin::Range;

/// The standard error of an end, as a share of the width of its interval, below which no more draws
/// are simulated.
pub(super) const KNOWN: f64 = 0.1;

/// The number of draws that a prediction simulates before it first checks the precision of the
/// ends.
pub(super) const FIRST: usize = 20;

/// The number of draws that a prediction adds before each further check.
pub(super) const MORE: usize = 10;

/// The number of bootstrap samples for a standard error.
const SAMPLES: usize = 200;

/// Returns the larger standard error of the two ends of an interval, as a share of its width, by a
/// bootstrap of the draws (B. Efron, 1979). `interval` returns the interval of a sample. Returns 0
/// if the interval has no width, and `None` for fewer than two draws.
pub(super) fn end_error(
    draws: &[f64],
    seed: u64,
    interval: impl Fn(Vec<f64>) -> Range,
) -> Option<f64> {
    if draws.len() < 2 {
        return None;
    }
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut sample = || {
        let drawn = (0..draws.len()).map(|_| draws[rng.usize(0..draws.len())]);
        interval(drawn.collect())
    };
    let samples: Vec<Range> = (0..SAMPLES).map(|_| sample()).collect();
    let Range { low, high, .. } = interval(draws.to_vec());
    let error = deviation(samples.iter().map(|range| range.low))
        .max(deviation(samples.iter().map(|range| range.high)));
    let width = high - low;
    Some(if width > 0.0 { error / width } else { 0.0 })
}

/// Returns the standard deviation.
#[allow(clippy::cast_precision_loss, reason = "few samples")]
fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::normal;

    fn draws(seed: u64, count: usize) -> Vec<f64> {
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| 10.0 + normal(&mut rng)).collect()
    }

    fn interval(draws: Vec<f64>) -> Range {
        Range::around(10.0, draws, 0.9)
    }

    // The bootstrap is compared with the spread of the ends over a thousand independent sets of
    // draws.
    #[test]
    fn estimated_error_is_that_of_repeated_predictions() {
        for count in [20, 50, 150] {
            let sets = (0..1000).map(|seed| interval(draws(seed, count)));
            let ends: Vec<Range> = sets.collect();
            let width = 2.0 * 1.645;
            let low = deviation(ends.iter().map(|range| range.low)) / width;
            let estimates: Vec<f64> =
                (0..50).map(|seed| end_error(&draws(seed, count), 1, interval).unwrap()).collect();
            let mean = estimates.iter().sum::<f64>() / 50.0;
            assert!((0.7..1.6).contains(&(mean / low)), "{count}: {mean} for {low}");
        }
    }

    #[test]
    fn equal_draws_have_exact_ends_and_one_draw_has_none() {
        assert_eq!(end_error(&[10.0; 5], 1, interval), Some(0.0));
        assert_eq!(end_error(&[10.0], 1, interval), None);
    }
}
