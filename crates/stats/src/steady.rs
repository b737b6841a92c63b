/// Mean, range and trend of a series, which show how steady it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// The mean of the values.
    pub mean: f64,
    /// The difference between the largest and the smallest value.
    pub range: f64,
    /// The rise of the least-squares line from the first value to the last; negative for a falling
    /// line.
    pub rise: f64,
}

impl Steadiness {
    /// Describes values at equal distances in time. Returns `None` for an empty series.
    #[allow(clippy::cast_precision_loss)]
    pub fn of(values: &[f64]) -> Option<Steadiness> {
        let (first, count) = (*values.first()?, values.len() as f64);
        let mean = values.iter().sum::<f64>() / count;
        let lowest = values.iter().copied().fold(first, f64::min);
        let highest = values.iter().copied().fold(first, f64::max);
        // The least-squares line, with the values placed at −(n−1)/2 … (n−1)/2.
        let middle = (count - 1.0) / 2.0;
        let places = (0..values.len()).map(|i| i as f64 - middle);
        let moment: f64 = places.clone().zip(values).map(|(place, value)| place * value).sum();
        let squares: f64 = places.map(|place| place * place).sum();
        let rise = if squares > 0.0 { moment / squares * (count - 1.0) } else { 0.0 };
        Some(Steadiness { mean, range: highest - lowest, rise })
    }

    /// Returns true if the range and the absolute rise are at most these fractions of the mean.
    pub fn is_within(&self, range: f64, rise: f64) -> bool {
        self.range <= range * self.mean && self.rise.abs() <= rise * self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::float_cmp)]
    fn known_lines_are_described() {
        assert_eq!(Steadiness::of(&[]), None);
        let one = Steadiness::of(&[7.0]).unwrap();
        assert_eq!((one.mean, one.range, one.rise), (7.0, 0.0, 0.0));
        let rising = Steadiness::of(&[8.0, 9.0, 10.0, 11.0, 12.0]).unwrap();
        assert_eq!((rising.mean, rising.range, rising.rise), (10.0, 4.0, 4.0));
        let falling = Steadiness::of(&[12.0, 11.0, 10.0, 9.0, 8.0]).unwrap();
        assert_eq!(falling.rise, -4.0);
        let outlier = Steadiness::of(&[10.0, 10.0, 15.0, 10.0, 10.0]).unwrap();
        assert_eq!((outlier.range, outlier.rise), (5.0, 0.0));
    }

    #[test]
    fn bounds_are_included() {
        let of = |values: [f64; 5]| Steadiness::of(&values).unwrap();
        // The range is 20 %, without a trend.
        let wide = of([10.0, 11.0, 10.0, 9.0, 10.0]);
        assert!(wide.is_within(0.2, 0.1) && !wide.is_within(0.19, 0.1));
        // The range and the rise are 10 %.
        let rising = of([95.0, 97.5, 100.0, 102.5, 105.0]);
        assert!(rising.is_within(0.2, 0.1) && !rising.is_within(0.2, 0.099));
        assert!(!of([105.0, 102.5, 100.0, 97.5, 94.0]).is_within(0.2, 0.1));
    }
}
