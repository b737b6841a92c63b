//! GC collects the oldest block (Desnoyers, equation 4, where the policy is called LRU).

use lambert_w::lambert_w0;

use crate::{Prediction, Uniform};

/// Returns the write amplification: A = 1 / (1 - X). `alpha` is the number of physical pages
/// divided by logical pages, above 1. The share of pages that are still valid at the end of the
/// queue is X = exp(-alpha (1 - X)).
///
/// Exact for uniform writes of any length.
#[must_use]
pub fn write_amplification(alpha: f64) -> f64 {
    // Close to alpha = 1, the Lambert function W loses digits at its branch point. There, the
    // series 1 - X = 2 e - 8/3 e^2 + 28/9 e^3 … replaces it, with e = alpha - 1.
    let spare = alpha - 1.0;
    if spare < 1e-4 {
        let dead = 2.0 * spare * (1.0 - 4.0 / 3.0 * spare + 14.0 / 9.0 * spare * spare);
        return 1.0 / dead;
    }
    alpha / (alpha + lambert_w0(-alpha * (-alpha).exp()))
}

/// Predicts the cost of uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    Prediction::page_mapped(write_amplification(uniform.alpha()), uniform.pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does the amplification solve its equation, down to almost no spare space?
    #[test]
    fn solves_equation_4() {
        for alpha in [1.0 + 1e-9, 1.0 + 9e-5, 1.0 + 2e-4, 1.01, 1.07, 1.5, 4.0, 1e3] {
            let live = 1.0 - 1.0 / write_amplification(alpha);
            // This form, alpha = -ln X / (1 - X), loses no digits.
            let dead = 1.0 / write_amplification(alpha);
            let back = -(-dead).ln_1p() / dead;
            assert!(((back - 1.0) / (alpha - 1.0) - 1.0).abs() < 1e-6 || live < 1e-9, "{alpha}");
        }
    }
}
