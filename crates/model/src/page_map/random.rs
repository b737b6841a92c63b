//! GC collects a random block.

use super::Mix;
use crate::{Prediction, Uniform};

/// Returns the write amplification: 1 / (1 - rho), with rho = 1 / alpha. A policy that skips fully
/// valid blocks does better.
#[must_use]
pub fn write_amplification(alpha: f64) -> f64 {
    alpha / (alpha - 1.0)
}

/// Returns the write amplification for any classes of pages if GC repeats the random choice until a
/// block has an invalid page. A block has `units` pages, 1 or more, that become invalid
/// independently.
///
/// A block has an exponential life from its first invalid page on. The mean time to that page is
/// tau, the integral of S(t)^b, where S is the share of pages that stay valid for a time t. This
/// gives A = alpha / (alpha - 1 + tau), with time in units of as many host writes as there are live
/// pages. For uniform writes tau is 1/b, and the result is exact. For other classes, S is that of
/// GC that accepts every random block.
#[must_use]
pub fn redrawing(mix: &Mix, alpha: f64, units: f64) -> f64 {
    let rate = 1.0 / (alpha - 1.0);
    // The share of each class in the programs, and the write rate of its pages.
    let classes: Vec<(f64, f64)> = mix
        .classes()
        .iter()
        .map(|class| {
            let own = class.writes / class.space;
            (class.space * (own + rate) / (1.0 + rate), own)
        })
        .collect();
    let valid = |time: f64| -> f64 {
        classes.iter().map(|(share, own)| share * (-own * time).exp()).sum::<f64>().min(1.0)
    };
    // Integrates by the trapezoidal rule over the logarithm of the time.
    let (mut time, mut sum, mut before) = (EARLIEST / units, EARLIEST / units, 1.0);
    while before > NEGLIGIBLE && time < LATEST {
        let next = time * STEP;
        let now = valid(next).powf(units);
        sum += (time * before + next * now) / 2.0 * STEP.ln();
        (time, before) = (next, now);
    }
    // Blocks that are full of cold pages are rarer than independent pages suggest, because they are
    // never collected.
    alpha / (alpha - 1.0 + sum.min(1.0 / units))
}

/// The first time of an integral, relative to the mean time between writes of a block.
const EARLIEST: f64 = 1e-4;

/// The ratio of successive times.
const STEP: f64 = 1.05;

/// The last time, at which a block has been full for longer than any block lives.
const LATEST: f64 = 1e4;

/// The probability below which the remainder of an integral is neglected.
const NEGLIGIBLE: f64 = 1e-9;

/// Predicts the cost of uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    Prediction::page_mapped(write_amplification(uniform.alpha()), uniform.pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The exact result is 1 / (1 - rho + rho / b). For hot and cold pages, the result is below
    // 1 / (1 - rho).
    #[test]
    fn redrawing_is_exact_for_uniform_writes() {
        let even = Mix::hot_cold(0.4, 0.4).unwrap();
        let skewed = Mix::hot_cold(0.9, 0.05).unwrap();
        for (alpha, units) in [(1.1, 64.0), (1.3, 4.0), (2.0, 16.0)] {
            let rho = 1.0 / alpha;
            let exact = 1.0 / (1.0 - rho + rho / units);
            let got = redrawing(&even, alpha, units);
            assert!((got / exact - 1.0).abs() < 1e-3, "{alpha}, {units}: {got} for {exact}");
            let got = redrawing(&skewed, alpha, units);
            assert!(got > 1.0 && got < write_amplification(alpha), "{alpha}, {units}: {got}");
        }
    }
}
