use crate::interval::mean_interval;
use crate::{Estimate, Interval};

/// The number of slices at which slices are merged in pairs.
const MAX_SLICES: usize = 2048;

/// A ratio of means with an interval, such as nanoseconds for each byte written. Numerator and
/// denominator may depend on each other.
///
/// The interval is that of the mean of y − R·x, divided by the mean of x, where R is the ratio.
/// This is the delta method (Law, *Simulation Modeling and Analysis*, section 9.5.3), with batch
/// means.
/// Observations are summed up in slices whose length doubles as data comes in, which keeps memory
/// constant.
#[derive(Debug, Clone)]
pub struct Ratio {
    /// Sums of y and x over equal numbers of observations.
    slices: Vec<(f64, f64)>,
    slice_length: u64,
    current: (f64, f64),
    in_current: u64,
    total: (f64, f64),
}

impl Default for Ratio {
    fn default() -> Self {
        let nothing = (0.0, 0.0);
        Ratio {
            slices: Vec::new(),
            slice_length: 1,
            current: nothing,
            in_current: 0,
            total: nothing,
        }
    }
}

impl Ratio {
    /// Adds the next observation: `y` for `x` units.
    pub fn push(&mut self, y: f64, x: f64) {
        self.total = added(self.total, (y, x));
        self.current = added(self.current, (y, x));
        self.in_current += 1;
        if self.in_current < self.slice_length {
            return;
        }
        self.slices.push(std::mem::take(&mut self.current));
        self.in_current = 0;
        if self.slices.len() == MAX_SLICES {
            self.slices = self.slices.chunks(2).map(|pair| added(pair[0], pair[1])).collect();
            self.slice_length *= 2;
        }
    }

    /// Returns the sum of y divided by the sum of x, or `None` if the sum of x is 0.
    pub fn value(&self) -> Option<f64> {
        let (y, x) = self.total;
        (x > 0.0).then(|| y / x)
    }

    /// Returns the interval at `confidence` (from 0 to 1), or `None` if there is too little data.
    #[allow(clippy::cast_precision_loss)] // a few thousand slices
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let value = self.value()?;
        let residuals: Vec<f64> = self.slices.iter().map(|(y, x)| y - value * x).collect();
        let of_residuals = mean_interval(&residuals, 1, confidence)?;
        let units = self.slices.iter().map(|(_, x)| x).sum::<f64>() / self.slices.len() as f64;
        let (below, above) = (
            (of_residuals.value - of_residuals.low) / units,
            (of_residuals.high - of_residuals.value) / units,
        );
        Some(Interval {
            value,
            low: value - below,
            high: value + above,
            standard_error: of_residuals.standard_error / units,
            drift: None,
            ..of_residuals
        })
    }

    /// Returns the ratio with its 95 % interval.
    pub fn estimate(&self) -> Option<Estimate> {
        let interval = self.interval(0.95);
        let (low, high) = (interval.map(|it| it.low), interval.map(|it| it.high));
        Some(Estimate { value: self.value()?, low, high })
    }
}

fn added(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 + b.0, a.1 + b.1)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Generates pairs of x from 1 to 10 and y = 10 + 3·x plus noise. The true ratio is 10/5.5 + 3.
    fn series(seed: u64, count: usize) -> Ratio {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut ratio = Ratio::default();
        for _ in 0..count {
            let x = f64::from(rng.random_range(1..=10u32));
            ratio.push(10.0 + 3.0 * x + 4.0 * (rng.random::<f64>() - 0.5), x);
        }
        ratio
    }

    // The series are shorter and longer than the length at which slices are merged.
    #[test]
    fn intervals_cover_the_ratio() {
        let truth = 10.0 / 5.5 + 3.0;
        for count in [600, 20_000] {
            let holds = |seed| series(seed, count).estimate().unwrap().covers(truth);
            let covered = (0..1000).filter(|&seed| holds(seed)).count();
            assert!((930..=970).contains(&covered), "{covered} with {count}");
        }
    }

    // The interval of the ratio of proportional quantities has a width of 0.
    #[test]
    fn a_proportional_series_has_an_exact_ratio() {
        let mut ratio = Ratio::default();
        (0..5000).for_each(|i| ratio.push(7.0 * f64::from(i % 13 + 1), f64::from(i % 13 + 1)));
        let interval = ratio.interval(0.95).unwrap();
        assert!((interval.value - 7.0).abs() < 1e-12 && interval.relative_precision() < 1e-9);
    }

    // Without data there is no estimate, and with too few values no interval.
    #[test]
    fn too_little_has_no_interval() {
        assert_eq!(Ratio::default().estimate(), None);
        let few = series(1, 5).estimate().unwrap();
        assert!(few.low.is_none() && few.value > 0.0);
    }
}
