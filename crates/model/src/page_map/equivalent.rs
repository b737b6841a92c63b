//! Skewed writes under any GC policy, by the FIFO drive that is equivalent for uniform writes.
//!
//! Desnoyers (equations 12 and 16) approximates greedy GC by FIFO GC with k times as many physical
//! pages: A = `FIFO(k alpha)` / k. The factor k = 1 + 1/(2b) comes from uniform writes and holds
//! for any mix of classes. Here, k follows from the exact write amplification of uniform writes.
//! The policy may be any policy for which this is known. For greedy GC, k is nearly that of
//! Desnoyers.

use super::{Mix, fifo};
use crate::OutOfRange;
use crate::root::root;

/// Returns the write amplification of writes to the classes of `mix` under a policy whose write
/// amplification for uniform writes is `uniform` (1 or more). `alpha` is the number of physical
/// pages divided by live pages, above 1.
///
/// # Errors
///
/// Returns an error if an argument is out of range.
pub fn write_amplification(mix: &Mix, alpha: f64, uniform: f64) -> Result<f64, OutOfRange> {
    let within = alpha > 1.0 && alpha <= 1e6;
    OutOfRange::unless(
        within,
        "physical pages for each live page",
        alpha,
        "above 1, at most 10^6",
    )?;
    let within = uniform >= 1.0 && uniform.is_finite();
    OutOfRange::unless(within, "write amplification of uniform writes", uniform, "1 or more")?;
    let off = |log: f64| {
        let k = log.exp();
        fifo::write_amplification(k * alpha) / k - uniform
    };
    // At the lower end, FIFO GC has no spare pages left. At the upper end, its result is below 1.
    let (low, high) = (-alpha.ln() + 1e-9 * (alpha - 1.0).min(1.0), 1.0);
    if off(low) <= 0.0 {
        return Ok(uniform);
    }
    let k = root(low, high, off).exp();
    Ok((mix.fifo(k * alpha) / k).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::{greedy, zipf};
    use super::*;

    // Uniform writes give the result of the policy, and FIFO gives the result of FIFO.
    #[test]
    fn uniform_writes_and_fifo_are_exact() {
        let even = Mix::hot_cold(0.3, 0.3).unwrap();
        let skewed = Mix::hot_cold(0.9, 0.05).unwrap();
        for alpha in [1.02, 1.1, 1.5, 3.0] {
            for policy in [greedy::write_amplification(alpha, 64.0), alpha / (alpha - 1.0)] {
                let got = write_amplification(&even, alpha, policy).unwrap();
                assert!((got / policy - 1.0).abs() < 1e-9, "{alpha}: {got} for {policy}");
            }
            let fifo = fifo::write_amplification(alpha);
            let got = write_amplification(&skewed, alpha, fifo).unwrap();
            assert!((got / skewed.fifo(alpha) - 1.0).abs() < 1e-9, "{alpha}: {got}");
        }
    }

    // The simulations are independent, with 64 pages in a block. For hot and cold pages, ties go to
    // the oldest block.
    #[test]
    fn agrees_with_simulations_of_greedy_gc() {
        let hot = |writes, space| Mix::hot_cold(writes, space).unwrap();
        let law = |exponent| zipf::classes(445_645, exponent).unwrap();
        let cases = [
            (hot(0.9, 0.05), 0.07, 8.513, 0.006),
            (hot(0.9, 0.05), 0.10, 6.544, 0.006),
            (hot(0.8, 0.2), 0.07, 6.968, 0.002),
            (hot(0.8, 0.2), 0.10, 5.177, 0.001),
            (law(0.8), 0.07, 8.050, 0.019),
            (law(0.8), 0.28, 2.452, 0.005),
            (law(0.99), 0.07, 9.646, 0.027),
            (law(0.99), 0.28, 2.836, 0.011),
        ];
        for (mix, spare, simulated, known) in cases {
            let alpha = 1.0 / (1.0 - spare);
            let uniform = greedy::write_amplification(alpha, 64.0);
            let got = write_amplification(&mix, alpha, uniform).unwrap();
            assert!((got / simulated - 1.0).abs() < known, "{spare}: {got} for {simulated}");
        }
    }

    #[test]
    fn arguments_out_of_range_are_rejected_by_name() {
        let mix = Mix::hot_cold(0.9, 0.05).unwrap();
        for (alpha, uniform, named) in [(1.0, 2.0, "physical"), (1.1, 0.9, "amplification")] {
            let error = write_amplification(&mix, alpha, uniform).unwrap_err();
            assert!(error.parameter.contains(named), "{error}");
        }
    }
}
