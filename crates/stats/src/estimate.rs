use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// A number that is estimated, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval; absent where there is too little data for one.
    pub low: Option<f64>,
    /// Upper end of the interval; absent where there is too little data for one, and of a ratio that has
    /// none.
    pub high: Option<f64>,
}

impl Estimate {
    /// An estimate with the interval `value` ± `half_width`.
    pub fn symmetric(value: f64, half_width: Option<f64>) -> Estimate {
        Estimate {
            value,
            low: half_width.map(|half| value - half),
            high: half_width.map(|half| value + half),
        }
    }

    /// Whether the interval holds `x`; never without an interval.
    pub fn covers(&self, x: f64) -> bool {
        self.low.is_some_and(|low| low <= x) && self.high.is_some_and(|high| x <= high)
    }

    /// The sign of a difference: 1 or -1, and 0 where it is none or the interval holds 0. Without an interval
    /// it is taken at its word.
    pub fn sign(&self) -> i8 {
        match self.value {
            value if self.covers(0.0) || value == 0.0 => 0,
            value if value > 0.0 => 1,
            _ => -1,
        }
    }

    /// The same with the interval that it needs as one of `comparisons`, so that the intervals of all
    /// of them hold at once with 95 % (Bonferroni), its error taken as normal.
    pub fn among(&self, comparisons: usize) -> Estimate {
        // A comparison alone has 2.5 % on either side.
        #[allow(clippy::cast_precision_loss)] // a few hundred
        let tail = 0.025 / comparisons.max(1) as f64;
        let factor = quantile(1.0 - tail) / quantile(0.975);
        let widened = |end: f64| self.value + factor * (end - self.value);
        Estimate { value: self.value, low: self.low.map(widened), high: self.high.map(widened) }
    }

    /// The sum of independent estimates, each times a weight: their errors add in squares.
    pub fn weighted_sum(parts: &[(f64, Estimate)]) -> Estimate {
        let value = parts.iter().map(|(weight, part)| weight * part.value).sum();
        let half = |(weight, part): &(f64, Estimate)| Some(weight * part.half_width()?);
        let halves: Option<Vec<f64>> = parts.iter().map(half).collect();
        let together = |halves: Vec<f64>| halves.into_iter().fold(0.0, f64::hypot);
        Estimate::symmetric(value, halves.map(together))
    }

    /// Half the width of the interval.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }

    /// This over another, independent estimate, both of what cannot be negative, with the interval of
    /// Fieller's theorem: it holds as well where the uncertainty of the other is large, and has no
    /// upper end where the other may be 0. `None` where the ratio has no meaning.
    pub fn ratio(&self, over: &Estimate) -> Option<Estimate> {
        let value = self.value / over.value;
        if !value.is_finite() {
            return None;
        }
        let halves = self.half_width().zip(over.half_width());
        let (low, high) = halves.map_or((None, None), |(half, half_over)| {
            fieller((self.value, half), (over.value, half_over))
        });
        // The interval of a mean is symmetric and may reach below 0, where no mean can be.
        Some(Estimate { value, low: low.map(|low| low.max(0.0)), high })
    }
}

/// The ratios r for which `a` − r `b` is 0 within its uncertainty, each given with half of the width of
/// its interval (E. C. Fieller, *Journal of the Royal Statistical Society B* 16(2), 1954).
fn fieller((a, half_a): (f64, f64), (b, half_b): (f64, f64)) -> (Option<f64>, Option<f64>) {
    // Where both may be 0, so may any ratio be.
    if half_a >= a.abs() && half_b >= b.abs() {
        return (None, None);
    }
    let (squares_a, squares_b) = (a * a - half_a * half_a, b * b - half_b * half_b);
    let root = (a * a * b * b - squares_a * squares_b).max(0.0).sqrt();
    let low = squares_a / (a * b + root);
    let high = (a * b + root) / squares_b;
    (low.is_finite().then_some(low), (squares_b > 0.0 && high.is_finite()).then_some(high))
}

/// The value that a normally distributed error does not exceed with probability `p`.
fn quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is the interval of one of many as wide as Bonferroni has it, and that of one alone as it was?
    #[test]
    fn one_of_many_is_less_sure() {
        let alone = Estimate { value: 10.0, low: Some(9.0), high: Some(12.0) };
        let same = alone.among(1);
        assert!((same.low.unwrap() - 9.0).abs() < 1e-9 && (same.high.unwrap() - 12.0).abs() < 1e-9);
        // The quantiles of 0.9975 and 0.975 are 2.8070 and 1.9600.
        let ten = alone.among(10);
        assert!((ten.low.unwrap() - (10.0 - 1.43217)).abs() < 1e-4);
        assert!((ten.high.unwrap() - (10.0 + 2.0 * 1.43217)).abs() < 1e-4);
        assert_eq!(Estimate::symmetric(1.0, None).among(10), Estimate::symmetric(1.0, None));
    }

    // Do the errors of a sum add in squares, and has it no interval where a part has none?
    #[test]
    fn sums_of_estimates() {
        let [a, b] = [(1.0, 3.0), (10.0, 2.0)].map(|(x, half)| Estimate::symmetric(x, Some(half)));
        let sum = Estimate::weighted_sum(&[(1.0, a), (2.0, b)]);
        assert_eq!((sum.value, sum.low, sum.high), (21.0, Some(16.0), Some(26.0)));
        let unknown = Estimate::symmetric(1.0, None);
        assert_eq!(Estimate::weighted_sum(&[(0.5, a), (0.5, unknown)]).low, None);
    }

    // Does the interval of a ratio follow from those of its parts?
    #[test]
    fn ratio_propagates_intervals() {
        let a = Estimate::symmetric(30.0, Some(0.9));
        let b = Estimate::symmetric(10.0, Some(0.4));
        let ratio = a.ratio(&b).unwrap();
        assert!((ratio.value - 3.0).abs() < 1e-12);
        // a - r b is as far from 0 as its uncertainty at both ends.
        for end in [ratio.low.unwrap(), ratio.high.unwrap()] {
            assert!(((30.0 - end * 10.0).abs() - 0.9f64.hypot(end * 0.4)).abs() < 1e-9);
        }
        assert!(ratio.covers(2.86) && !ratio.covers(2.85) && ratio.covers(3.15));
    }

    // Is something surely dear so beside something cheap of which hardly more is known than that?
    #[test]
    fn ratio_to_something_uncertain() {
        let [dear, cheap] =
            [(226.0, 2.5), (2.9, 4.2)].map(|(x, half)| Estimate::symmetric(x, Some(half)));
        let ratio = dear.ratio(&cheap).unwrap();
        assert!(ratio.low.unwrap() > 226.0 / 7.2 && ratio.high.is_none());
        let inverse = cheap.ratio(&dear).unwrap();
        assert!((inverse.high.unwrap() * ratio.low.unwrap() - 1.0).abs() < 1e-9);
        let unknown = Estimate::symmetric(1.0, Some(2.0));
        assert_eq!(unknown.ratio(&cheap).unwrap().low, None);
        assert_eq!(unknown.ratio(&dear).unwrap().low, Some(0.0));
    }

    // Is a ratio without meaning absent, and one without intervals without an interval?
    #[test]
    fn ratio_of_too_little() {
        let zero = Estimate::symmetric(0.0, None);
        let one = Estimate::symmetric(1.0, None);
        assert_eq!(one.ratio(&zero), None);
        assert_eq!(zero.ratio(&zero), None);
        assert_eq!(one.ratio(&one), Some(one));
        assert!(!one.covers(1.0));
    }
}
