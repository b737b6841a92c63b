use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

use crate::Estimate;

/// The probability with which values of common variance pass as such.
const CONFIDENCE: f64 = 0.99;

/// The variance between repeats of the same measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The variance of a single repeat, relative to the square of the mean.
    pub variance: f64,
    /// The degrees of freedom of the estimate of the variance.
    pub freedom: f64,
}

impl Spread {
    /// Returns the spread of repeats; `None` for fewer than two, or unless their mean is above 0.
    pub fn of(repeats: &[f64]) -> Option<Spread> {
        let count = repeats.len() as f64;
        let mean = repeats.iter().sum::<f64>() / count;
        let squares = repeats.iter().map(|value| (value / mean - 1.0).powi(2)).sum::<f64>();
        let freedom = count - 1.0;
        (freedom > 0.0 && mean > 0.0).then(|| Spread { variance: squares / freedom, freedom })
    }

    /// Returns the mean spread of several measurements; `None` for none.
    ///
    /// The degrees of freedom are those of Satterthwaite (*Biometrics Bulletin* 2, 1946). They are
    /// few if a few of the variances dominate. The estimate of a squared variance exceeds it by a
    /// factor of 1 + 2 / freedom, which is divided out.
    pub fn pooled(all: &[Spread]) -> Option<Spread> {
        let freedom: f64 = all.iter().map(|one| one.freedom).sum();
        let squares: f64 = all.iter().map(|one| one.freedom * one.variance).sum();
        let fourths =
            all.iter().map(|one| one.freedom * one.variance.powi(2) / (1.0 + 2.0 / one.freedom));
        let effective = squares.powi(2) / fourths.sum::<f64>();
        (freedom > 0.0).then(|| Spread {
            variance: squares / freedom,
            freedom: if effective.is_finite() { effective.min(freedom) } else { freedom },
        })
    }

    /// Returns true if the variance is significantly larger than that of others (F-test).
    pub fn exceeds(&self, others: &Spread) -> bool {
        let Ok(distribution) = FisherSnedecor::new(self.freedom, others.freedom) else {
            return self.variance > others.variance;
        };
        self.variance > others.variance * distribution.inverse_cdf(CONFIDENCE)
    }

    /// Returns the mean of repeats with its 95 % interval by Student's t; `None` for no repeats.
    pub fn mean_of(&self, repeats: &[f64]) -> Option<Estimate> {
        let count = repeats.len() as f64;
        let mean = repeats.iter().sum::<f64>() / count;
        let t = StudentsT::new(0.0, 1.0, self.freedom).ok()?.inverse_cdf(0.975);
        let half = t * mean.abs() * (self.variance / count).sqrt();
        (!repeats.is_empty()).then(|| Estimate::symmetric(mean, Some(half)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean_of_repeats;

    #[test]
    fn one_measurement_has_the_interval_of_its_repeats() {
        let repeats = [1.0, 1.2, 1.1, 0.8];
        let spread = Spread::of(&repeats).unwrap();
        let (own, known) = (spread.mean_of(&repeats).unwrap(), mean_of_repeats(&repeats).unwrap());
        assert!((own.low.unwrap() - known.low.unwrap()).abs() < 1e-12);
        assert_eq!(Spread::of(&[1.0]), None);
        assert_eq!(Spread::of(&[0.0, 0.0]), None);
    }

    #[test]
    fn equal_variances_add_their_degrees_of_freedom() {
        let one = Spread { variance: 0.04, freedom: 2.0 };
        let pooled = Spread::pooled(&[one; 10]).unwrap();
        assert!((pooled.variance - 0.04).abs() < 1e-12);
        assert!((pooled.freedom - 20.0).abs() < 1e-9);
        assert_eq!(Spread::pooled(&[]), None);
    }

    #[test]
    fn a_dominant_variance_leaves_only_its_own_degrees_of_freedom() {
        let quiet = Spread { variance: 1e-6, freedom: 2.0 };
        let mut all = vec![quiet; 9];
        all.push(Spread { variance: 1.0, freedom: 2.0 });
        let pooled = Spread::pooled(&all).unwrap();
        // Its fourth power is overestimated by a factor of 2.
        assert!((pooled.freedom - 4.0).abs() < 0.01, "{pooled:?}");
        assert!(all[9].exceeds(&Spread::pooled(&all[..9]).unwrap()));
    }

    #[test]
    fn repeats_without_variance_pool_to_none() {
        let constant = Spread { variance: 0.0, freedom: 2.0 };
        let pooled = Spread::pooled(&[constant; 3]).unwrap();
        assert_eq!(pooled, Spread { variance: 0.0, freedom: 6.0 });
        assert!(!constant.exceeds(&pooled));
        assert_eq!(pooled.mean_of(&[5.0]), Some(Estimate::symmetric(5.0, Some(0.0))));
    }
}
