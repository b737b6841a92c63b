//! Minimizes a function by its values alone, without derivatives.

use argmin::core::{CostFunction, Error, Executor, State};
use argmin::solver::neldermead::NelderMead;

/// A function to be minimized.
struct Cost<F>(F);

impl<F: Fn(&[f64]) -> f64> CostFunction for Cost<F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, at: &Vec<f64>) -> Result<f64, Error> {
        Ok(finite((self.0)(at)))
    }
}

/// Replaces a cost that is not finite by a very large one.
const fn finite(cost: f64) -> f64 {
    if cost.is_finite() { cost } else { 1e300 }
}

/// The maximum number of restarts with a fresh simplex. A simplex can collapse at a point that is
/// no minimum.
const RESTARTS: usize = 8;

/// The maximum number of steps of a simplex, for each dimension.
const STEPS: u64 = 200;

/// The relative difference below which two costs count as equal.
const TOLERANCE: f64 = 1e-10;

/// Returns the point near `start` at which `cost` is minimal, by the simplex method (J. A. Nelder
/// and R. Mead, *The Computer Journal* 7(4), 1965). `spread` is the initial size of the simplex
/// along each axis.
pub(super) fn least(start: &[f64], spread: f64, cost: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut best = (start.to_vec(), finite(cost(start)));
    for _ in 0..if start.is_empty() { 0 } else { RESTARTS } {
        let next = simplex(&best.0, spread, &cost);
        let better = next.as_ref().is_some_and(|next| next.1 < best.1 * (1.0 - TOLERANCE));
        match next {
            Some(next) if better => best = next,
            _ => break,
        }
    }
    best.0
}

fn simplex(start: &[f64], spread: f64, cost: &impl Fn(&[f64]) -> f64) -> Option<(Vec<f64>, f64)> {
    let mut corners = vec![start.to_vec()];
    corners.extend((0..start.len()).map(|axis| {
        let mut corner = start.to_vec();
        corner[axis] += spread;
        corner
    }));
    let solver = NelderMead::new(corners).with_sd_tolerance(1e-14).ok()?;
    let steps = STEPS * start.len() as u64;
    let executor = Executor::new(Cost(cost), solver).timer(false);
    let outcome = executor.configure(|state| state.max_iters(steps)).run().ok()?;
    let state = outcome.state();
    Some((state.get_best_param()?.clone(), state.get_best_cost()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_minimum_of_a_valley_and_of_a_kink() {
        let valley = least(&[-1.2, 1.0], 0.5, |x| {
            (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2)
        });
        assert!((valley[0] - 1.0).abs() < 1e-3 && (valley[1] - 1.0).abs() < 1e-3, "{valley:?}");
        let kink = least(&[3.0, 3.0, 3.0], 0.5, |x| {
            (x[0] - 1.0).abs() + 2.0 * (x[1] + x[0]).abs() + (x[2] - x[1]).abs()
        });
        assert!(kink.iter().zip([1.0, -1.0, -1.0]).all(|(x, y)| (x - y).abs() < 1e-3), "{kink:?}");
    }

    #[test]
    fn avoids_undefined_costs_and_accepts_zero_dimensions() {
        let root = least(&[4.0], 1.0, |x| (x[0].sqrt() - 1.0).powi(2));
        assert!((root[0] - 1.0).abs() < 1e-3, "{root:?}");
        assert!(least(&[], 1.0, |_| 0.0).is_empty());
    }
}
