use statrs::distribution::{ContinuousCDF, StudentsT};

/// The maximum number of batches; more would not improve the interval.
const MAX_BATCHES: usize = 512;

/// The minimum number of batches for an interval.
const MIN_BATCHES: usize = 16;

/// The minimum number of batches to keep: dependent batches are merged in pairs while there are
/// more than twice as many.
const ENOUGH_BATCHES: usize = 32;

/// The minimum slope of a drift, in standard errors. By chance, one in a thousand series without a
/// drift exceeds it.
const CLEAR_SLOPE: f64 = 3.3;

/// The interval of a statistic of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The point estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The standard error of the estimate.
    pub standard_error: f64,
    /// The relative standard error of the variance, `standard_error`².
    pub(crate) variance_error: f64,
    /// The number of batches.
    pub batches: usize,
    /// The number of values in a batch: a multiple of the period.
    pub batch_length: usize,
    /// The rise from the start of the series to its end, relative to the value; `None` without a
    /// significant drift. With a drift, the interval holds for the mean of exactly these IOs; a
    /// longer series has another mean.
    pub drift: Option<f64>,
}

impl Interval {
    /// Returns true if the interval contains `x`.
    pub fn covers(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    /// Returns half the width of the interval relative to the value. Infinite for a value of 0,
    /// unless the width is 0 too.
    pub fn relative_precision(&self) -> f64 {
        let half = (self.high - self.low) / 2.0;
        if half == 0.0 { 0.0 } else { half / self.value.abs() }
    }
}

/// Returns the interval of the mean of `values` at `confidence` (from 0 to 1), over whole periods
/// of `period` values (1 for none). Returns `None` if there is too little data. Takes O(n) time.
///
/// Uses batch means (Law, *Simulation Modeling and Analysis*, section 9.5.3) in the variant of
/// N-Skart (Tafazzoli, Steiger and Wilson, *INFORMS Journal on Computing* 23(4), 2011). Batches are
/// merged until they are independent, remaining correlation widens the interval, and Student's
/// quantiles are adjusted for skewness. A significant drift does not count as variance.
pub fn mean_interval(values: &[f64], period: usize, confidence: f64) -> Option<Interval> {
    let batches = Batches::independent(values, period.max(1))?;
    let fit = Fit::of(&batches.means);
    let t = student(confidence, fit.freedom)?;
    let skewness = fit.skewness / (6.0 * (batches.means.len() as f64).sqrt());
    let (below, above) = (unskewed(t, skewness), unskewed(-t, skewness));
    Some(Interval {
        value: fit.mean,
        low: fit.mean - below * fit.standard_error,
        high: fit.mean - above * fit.standard_error,
        standard_error: fit.standard_error,
        variance_error: fit.variance_error,
        batches: batches.means.len(),
        batch_length: batches.length,
        drift: fit.drift,
    })
}

/// Returns the interval of the `q`-quantile: the value that a fraction `q` of all values does not
/// exceed. Takes the same arguments as [`mean_interval`] and O(n log n) time.
///
/// Uses Woodruff's interval (*JASA* 47, 1952). Batch means give the interval of the fraction of
/// values up to the estimate; order statistics translate it into an interval of values. Also
/// returns `None` if too few values lie beyond the quantile to contain the ends of the interval.
pub fn quantile_interval(
    values: &[f64],
    q: f64,
    period: usize,
    confidence: f64,
) -> Option<Interval> {
    let period = period.max(1);
    let values = &values[..values.len() / period * period];
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let value = at_share(&sorted, q)?;
    let up_to: Vec<f64> = values.iter().map(|&x| f64::from(u8::from(x <= value))).collect();
    let batches = Batches::independent(&up_to, period)?;
    let fit = Fit::of(&batches.means);
    let t = student(confidence, fit.freedom)?;
    let half = t * fit.standard_error;
    let (low, high) = (at_share(&sorted, q - half)?, at_share(&sorted, q + half)?);
    Some(Interval {
        value,
        low,
        high,
        standard_error: (high - low) / 2.0 / t,
        variance_error: fit.variance_error,
        batches: batches.means.len(),
        batch_length: batches.length,
        drift: None,
    })
}

/// Returns the smallest value that at least a fraction `q` of the values does not exceed, or `None`
/// if `q` is outside the range of the data.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The rank is at least 1.
fn at_share(sorted: &[f64], q: f64) -> Option<f64> {
    // Rounding may leave the product slightly above an integer.
    let rank = (q * sorted.len() as f64 - 1e-9).ceil();
    (rank >= 1.0).then(|| sorted.get(rank as usize - 1).copied()).flatten()
}

fn student(confidence: f64, freedom: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(f64::midpoint(1.0, confidence)))
}

/// Adjusts Student's quantile `t` of a mean for the skewness of the batches: Johnson's
/// transformation in Willink's form (*Communications in Statistics* 34, 2005).
fn unskewed(t: f64, skewness: f64) -> f64 {
    if skewness.abs() < 1e-3 {
        return t;
    }
    ((1.0 + 6.0 * skewness * (t - skewness)).cbrt() - 1.0) / (2.0 * skewness)
}

/// Means of consecutive batches of equal length.
struct Batches {
    means: Vec<f64>,
    length: usize,
}

impl Batches {
    /// Divides the values into batches of whole periods, long enough to appear independent.
    fn independent(values: &[f64], period: usize) -> Option<Batches> {
        let periods = values.len() / period;
        if periods < MIN_BATCHES {
            return None;
        }
        let length = periods.div_ceil(MAX_BATCHES) * period;
        let mut batches = Batches::of(values, length);
        while batches.means.len() > 2 * ENOUGH_BATCHES && batches.are_dependent() {
            batches = Batches::of(values, 2 * batches.length);
        }
        Some(batches)
    }

    /// Divides the end of the series into whole batches and drops the remainder at its start.
    fn of(values: &[f64], length: usize) -> Batches {
        let whole = &values[values.len() % length..];
        let means = whole.chunks(length).map(|batch| batch.iter().sum::<f64>() / length as f64);
        Batches { means: means.collect(), length }
    }

    /// Returns true if consecutive batches correlate significantly. By chance, one in ten series of
    /// independent batches does.
    fn are_dependent(&self) -> bool {
        Fit::of(&self.means).correlation * (self.means.len() as f64).sqrt() > 1.28
    }
}

/// Statistics of a series of batch means.
struct Fit {
    mean: f64,
    standard_error: f64,
    freedom: f64,
    variance_error: f64,
    skewness: f64,
    /// Correlation of consecutive residuals.
    correlation: f64,
    drift: Option<f64>,
}

impl Fit {
    fn of(means: &[f64]) -> Fit {
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        let middle = (count - 1.0) / 2.0;
        let slope = means.iter().enumerate().map(|(i, x)| (i as f64 - middle) * x).sum::<f64>()
            / (count * (count * count - 1.0) / 12.0);
        let level: Vec<f64> = means.iter().map(|x| x - mean).collect();
        let straight: Vec<f64> =
            level.iter().enumerate().map(|(i, x)| x - slope * (i as f64 - middle)).collect();
        let spread = Spread::of(&straight, count - 2.0);
        let slope_error = spread.variance.sqrt() / (count * (count * count - 1.0) / 12.0).sqrt();
        let drifts = slope.abs() > CLEAR_SLOPE * slope_error;
        let (spread, freedom) = if drifts {
            (spread, count - 2.0)
        } else {
            (Spread::of(&level, count - 1.0), count - 1.0)
        };
        Fit {
            mean,
            standard_error: (spread.variance / count).sqrt(),
            freedom,
            variance_error: ((spread.kurtosis - 1.0).max(0.0) / count).sqrt(),
            skewness: spread.skewness,
            correlation: spread.correlation,
            drift: (drifts && mean != 0.0).then(|| slope * count / mean),
        }
    }
}

/// Moments of residuals.
struct Spread {
    /// The variance of a residual, increased to allow for the correlation of consecutive residuals.
    variance: f64,
    skewness: f64,
    kurtosis: f64,
    correlation: f64,
}

impl Spread {
    fn of(residuals: &[f64], freedom: f64) -> Spread {
        let squares: f64 = residuals.iter().map(|x| x * x).sum();
        if squares == 0.0 {
            return Spread { variance: 0.0, skewness: 0.0, kurtosis: 0.0, correlation: 0.0 };
        }
        let count = residuals.len() as f64;
        let cubes: f64 = residuals.iter().map(|x| x.powi(3)).sum();
        let fourths: f64 = residuals.iter().map(|x| x.powi(4)).sum();
        let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
        // Subtracting the mean lowers the correlation of consecutive residuals by 1/n.
        let correlation = products / squares + 1.0 / count;
        Spread {
            variance: squares / freedom * (1.0 + 2.0 * correlation.max(0.0)),
            kurtosis: fourths / count / (squares / count).powi(2),
            skewness: (cubes / count) / (squares / count).powf(1.5),
            correlation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{Kind, Script};

    const SERIES: u64 = 1000;

    fn drifts(kind: Kind) -> usize {
        let drift = |seed| {
            let values = Script::new(kind, seed).take(4096);
            mean_interval(&values, kind.period().unwrap_or(1), 0.95).unwrap().drift
        };
        (0..SERIES).filter(|&seed| drift(seed).is_some()).count()
    }

    // Also checks that at most 2 % of the series without a drift cause a false alarm.
    #[test]
    fn drifts_are_detected() {
        assert!(drifts(Kind::Drift) >= 980);
        for kind in [Kind::Plain, Kind::HeavyTails, Kind::Dependent, Kind::Spikes(128)] {
            let alarms = drifts(kind);
            assert!(alarms <= 20, "{kind:?}: {alarms}");
        }
        let values: Vec<f64> = (0..1000).map(|i| 95.0 + f64::from(i) / 100.0).collect();
        let drift = mean_interval(&values, 1, 0.95).unwrap().drift.unwrap();
        assert!((drift - 0.1).abs() < 1e-3, "{drift}");
    }

    #[test]
    fn intervals_of_quantiles_cover_the_quantile() {
        for (kind, q, truth) in [
            (Kind::Noise, 0.5, 400.0 * (-0.045_f64).exp()),
            (Kind::Noise, 0.99, 400.0 * (0.3 * 2.326_35_f64 - 0.045).exp()),
            (Kind::HeavyTails, 0.99, 240.0 * 100_f64.powf(0.4)),
            (Kind::Dependent, 0.9, 400.0 * (0.3 * 1.281_55_f64 - 0.045).exp()),
        ] {
            let covered = (0..SERIES).filter(|&seed| {
                let values = Script::new(kind, seed).take(8192);
                quantile_interval(&values, q, 1, 0.95).unwrap().covers(truth)
            });
            let covered = covered.count();
            assert!((930..=970).contains(&covered), "{kind:?} {q}: {covered}");
        }
    }

    // A constant series of sufficient length has an interval of width 0.
    #[test]
    fn short_series_have_no_interval() {
        for count in 0..MIN_BATCHES {
            assert_eq!(mean_interval(&vec![1.0; count], 1, 0.95), None);
            assert_eq!(mean_interval(&vec![1.0; 128 * count], 128, 0.95), None);
            assert_eq!(quantile_interval(&vec![1.0; count], 0.5, 1, 0.95), None);
        }
        let interval = mean_interval(&[400.0; 64], 1, 0.95).unwrap();
        assert_eq!((interval.low, interval.high, interval.drift), (400.0, 400.0, None));
        assert_eq!(interval.relative_precision(), 0.0);
        // The interval of the 99.9th percentile would end beyond the largest of so few values.
        let values = Script::new(Kind::Noise, 1).take(1000);
        assert_eq!(quantile_interval(&values, 0.999, 1, 0.95), None);
    }
}
