//! Any block is cleaned, whatever is in it.

use crate::{Prediction, Uniform};

/// Programs for each page that the host writes: 1 / (1 - rho), with rho = 1 / alpha. A policy that takes
/// another block where nothing would be gained does better.
#[must_use]
pub fn write_amplification(alpha: f64) -> f64 {
    alpha / (alpha - 1.0)
}

/// Uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    Prediction::page_mapped(write_amplification(uniform.alpha()), uniform.pages_per_block())
}
