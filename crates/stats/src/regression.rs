//! Least-squares regression with intervals that are valid even if the function is not linear.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Estimate;

/// A column counts as linearly dependent on the columns before it if its component orthogonal to
/// them is at most this fraction of its length.
const MIN_INDEPENDENT_SHARE: f64 = 1e-9;

/// The expected rounding error, relative to the largest value. Half-widths are at least this.
const ROUNDING: f64 = 1e-12;

/// A fitted linear function of several columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// The value at which all columns are 0.
    pub intercept: Estimate,
    /// The slope for each column, in order.
    pub slopes: Vec<Estimate>,
    /// The coefficient of determination, R²: the fraction of the variance that the function
    /// explains, from 0 to 1.
    pub explained: f64,
}

/// Fits `values` by a linear function of `columns`, by least squares, with 95 % intervals. Returns
/// `None` if there are too few values, or if the columns are linearly dependent.
///
/// The values need not follow a linear function, and their variance need not be constant: the
/// intervals cover the least-squares line of the true function (variances HC3 of J. G. `MacKinnon`
/// and H. White, *Journal of Econometrics* 29(3), 1985, equation 13; Student's t).
///
/// # Panics
/// Panics if a column is not as long as `values`.
#[allow(clippy::cast_precision_loss, reason = "values are few")]
pub fn regression(columns: &[Vec<f64>], values: &[f64]) -> Option<Regression> {
    let level = vec![1.0; values.len()];
    let columns: Vec<&[f64]> = std::iter::once(&level).chain(columns).map(Vec::as_slice).collect();
    assert!(columns.iter().all(|column| column.len() == values.len()), "columns of unequal length");
    let freedom = values.len().checked_sub(columns.len()).filter(|freedom| *freedom > 0)?;
    let Axes { axes, duals } = axes(&columns)?;
    let coefficients: Vec<f64> = duals.iter().map(|dual| dot(dual, values)).collect();
    let mut residuals = values.to_vec();
    for (column, coefficient) in columns.iter().zip(&coefficients) {
        subtract(&mut residuals, *coefficient, column);
    }
    // The leverage of a value is its weight in its own fitted value.
    let leverage = |row: usize| axes.iter().map(|axis| axis[row] * axis[row]).sum::<f64>();
    let errors: Vec<f64> = residuals
        .iter()
        .enumerate()
        .map(|(row, residual)| residual / (1.0 - leverage(row)).max(MIN_INDEPENDENT_SHARE))
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

/// An orthonormal basis of the space that the columns span.
struct Axes {
    /// The basis vectors: orthogonal, of length 1.
    axes: Vec<Vec<f64>>,
    /// For each column, the vector whose scalar product with the values is the coefficient: the
    /// rows of the pseudoinverse.
    duals: Vec<Vec<f64>>,
}

/// Computes a basis by the Gram-Schmidt process, applied twice to each column, which keeps the
/// vectors orthogonal up to rounding (L. Giraud et al., *Numerische Mathematik* 101(1), 2005).
/// Returns `None` if a column is linearly dependent on the columns before it.
fn axes(columns: &[&[f64]]) -> Option<Axes> {
    let mut axes: Vec<Vec<f64>> = Vec::new();
    // For each column, its components along the basis vectors; the last component is along the
    // vector made from this column.
    let mut along: Vec<Vec<f64>> = Vec::new();
    for column in columns {
        let mut rest = column.to_vec();
        let mut parts = vec![0.0; axes.len()];
        for _ in 0..2 {
            for (axis, part) in axes.iter().zip(&mut parts) {
                let more = dot(axis, &rest);
                subtract(&mut rest, more, axis);
                *part += more;
            }
        }
        let left = dot(&rest, &rest).sqrt();
        if left <= MIN_INDEPENDENT_SHARE * dot(column, column).sqrt() {
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
            subtract(&mut before[nth], parts[nth], dual);
        }
        before[nth].iter_mut().for_each(|value| *value /= along[nth][nth]);
    }
    Some(Axes { axes, duals })
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Subtracts `times` × `part` from `from`.
fn subtract(from: &mut [f64], times: f64, part: &[f64]) {
    from.iter_mut().zip(part).for_each(|(from, part)| *from -= times * part);
}

#[cfg(test)]
mod tests {
    use rand::distr::{Distribution, Uniform};
    use rand::rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Generates two columns of `count` random numbers from -0.5 to 0.5.
    fn columns(count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let range = Uniform::new(-0.5, 0.5).unwrap();
        (0..2).map(|_| (0..count).map(|_| range.sample(&mut rng)).collect()).collect()
    }

    /// Applies a function to each row of two columns.
    fn of(columns: &[Vec<f64>], mut function: impl FnMut(f64, f64) -> f64) -> Vec<f64> {
        columns[0].iter().zip(&columns[1]).map(|(one, other)| function(*one, *other)).collect()
    }

    #[test]
    fn a_linear_function_is_recovered() {
        let columns = columns(20, 1);
        let values = of(&columns, |x, y| 3.0 + 2.0 * x - 5.0 * y);
        let fit = regression(&columns, &values).unwrap();
        for (estimate, truth) in [fit.intercept].iter().chain(&fit.slopes).zip([3.0, 2.0, -5.0]) {
            assert!((estimate.value - truth).abs() < 1e-9 && estimate.half_width().unwrap() < 1e-9);
        }
        assert!(fit.explained > 1.0 - 1e-9);
    }

    // The function is a curve with uneven variance. The least-squares line of x² over -0.5 to 0.5
    // is the constant 1/12.
    #[test]
    fn intervals_cover_the_least_squares_line() {
        let mut covered = [0; 3];
        for seed in 0..400 {
            let columns = columns(40, seed);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5eed);
            let noise = Uniform::new(-0.5, 0.5).unwrap();
            let values = of(&columns, |x, y| y + 4.0 * x * x + noise.sample(&mut rng) * (y + 0.5));
            let fit = regression(&columns, &values).unwrap();
            let truth = [4.0 / 12.0, 0.0, 1.0];
            for (nth, estimate) in [fit.intercept].iter().chain(&fit.slopes).enumerate() {
                covered[nth] += u32::from(estimate.covers(truth[nth]));
            }
        }
        assert!(covered.iter().all(|times| (368..=396).contains(times)), "{covered:?}");
    }

    #[test]
    fn underdetermined_fits_have_no_result() {
        let three = columns(3, 1);
        assert_eq!(regression(&three, &[1.0, 2.0, 3.0]), None, "as many coefficients as values");
        let mut twice = columns(20, 1);
        twice[1] = twice[0].iter().map(|value| 2.0 * value).collect();
        assert_eq!(regression(&twice, &[1.0; 20]), None, "two proportional columns");
        assert_eq!(regression(&[vec![7.0; 20]], &[1.0; 20]), None, "a constant column");
        assert_eq!(regression(&[], &[]), None);
        let level = regression(&columns(20, 1), &[7.0; 20]).unwrap();
        assert!(level.slopes.iter().all(|slope| slope.covers(0.0)), "{level:?}");
    }
}
