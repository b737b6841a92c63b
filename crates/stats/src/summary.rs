use hdrhistogram::Histogram;

use crate::{BatchMeans, Estimate};

/// Significant decimal digits of quantiles, which are accurate to 0.1 %.
const DIGITS: u8 = 3;

/// Statistics of a series of durations, accumulated value by value in constant memory.
#[derive(Debug, Clone)]
pub struct Summary {
    count: u64,
    min: u64,
    max: u64,
    mean: f64,
    /// Sum of squared deviations from the mean (Welford's method).
    squares: f64,
    batches: BatchMeans,
    histogram: Histogram<u64>,
}

impl Default for Summary {
    fn default() -> Self {
        Summary {
            count: 0,
            min: u64::MAX,
            max: 0,
            mean: 0.0,
            squares: 0.0,
            batches: BatchMeans::default(),
            histogram: Histogram::new(DIGITS).expect("3 digits is a valid precision"),
        }
    }
}

impl Summary {
    /// Adds the next value. The interval of the mean assumes that values arrive in the order of
    /// time.
    #[allow(clippy::cast_precision_loss)]
    pub fn push(&mut self, x: u64) {
        self.count += 1;
        self.min = self.min.min(x);
        self.max = self.max.max(x);
        let deviation = x as f64 - self.mean;
        self.mean += deviation / self.count as f64;
        self.squares += deviation * (x as f64 - self.mean);
        self.batches.push(x as f64);
        self.histogram.record(x).expect("a histogram that resizes itself takes every value");
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest value, or `None` for an empty series.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest value, or `None` for an empty series.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the mean, with an interval that allows for dependence between consecutive values.
    pub fn mean(&self) -> Estimate {
        Estimate::symmetric(self.mean, self.batches.half_width())
    }

    /// Returns the standard deviation of the values, or 0 for fewer than two.
    #[allow(clippy::cast_precision_loss)]
    pub fn standard_deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// Returns the `q`-quantile, the value that a fraction `q` of all values does not exceed,
    /// accurate to 0.1 %. Returns `None` for an empty series.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let value = self.histogram.value_at_quantile(q);
        (self.count > 0).then(|| value.clamp(self.min, self.max))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // Minimum, maximum and quantiles are `None` instead of 0.
    #[test]
    fn an_empty_series_has_no_statistics() {
        let none = Summary::default();
        assert_eq!(
            (none.count(), none.min(), none.max(), none.quantile(0.5)),
            (0, None, None, None)
        );
        assert_eq!(none.mean().low, None);
    }

    proptest! {
        // The values have all magnitudes.
        #[test]
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        fn statistics_agree_with_their_definitions(
            mut values in prop::collection::vec((0u32..50, 0u64..1 << 14), 1..400),
        ) {
            let mut summary = Summary::default();
            let mut values: Vec<u64> = values.drain(..).map(|(shift, x)| x << shift).collect();
            values.iter().for_each(|&x| summary.push(x));
            let n = values.len() as f64;
            let mean = values.iter().map(|&x| x as f64).sum::<f64>() / n;
            let squares = values.iter().map(|&x| (x as f64 - mean).powi(2)).sum::<f64>();
            let sd = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
            values.sort_unstable();
            prop_assert_eq!(summary.min(), values.first().copied());
            prop_assert_eq!(summary.max(), values.last().copied());
            prop_assert!((summary.mean().value - mean).abs() <= 1e-9 * mean);
            prop_assert!((summary.standard_deviation() - sd).abs() <= 1e-6 * sd);
            for q in [0.0, 0.5, 0.99, 0.999, 1.0] {
                let rank = ((q * n).ceil() as usize).clamp(1, values.len()) - 1;
                let (exact, quantile) = (values[rank] as f64, summary.quantile(q).unwrap() as f64);
                prop_assert!((quantile - exact).abs() <= 1e-3 * exact, "{q}: {quantile} for {exact}");
            }
        }
    }
}
