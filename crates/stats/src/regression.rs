//! Linear regression whose intervals do not assume that anything is linear.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Estimate;

/// A column of which less than such a share is left without those before it says nothing that they do not
/// say.
const LEAST_NEW: f64 = 1e-9;

/// What rounding may leave of nothing, as a share of the largest value.
const ROUNDING: f64 = 1e-12;

/// A linear function through values that need not lie on one.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// Its value where all columns are 0.
    pub intercept: Estimate,
    /// By how much it rises with each column, in their order.
    pub slopes: Vec<Estimate>,
    /// The share of the variance of the values that it explains, 0 to 1: the coefficient of determination.
    pub explained: f64,
}

/// The linear function of some columns that is nearest to `values`, by least squares, with 95 %
/// intervals. `None` where values are too few, or a column follows from others.
///
/// The intervals hold for values that are no linear function, and whose spread differs from place to place:
/// they are of the line that is nearest to whatever function that is (variances HC3 of J. G. `MacKinnon` and
/// H. White, *Journal of Econometrics* 29(3), 1985, equation 13; Student's t).
///
/// # Panics
/// Where a column is not as long as the values.
#[allow(clippy::cast_precision_loss, reason = "values are few")]
pub fn regression(columns: &[Vec<f64>], values: &[f64]) -> Option<Regression> {
    let level = vec![1.0; values.len()];
    let columns: Vec<&[f64]> = std::iter::once(&level).chain(columns).map(Vec::as_slice).collect();
    assert!(columns.iter().all(|column| column.len() == values.len()), "a row for each value");
    let freedom = values.len().checked_sub(columns.len()).filter(|freedom| *freedom > 0)?;
    let Axes { axes, duals } = axes(&columns)?;
    let coefficients: Vec<f64> = duals.iter().map(|dual| dot(dual, values)).collect();
    let mut residuals = values.to_vec();
    for (column, coefficient) in columns.iter().zip(&coefficients) {
        take(&mut residuals, *coefficient, column);
    }
    // What a value draws the function to itself is its leverage.
    let leverage = |row: usize| axes.iter().map(|axis| axis[row] * axis[row]).sum::<f64>();
    let errors: Vec<f64> = residuals
        .iter()
        .enumerate()
        .map(|(row, residual)| residual / (1.0 - leverage(row)).max(LEAST_NEW))
        .collect();
    let least = ROUNDING * values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let t = StudentsT::new(0.0, 1.0, freedom as f64).ok()?.inverse_cdf(0.975);
    let half = |dual: &Vec<f64>| {
        let squares = dual.iter().zip(&errors).map(|(weight, error)| (weight * error).powi(2));
        t * squares.sum::<f64>().sqrt().max(least)
    };
    let mut estimates = coefficients
        .iter()
        .zip(&duals)
        .map(|(value, dual)| Estimate::symmetric(*value, Some(half(dual))));
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let explained = (1.0 - dot(&residuals, &residuals) / total).max(0.0);
    Some(Regression {
        intercept: estimates.next()?,
        slopes: estimates.collect(),
        explained: if total > 0.0 { explained } else { 0.0 },
    })
}

/// What columns span.
struct Axes {
    /// At right angles to each other, of length 1.
    axes: Vec<Vec<f64>>,
    /// Of each column what gives its coefficient, times the values: the rows of the pseudoinverse.
    duals: Vec<Vec<f64>>,
}

/// By Gram and Schmidt, each column twice, which leaves right angles up to rounding (L. Giraud et al.,
/// *Numerische Mathematik* 101(1), 2005). `None` where a column follows from those before it.
fn axes(columns: &[&[f64]]) -> Option<Axes> {
    let mut axes: Vec<Vec<f64>> = Vec::new();
    // Of each column how far it goes along each axis, itself the last.
    let mut along: Vec<Vec<f64>> = Vec::new();
    for column in columns {
        let mut rest = column.to_vec();
        let mut parts = vec![0.0; axes.len()];
        for _ in 0..2 {
            for (axis, part) in axes.iter().zip(&mut parts) {
                let more = dot(axis, &rest);
                take(&mut rest, more, axis);
                *part += more;
            }
        }
        let left = dot(&rest, &rest).sqrt();
        if left <= LEAST_NEW * dot(column, column).sqrt() {
            return None;
        }
        rest.iter_mut().for_each(|value| *value /= left);
        axes.push(rest);
        parts.push(left);
        along.push(parts);
    }
    let mut duals = axes.clone();
    for nth in (0..duals.len()).rev() {
        let (before, after) = duals.split_at_mut(nth + 1);
        for (dual, parts) in after.iter().zip(&along[nth + 1..]) {
            take(&mut before[nth], parts[nth], dual);
        }
        before[nth].iter_mut().for_each(|value| *value /= along[nth][nth]);
    }
    Some(Axes { axes, duals })
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Takes so many times `part` from `from`.
fn take(from: &mut [f64], times: f64, part: &[f64]) {
    from.iter_mut().zip(part).for_each(|(from, part)| *from -= times * part);
}

#[cfg(test)]
mod tests {
    use rand::distr::{Distribution, Uniform};
    use rand::rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Two columns of so many numbers from -0.5 to 0.5.
    fn columns(count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let range = Uniform::new(-0.5, 0.5).unwrap();
        (0..2).map(|_| (0..count).map(|_| range.sample(&mut rng)).collect()).collect()
    }

    /// What a function comes to at each row of two columns.
    fn of(columns: &[Vec<f64>], mut function: impl FnMut(f64, f64) -> f64) -> Vec<f64> {
        columns[0].iter().zip(&columns[1]).map(|(one, other)| function(*one, *other)).collect()
    }

    // Is a linear function found again, as good as exactly?
    #[test]
    fn a_linear_function_is_found() {
        let columns = columns(20, 1);
        let values = of(&columns, |x, y| 3.0 + 2.0 * x - 5.0 * y);
        let found = regression(&columns, &values).unwrap();
        for (estimate, is) in [found.intercept].iter().chain(&found.slopes).zip([3.0, 2.0, -5.0]) {
            assert!((estimate.value - is).abs() < 1e-9 && estimate.half_width().unwrap() < 1e-9);
        }
        assert!(found.explained > 1.0 - 1e-9);
    }

    // Do intervals hold the nearest line of a curve, whose values spread more at one end, as often as
    // they say? The line that is nearest to x^2 over -0.5 to 0.5 is level, at 1/12.
    #[test]
    fn intervals_cover() {
        let mut covered = [0; 3];
        for seed in 0..400 {
            let columns = columns(40, seed);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5eed);
            let luck = Uniform::new(-0.5, 0.5).unwrap();
            let values = of(&columns, |x, y| y + 4.0 * x * x + luck.sample(&mut rng) * (y + 0.5));
            let found = regression(&columns, &values).unwrap();
            let truth = [4.0 / 12.0, 0.0, 1.0];
            for (nth, estimate) in [found.intercept].iter().chain(&found.slopes).enumerate() {
                covered[nth] += u32::from(estimate.covers(truth[nth]));
            }
        }
        assert!(covered.iter().all(|times| (368..=396).contains(times)), "{covered:?}");
    }

    // Is nothing said where there is nothing to say it from?
    #[test]
    fn what_cannot_be_told() {
        let three = columns(3, 1);
        assert_eq!(regression(&three, &[1.0, 2.0, 3.0]), None, "as many coefficients as values");
        let mut twice = columns(20, 1);
        twice[1] = twice[0].iter().map(|value| 2.0 * value).collect();
        assert_eq!(regression(&twice, &[1.0; 20]), None, "columns that say the same");
        assert_eq!(regression(&[vec![7.0; 20]], &[1.0; 20]), None, "a column that does not vary");
        assert_eq!(regression(&[], &[]), None);
        let level = regression(&columns(20, 1), &[7.0; 20]).unwrap();
        assert!(level.slopes.iter().all(|slope| slope.covers(0.0)), "{level:?}");
    }
}
