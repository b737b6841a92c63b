//! The best of d blocks drawn at random is cleaned (Van Houdt).
//!
//! With h_i the share of blocks that have i or more valid pages: 1 - h_i^d = (i / (rho A)) (h_i - h_{i+1}),
//! h_{b+1} = 0, and the sum of h_i from 1 to b is rho b. All h_i follow from rho A alone, which is therefore
//! what is searched.

use super::{between_whole, greedy, random, units};
use crate::root::root;
use crate::{OutOfRange, Prediction, Uniform};

/// Programs for each page that the host writes, of `alpha` physical over logical pages, for the best of
/// `choices` blocks of `pages_per_block`. Between whole numbers of pages it is interpolated.
///
/// # Errors
///
/// Unless choices are 1 or more.
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
    // Between choosing of all blocks and choosing at random.
    let least = rho * greedy::write_amplification(alpha, block);
    let most = rho * random::write_amplification(alpha);
    let off = |flow: f64| mean_valid(flow, block, choices) - rho;
    (root(least * (1.0 - 1e-9), most * (1.0 + 1e-9), off) / rho).max(1.0)
}

/// The share of valid pages where rho A is `flow`.
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

/// The h of h^d + s h = 1 + s a that lies between a and 1: by Newton's method from a. It is convex, so that the first
/// step leads beyond h, and further ones back to it.
fn tail(slope: f64, above: f64, choices: f64) -> f64 {
    let mut h = above;
    for _ in 0..100 {
        let power = power(h, choices - 1.0);
        let off = power * h + slope * h - 1.0 - slope * above;
        let next = (h - off / (choices * power + slope)).clamp(above, 1.0);
        // What is off by so little is off by its square after one more step.
        if (h - next).abs() <= 1e-8 * next {
            return next;
        }
        h = next;
    }
    h
}

/// A power, in products where it is a small whole one.
fn power(of: f64, exponent: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation, reason = "compared with what it was")]
    let whole = exponent as i32;
    if f64::from(whole) == exponent { of.powi(whole) } else { of.powf(exponent) }
}

/// Uniform writes, and the best of ten.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let amplification =
        of(uniform.alpha(), units(uniform.pages_per_block(), uniform.mean_len()), 10.0);
    Prediction::page_mapped(amplification, uniform.pages_per_block())
}
