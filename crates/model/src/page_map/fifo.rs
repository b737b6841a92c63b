//! GC collects the oldest block (Desnoyers, equation 4, where the policy is called LRU).

use lambert_w::lambert_w0;

use crate::root::root;
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

/// Returns the write amplification if GC skips blocks without an invalid page, which free no space.
/// A block has `units` pages, 1 or more, that become invalid independently. Tends to
/// [`write_amplification`] for many pages.
///
/// A block is collected at age T, or when it loses its first page after that. The unit of time is
/// as many host writes as there are live pages. The mean life of a block is L = T + exp(-bT) / b.
/// Its mean share of valid pages over its life is V = 1 - exp(-T) + exp(-bT) / b. The blocks fill
/// the drive (A L = alpha) and hold all live pages (A V = 1).
#[must_use]
pub fn passing_full_blocks(alpha: f64, units: f64) -> f64 {
    let life = |age: f64| {
        let later = (-units * age).exp() / units;
        (age + later, -(-age).exp_m1() + later)
    };
    let off = |age: f64| {
        let (life, valid) = life(age);
        alpha * valid - life
    };
    let age = root(0.0, alpha, off);
    (alpha / life(age).0).max(1.0)
}

/// Predicts the cost of uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    Prediction::page_mapped(write_amplification(uniform.alpha()), uniform.pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Large blocks are not affected, and a block of one page is never copied.
    #[test]
    fn passing_full_blocks_lowers_the_cost_of_small_blocks() {
        for alpha in [1.05, 1.1, 1.5, 4.0] {
            let plain = write_amplification(alpha);
            assert!((passing_full_blocks(alpha, 1024.0) / plain - 1.0).abs() < 1e-9, "{alpha}");
            assert!((passing_full_blocks(alpha, 1.0) - 1.0).abs() < 1e-9, "{alpha}");
            let mut last = 1.0;
            for units in [2.0, 4.0, 16.0, 64.0] {
                let amplification = passing_full_blocks(alpha, units);
                assert!(last <= amplification && amplification <= plain * (1.0 + 1e-12));
                last = amplification;
            }
        }
    }

    // The simulation is independent, with 4096 blocks and S_f = .07.
    #[test]
    fn passing_full_blocks_agrees_with_a_simulation() {
        for (units, simulated) in [(64.0, 7.3196), (32.0, 7.2960), (16.0, 6.7956)] {
            let got = passing_full_blocks(1.0 / 0.93, units);
            assert!((got / simulated - 1.0).abs() < 0.005, "{units}: {got} for {simulated}");
        }
    }

    // Covers drives with almost no spare space.
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
