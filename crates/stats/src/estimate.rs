use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number that is estimated, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval; absent where there is too little data for one.
    pub low: Option<f64>,
    /// Upper end of the interval; absent where there is too little data for one.
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

    /// Half the width of the interval relative to the value.
    fn relative_half_width(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0 / self.value)
    }

    /// This over another, independent estimate: relative errors add in squares (first-order
    /// propagation). `None` where the ratio has no meaning.
    pub fn ratio(&self, over: &Estimate) -> Option<Estimate> {
        let value = self.value / over.value;
        if !value.is_finite() {
            return None;
        }
        let relative = self.relative_half_width().zip(over.relative_half_width());
        let half_width = relative.map(|(a, b)| value * a.hypot(b)).filter(|half| half.is_finite());
        Some(Estimate::symmetric(value, half_width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does the interval of a ratio follow from those of its parts?
    #[test]
    fn ratio_propagates_intervals() {
        let a = Estimate::symmetric(30.0, Some(0.9));
        let b = Estimate::symmetric(10.0, Some(0.4));
        let ratio = a.ratio(&b).unwrap();
        assert!((ratio.value - 3.0).abs() < 1e-12);
        assert!((ratio.high.unwrap() - 3.15).abs() < 1e-12);
        assert!(ratio.covers(2.86) && !ratio.covers(2.84));
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
