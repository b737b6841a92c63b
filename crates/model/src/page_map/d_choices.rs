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

/// Returns the write amplification if GC repeats the random choice while all chosen blocks are
/// fully valid. Collecting a fully valid block frees no space. A block has `units` pages, 1 or
/// more, that become invalid independently.
///
/// A choice fails with probability h_b^d. The left side of the equation therefore becomes (1 -
/// h_i^d) / (1 - h_b^d). For i = b this gives h_b = rho A / b.
///
/// # Errors
///
/// Returns an error unless `choices` is 1 or more.
pub fn redrawing(alpha: f64, units: f64, choices: f64) -> Result<f64, OutOfRange> {
    OutOfRange::unless(choices >= 1.0, "choices", choices, "1 or more")?;
    Ok(between_whole(units, |block| {
        between_bounds(alpha, block, |flow| {
            let full = (flow / block).min(1.0);
            let drawn = 1.0 - power(full, choices);
            mean_valid_below((full, block - 1.0), block, |i, above| {
                tail(i / flow * drawn, above, choices)
            })
        })
    }))
}

fn of(alpha: f64, pages_per_block: f64, choices: f64) -> f64 {
    between_whole(pages_per_block, |block| of_whole(alpha, block, choices))
}

fn of_whole(alpha: f64, block: f64, choices: f64) -> f64 {
    between_bounds(alpha, block, |flow| {
        mean_valid_below((0.0, block), block, |i, above| tail(i / flow, above, choices))
    })
}

/// Returns the write amplification at which `mean_valid` of rho A is the share of valid pages in
/// the drive.
fn between_bounds(alpha: f64, block: f64, mean_valid: impl Fn(f64) -> f64) -> f64 {
    let rho = 1.0 / alpha;
    // The result lies between that of greedy GC, which chooses among all blocks, and that of random
    // GC.
    let least = rho * greedy::write_amplification(alpha, block);
    let most = rho * random::write_amplification(alpha);
    let off = |flow: f64| mean_valid(flow) - rho;
    (root(least * (1.0 - 1e-9), most * (1.0 + 1e-9), off) / rho).max(1.0)
}

/// Returns the share of valid pages, if `tail` computes each h_i from h_{i+1}. The computation runs
/// from i = `from` down to 1, and `above` is h_i for i = `from` + 1.
fn mean_valid_below((above, from): (f64, f64), block: f64, tail: impl Fn(f64, f64) -> f64) -> f64 {
    let (mut sum, mut above, mut i) = (above, above, from);
    while i >= 1.0 {
        above = tail(i, above);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_map::{Mix, random};

    // With one choice, redrawing is that of random GC. With many choices, not all chosen blocks are
    // fully valid.
    #[test]
    fn redrawing_agrees_with_random_gc_and_vanishes_for_many_choices() {
        let even = Mix::hot_cold(0.4, 0.4).unwrap();
        for (alpha, block) in [(1.05, 8.0), (1.15, 16.0), (1.5, 64.0)] {
            let one = redrawing(alpha, block, 1.0).unwrap();
            let exact = random::redrawing(&even, alpha, block);
            assert!((one / exact - 1.0).abs() < 1e-3, "{alpha}, {block}: {one} for {exact}");
            let (many, plain) = (redrawing(alpha, block, 50.0).unwrap(), of(alpha, block, 50.0));
            assert!((many / plain - 1.0).abs() < 1e-2, "{alpha}, {block}: {many} for {plain}");
        }
        let (two, plain) = (redrawing(1.12, 16.0, 2.0).unwrap(), of(1.12, 16.0, 2.0));
        assert!(two < 0.95 * plain, "{two} for {plain}");
    }
}
