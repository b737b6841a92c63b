use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// An estimated number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// Lower end of the interval; null if there is too little data for an interval.
    pub low: Option<f64>,
    /// Upper end of the interval; null if there is too little data for an interval, and for a ratio
    /// whose denominator may be 0.
    pub high: Option<f64>,
}

impl Estimate {
    /// Creates an estimate with the interval `value` ± `half_width`.
    pub fn symmetric(value: f64, half_width: Option<f64>) -> Estimate {
        Estimate {
            value,
            low: half_width.map(|half| value - half),
            high: half_width.map(|half| value + half),
        }
    }

    /// Returns true if the interval contains `x`; always false without an interval.
    pub fn covers(&self, x: f64) -> bool {
        self.low.is_some_and(|low| low <= x) && self.high.is_some_and(|high| x <= high)
    }

    /// Returns the sign of a difference: 1 or -1, or 0 if the interval contains 0. Without an
    /// interval, returns the sign of the value.
    pub fn sign(&self) -> i8 {
        match self.value {
            value if self.covers(0.0) || value == 0.0 => 0,
            value if value > 0.0 => 1,
            _ => -1,
        }
    }

    /// Widens the interval of one of several comparisons, such that the intervals of all
    /// comparisons hold at once with 95 % probability (Bonferroni). Assumes a normally distributed
    /// error.
    pub fn among(&self, comparisons: usize) -> Estimate {
        // A single comparison leaves 2.5 % on either side.
        #[allow(clippy::cast_precision_loss)] // a few hundred comparisons
        let tail = 0.025 / comparisons.max(1) as f64;
        self.scaled(quantile(1.0 - tail) / quantile(0.975))
    }

    /// Does the same as [`Estimate::among`] for an interval by Student's t with few degrees of
    /// `freedom`, such as the mean of a few repeats.
    pub fn among_few(&self, comparisons: usize, freedom: f64) -> Estimate {
        let Some(student) = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| freedom.is_finite())
        else {
            return self.among(comparisons);
        };
        #[allow(clippy::cast_precision_loss)] // a few hundred comparisons
        let tail = 0.025 / comparisons.max(1) as f64;
        self.scaled(student.inverse_cdf(1.0 - tail) / student.inverse_cdf(0.975))
    }

    /// Creates an estimate from the interval that holds the true value with a probability of
    /// `level`. Assumes a normally distributed error. A level of 1 or more gives no interval.
    pub fn at_level(value: f64, low: f64, high: f64, level: f64) -> Estimate {
        let given = Estimate { value, low: Some(low), high: Some(high) };
        match level {
            0.0..1.0 => given.scaled(quantile(0.975) / quantile(f64::midpoint(1.0, level))),
            _ => Estimate::symmetric(value, None),
        }
    }

    /// Moves the ends of the interval away from the value by a factor.
    fn scaled(&self, factor: f64) -> Estimate {
        let moved = |end: f64| self.value + factor * (end - self.value);
        Estimate { value: self.value, low: self.low.map(moved), high: self.high.map(moved) }
    }

    /// Returns a weighted sum of independent estimates: their errors add in squares. The sum has no
    /// interval if any part has none.
    pub fn weighted_sum(parts: &[(f64, Estimate)]) -> Estimate {
        let value = parts.iter().map(|(weight, part)| weight * part.value).sum();
        let half = |(weight, part): &(f64, Estimate)| Some(weight * part.half_width()?);
        let halves: Option<Vec<f64>> = parts.iter().map(half).collect();
        let together = |halves: Vec<f64>| halves.into_iter().fold(0.0, f64::hypot);
        Estimate::symmetric(value, halves.map(together))
    }

    /// Returns half the width of the interval.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }

    /// Divides this estimate by an independent estimate. The interval is that of Fieller's theorem.
    ///
    /// Both quantities must be non-negative. The interval is valid even if the denominator is very
    /// uncertain; it has no upper end if the denominator may be 0. Returns `None` if the quotient
    /// is not finite.
    pub fn ratio(&self, over: &Estimate) -> Option<Estimate> {
        let value = self.value / over.value;
        if !value.is_finite() {
            return None;
        }
        let halves = self.half_width().zip(over.half_width());
        let (low, high) = halves.map_or((None, None), |(half, half_over)| {
            fieller((self.value, half), (over.value, half_over))
        });
        // The symmetric interval of a non-negative mean may reach below 0, but the ratio cannot.
        Some(Estimate { value, low: low.map(|low| low.max(0.0)), high })
    }
}

/// Returns the range of ratios r for which `a` − r `b` may be 0. Each argument is a value and half
/// the width of its interval (E. C. Fieller, *Journal of the Royal Statistical Society B* 16(2),
/// 1954).
fn fieller((a, half_a): (f64, f64), (b, half_b): (f64, f64)) -> (Option<f64>, Option<f64>) {
    // If both `a` and `b` may be 0, any ratio is possible.
    if half_a >= a.abs() && half_b >= b.abs() {
        return (None, None);
    }
    let (squares_a, squares_b) = (a * a - half_a * half_a, b * b - half_b * half_b);
    let root = (a * a * b * b - squares_a * squares_b).max(0.0).sqrt();
    let low = squares_a / (a * b + root);
    let high = (a * b + root) / squares_b;
    (low.is_finite().then_some(low), (squares_b > 0.0 && high.is_finite()).then_some(high))
}

/// Returns the `p`-quantile of the standard normal distribution.
fn quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Bonferroni's correction determines the width. One comparison leaves the interval unchanged.
    #[test]
    fn an_interval_widens_with_the_number_of_comparisons() {
        let alone = Estimate { value: 10.0, low: Some(9.0), high: Some(12.0) };
        let same = alone.among(1);
        assert!((same.low.unwrap() - 9.0).abs() < 1e-9 && (same.high.unwrap() - 12.0).abs() < 1e-9);
        // The quantiles of 0.9975 and 0.975 are 2.8070 and 1.9600.
        let ten = alone.among(10);
        assert!((ten.low.unwrap() - (10.0 - 1.43217)).abs() < 1e-4);
        assert!((ten.high.unwrap() - (10.0 + 2.0 * 1.43217)).abs() < 1e-4);
        assert_eq!(Estimate::symmetric(1.0, None).among(10), Estimate::symmetric(1.0, None));
    }

    // The interval of few repeats widens by Student's quantiles, which for many repeats agree with
    // the normal quantiles.
    #[test]
    fn an_interval_of_few_repeats_widens_more() {
        let alone = Estimate::symmetric(10.0, Some(1.0));
        // With 2 degrees of freedom, the quantiles of 0.9975 and 0.975 are 14.0890 and 4.3027.
        let few = alone.among_few(10, 2.0).half_width().unwrap();
        assert!((few - 14.0890 / 4.3027).abs() < 1e-3, "{few}");
        let many = alone.among_few(10, 1e6).half_width().unwrap();
        assert!((many - alone.among(10).half_width().unwrap()).abs() < 1e-3);
        assert_eq!(alone.among_few(10, 0.0), alone.among(10));
    }

    #[test]
    fn an_interval_at_another_level_is_converted() {
        // The quantile of 0.95 is 1.6449.
        let converted = Estimate::at_level(10.0, 8.0, 11.0, 0.9);
        assert!((converted.low.unwrap() - (10.0 - 2.0 * 1.95996 / 1.64485)).abs() < 1e-4);
        assert!((converted.high.unwrap() - (10.0 + 1.95996 / 1.64485)).abs() < 1e-4);
        assert_eq!(Estimate::at_level(10.0, 8.0, 11.0, 1.0).low, None);
    }

    // A sum with a part that has no interval has no interval.
    #[test]
    fn errors_of_a_sum_add_in_squares() {
        let [a, b] = [(1.0, 3.0), (10.0, 2.0)].map(|(x, half)| Estimate::symmetric(x, Some(half)));
        let sum = Estimate::weighted_sum(&[(1.0, a), (2.0, b)]);
        assert_eq!((sum.value, sum.low, sum.high), (21.0, Some(16.0), Some(26.0)));
        let unknown = Estimate::symmetric(1.0, None);
        assert_eq!(Estimate::weighted_sum(&[(0.5, a), (0.5, unknown)]).low, None);
    }

    // Fieller's theorem gives the interval of the ratio.
    #[test]
    fn a_ratio_combines_both_intervals() {
        let a = Estimate::symmetric(30.0, Some(0.9));
        let b = Estimate::symmetric(10.0, Some(0.4));
        let ratio = a.ratio(&b).unwrap();
        assert!((ratio.value - 3.0).abs() < 1e-12);
        // At both ends, the difference a - r b equals its uncertainty.
        for end in [ratio.low.unwrap(), ratio.high.unwrap()] {
            assert!(((30.0 - end * 10.0).abs() - 0.9f64.hypot(end * 0.4)).abs() < 1e-9);
        }
        assert!(ratio.covers(2.86) && !ratio.covers(2.85) && ratio.covers(3.15));
    }

    // The denominator may be 0. The interval still has a lower end.
    #[test]
    fn a_ratio_to_an_uncertain_value_has_no_upper_end() {
        let [large, uncertain] =
            [(226.0, 2.5), (2.9, 4.2)].map(|(x, half)| Estimate::symmetric(x, Some(half)));
        let ratio = large.ratio(&uncertain).unwrap();
        assert!(ratio.low.unwrap() > 226.0 / 7.2 && ratio.high.is_none());
        let inverse = uncertain.ratio(&large).unwrap();
        assert!((inverse.high.unwrap() * ratio.low.unwrap() - 1.0).abs() < 1e-9);
        let unknown = Estimate::symmetric(1.0, Some(2.0));
        assert_eq!(unknown.ratio(&uncertain).unwrap().low, None);
        assert_eq!(unknown.ratio(&large).unwrap().low, Some(0.0));
    }

    // The ratio of two estimates without intervals has no interval.
    #[test]
    fn a_ratio_to_zero_does_not_exist() {
        let zero = Estimate::symmetric(0.0, None);
        let one = Estimate::symmetric(1.0, None);
        assert_eq!(one.ratio(&zero), None);
        assert_eq!(zero.ratio(&zero), None);
        assert_eq!(one.ratio(&one), Some(one));
        assert!(!one.covers(1.0));
    }
}
