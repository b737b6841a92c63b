use statrs::distribution::{ContinuousCDF, StudentsT};

/// The maximum number of batches. On reaching it, batches are merged in pairs, which halves their
/// number.
const MAX_BATCHES: usize = 64;

/// The minimum number of batches for an interval.
const MIN_BATCHES: usize = 8;

/// Computes the interval of a mean by the method of batch means (Law, *Simulation Modeling and
/// Analysis*, section 9.5.3). Consecutive response times depend on each other, but the means of
/// long batches hardly do.
///
/// The length of a batch doubles as data comes in, which keeps memory constant.
#[derive(Debug, Clone)]
pub(crate) struct BatchMeans {
    sums: Vec<f64>,
    batch_length: u64,
    current: f64,
    in_current: u64,
}

impl Default for BatchMeans {
    fn default() -> Self {
        BatchMeans {
            sums: Vec::with_capacity(MAX_BATCHES),
            batch_length: 1,
            current: 0.0,
            in_current: 0,
        }
    }
}

impl BatchMeans {
    /// Adds the next observation.
    pub(crate) fn push(&mut self, x: f64) {
        self.current += x;
        self.in_current += 1;
        if self.in_current < self.batch_length {
            return;
        }
        self.sums.push(std::mem::take(&mut self.current));
        self.in_current = 0;
        if self.sums.len() == MAX_BATCHES {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.batch_length *= 2;
        }
    }

    /// Returns half the width of the mean's 95 % interval, or `None` if there are too few batches.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn half_width(&self) -> Option<f64> {
        let batches = self.sums.len();
        if batches < MIN_BATCHES {
            return None;
        }
        let count = batches as f64;
        let mean = self.sums.iter().sum::<f64>() / count;
        let squares: f64 = self.sums.iter().map(|sum| (sum - mean).powi(2)).sum();
        let standard_error = (squares / (count - 1.0) / count).sqrt() / self.batch_length as f64;
        let t = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(0.975);
        Some(t * standard_error)
    }
}

#[cfg(test)]
mod tests {
    use rand::distr::{Distribution, Uniform};
    use rand::rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Counts how many of 1,000 intervals, each over `count` values of an autoregressive series,
    /// cover the true mean.
    fn coverage(dependence: f64, count: u32) -> u32 {
        let noise = Uniform::new(-1.0, 1.0).unwrap();
        let holds = |seed| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let (mut batches, mut sum, mut x) = (BatchMeans::default(), 0.0, 0.0);
            for _ in 0..count {
                x = dependence * x + noise.sample(&mut rng);
                batches.push(100.0 + x);
                sum += 100.0 + x;
            }
            let mean = sum / f64::from(count);
            (mean - 100.0).abs() <= batches.half_width().unwrap()
        };
        u32::try_from((0..1000).filter(|&seed| holds(seed)).count()).unwrap()
    }

    // Covers independent and dependent data.
    #[test]
    fn intervals_cover_the_mean() {
        let independent = coverage(0.0, 1024);
        assert!((930..=970).contains(&independent), "{independent}");
        let dependent = coverage(0.8, 20_000);
        assert!((930..=970).contains(&dependent), "{dependent}");
    }

    #[test]
    fn too_little_data_has_no_interval() {
        let mut batches = BatchMeans::default();
        for i in 0..MIN_BATCHES {
            assert_eq!(batches.half_width(), None);
            batches.push(f64::from(u8::try_from(i).unwrap()));
        }
        assert!(batches.half_width().is_some_and(|half| half > 0.0));
    }
}
