//! GC collects a random block.

use crate::{Prediction, Uniform};

/// Returns the write amplification: 1 / (1 - rho), with rho = 1 / alpha. A policy that skips fully
/// valid blocks does better.
#[must_use]
pub fn write_amplification(alpha: f64) -> f64 {
    alpha / (alpha - 1.0)
}

/// Predicts the cost of uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    Prediction::page_mapped(write_amplification(uniform.alpha()), uniform.pages_per_block())
}
