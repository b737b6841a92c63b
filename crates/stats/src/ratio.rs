use crate::interval::mean_interval;
use crate::{Estimate, Interval};

/// More slices than this are joined in pairs.
const MOST_SLICES: usize = 2048;

/// What one thing comes to for each unit of another, such as ns for each byte written, with an
/// interval: a ratio of means, whose two sides depend on each other.
///
/// The interval is that of the mean of y − R·x over the mean of x, with R the ratio itself (Law,
/// *Simulation Modeling and Analysis*, section 9.5.3; the delta method), by batch means. Observations
/// are added up in slices that get longer as data comes in, so that memory stays constant.
#[derive(Debug, Clone)]
pub struct Ratio {
    /// Sums of y and x over as many observations each.
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
        if self.slices.len() == MOST_SLICES {
            self.slices = self.slices.chunks(2).map(|pair| added(pair[0], pair[1])).collect();
            self.slice_length *= 2;
        }
    }

    /// All of y over all of x; `None` while there is nothing to divide by.
    pub fn value(&self) -> Option<f64> {
        let (y, x) = self.total;
        (x > 0.0).then(|| y / x)
    }

    /// Its interval at `confidence` (from 0 to 1); `None` where there is too little data for one.
    #[allow(clippy::cast_precision_loss)] // a few thousand
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

    /// It with its 95 % interval.
    pub fn estimate(&self) -> Option<Estimate> {
        let interval = self.interval(0.95);
        let (low, high) = (interval.map(|found| found.low), interval.map(|found| found.high));
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

    /// Lengths x, and times y of 10 + 3·x with noise: 10/5.5 + 3 for each unit in the long run.
    fn series(seed: u64, count: usize) -> Ratio {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut ratio = Ratio::default();
        for _ in 0..count {
            let x = f64::from(rng.random_range(1..=10u32));
            ratio.push(10.0 + 3.0 * x + 4.0 * (rng.random::<f64>() - 0.5), x);
        }
        ratio
    }

    // Do 95 % intervals hold the ratio as often as they say, with few observations and with so many
    // that slices are joined?
    #[test]
    fn intervals_cover() {
        let truth = 10.0 / 5.5 + 3.0;
        for count in [600, 20_000] {
            let holds = |seed| series(seed, count).estimate().unwrap().covers(truth);
            let held = (0..1000).filter(|&seed| holds(seed)).count();
            assert!((930..=970).contains(&held), "{held} with {count}");
        }
    }

    // Is what varies with the length of a write, and not beside it, certain?
    #[test]
    fn what_is_proportional_is_certain() {
        let mut ratio = Ratio::default();
        (0..5000).for_each(|i| ratio.push(7.0 * f64::from(i % 13 + 1), f64::from(i % 13 + 1)));
        let found = ratio.interval(0.95).unwrap();
        assert!((found.value - 7.0).abs() < 1e-12 && found.relative_precision() < 1e-9);
    }

    // Is nothing said of nothing, and no interval of too little?
    #[test]
    fn too_little_has_no_interval() {
        assert_eq!(Ratio::default().estimate(), None);
        let few = series(1, 5).estimate().unwrap();
        assert!(few.low.is_none() && few.value > 0.0);
    }
}
