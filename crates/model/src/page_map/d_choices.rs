//! GC collects the best of d randomly chosen blocks (Van Houdt).
//!
//! Let h_i be the share of blocks with i or more valid pages, and rho = 1 / alpha. Then 1 - h_i^d =
//! (i / (rho A)) (h_i - h_{i+1}) with h_{b+1} = 0, and the sum of h_i from 1 to b is rho b. All h_i
//! follow from rho A alone, which is the unknown of the root search.

use super::{between_whole, greedy, random, units};
use crate::root::root;
use crate::{OutOfRange, Prediction, Uniform};

/// Returns the write amplification if GC collects the best of `choices` random blocks. `alpha` is
/// the number of physical pages divided by logical pages. Interpolates between whole numbers of
/// `pages_per_block`.
///
/// # Errors
///
/// Returns an error unless `choices` is 1 or more.
pub fn write_amplification(
    alpha: f64,
    pages_per_block: f64,
    choices: f64,
) -> Result<f64, OutOfRange> {
    OutOfRange::unless(choices >= 1.0, "choices", choices, "1 or more")?;
    Ok(of(alpha, pages_per_block, choices))
}

fn of(alpha: f64, pages_per_block: f64, choices: f64) -> f64 {
    between_whole(pages_per_block, |block| of_whole(alpha, block, choices))
}

fn of_whole(alpha: f64, block: f64, choices: f64) -> f64 {
    let rho = 1.0 / alpha;
    // The result lies between that of greedy GC, which chooses among all blocks, and that of random
    // GC.
    let least = rho * greedy::write_amplification(alpha, block);
    let most = rho * random::write_amplification(alpha);
    let off = |flow: f64| mean_valid(flow, block, choices) - rho;
    (root(least * (1.0 - 1e-9), most * (1.0 + 1e-9), off) / rho).max(1.0)
}

/// Returns the share of valid pages if rho A is `flow`.
fn mean_valid(flow: f64, block: f64, choices: f64) -> f64 {
    let mut sum = 0.0;
    let mut above = 0.0;
    let mut i = block;
    while i >= 1.0 {
        above = tail(i / flow, above, choices);
        sum += above;
        i -= 1.0;
    }
    sum / block
}

/// Solves h^d + s h = 1 + s a for the h between a and 1, by Newton's method from a. Here, d is
/// `choices`, s is `slope` and a is `above`. The function is convex: the first step overshoots, and
/// all further steps approach h from above.
fn tail(slope: f64, above: f64, choices: f64) -> f64 {
    let mut h = above;
    for _ in 0..100 {
        let power = power(h, choices - 1.0);
        let off = power * h + slope * h - 1.0 - slope * above;
        let next = (h - off / (choices * power + slope)).clamp(above, 1.0);
        // Convergence is quadratic: the next step would change the result by less than a rounding
        // error.
        if (h - next).abs() <= 1e-8 * next {
            return next;
        }
        h = next;
    }
    h
}

/// Returns a power, by repeated multiplication if the exponent is a whole number.
fn power(of: f64, exponent: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation, reason = "the next line checks for a loss")]
    let whole = exponent as i32;
    if f64::from(whole) == exponent { of.powi(whole) } else { of.powf(exponent) }
}

/// Predicts the cost of uniform writes if GC collects the best of ten random blocks.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let amplification =
        of(uniform.alpha(), units(uniform.pages_per_block(), uniform.mean_len()), 10.0);
    Prediction::page_mapped(amplification, uniform.pages_per_block())
}
