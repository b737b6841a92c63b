//! The least of a function of which nothing is known but its values.

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

/// What is no number is worse than all that are.
const fn finite(cost: f64) -> f64 {
    if cost.is_finite() { cost } else { 1e300 }
}

/// How often a simplex is spread out anew where the last one closed in: one may close in on no minimum.
const RESTARTS: usize = 8;

/// Steps of a simplex for each dimension.
const STEPS: u64 = 200;

/// The least of two costs that are told apart, relative to them.
const TOLERANCE: f64 = 1e-10;

/// Where `cost` is least near `start`, by simplexes (J. A. Nelder and R. Mead, *The Computer Journal*
/// 7(4), 1965) that are as large as `spread` at first, along each axis.
pub(super) fn least(start: &[f64], spread: f64, cost: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut best = (start.to_vec(), finite(cost(start)));
    for _ in 0..if start.is_empty() { 0 } else { RESTARTS } {
        let found = simplex(&best.0, spread, &cost);
        let better = found.as_ref().is_some_and(|found| found.1 < best.1 * (1.0 - TOLERANCE));
        match found {
            Some(found) if better => best = found,
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

    // Is the end of Rosenbrock's valley found, and a kink, which has no derivative?
    #[test]
    fn valleys_and_kinks() {
        let valley = least(&[-1.2, 1.0], 0.5, |x| {
            (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2)
        });
        assert!((valley[0] - 1.0).abs() < 1e-3 && (valley[1] - 1.0).abs() < 1e-3, "{valley:?}");
        let kink = least(&[3.0, 3.0, 3.0], 0.5, |x| {
            (x[0] - 1.0).abs() + 2.0 * (x[1] + x[0]).abs() + (x[2] - x[1]).abs()
        });
        assert!(kink.iter().zip([1.0, -1.0, -1.0]).all(|(x, y)| (x - y).abs() < 1e-3), "{kink:?}");
    }

    // Is what cannot be evaluated avoided, and nothing to be found no error?
    #[test]
    fn edges() {
        let root = least(&[4.0], 1.0, |x| (x[0].sqrt() - 1.0).powi(2));
        assert!((root[0] - 1.0).abs() < 1e-3, "{root:?}");
        assert!(least(&[], 1.0, |_| 0.0).is_empty());
    }
}
