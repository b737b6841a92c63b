//! Cost-benefit GC as a mean field of infinitely many blocks, derived for this project.
//!
//! The policy collects the block with the largest (1 - u) age / (1 + u), where u is the share of
//! valid pages and the age is the time since the block filled up (M. Rosenblum and J. K.
//! Ousterhout, ACM TOCS 10(1), 1992).
//!
//! With infinitely many blocks, GC collects a block as soon as its benefit reaches a threshold. The
//! unit of time is the mean time between two writes of a page. A block with i valid pages is
//! collected at the age T_i = s (b + i) / (b - i), where s is the age for a block without valid
//! pages. T_i rises with i, and i falls with time. A block is therefore still uncollected at age t,
//! between T_{k-1} and T_k, if it has k or more valid pages. The number of valid pages, i, is
//! binomial, with b trials of probability p = exp(-t). For each block:
//!
//! - the mean lifetime is L, the integral of P(i >= k) over time;
//! - the mean number of pages lost in that lifetime is D, the integral of E[i for i >= k] = b p P(i
//!   >= k) + (1 - p) k P(i = k).
//!
//! GC collects as many blocks as fill up, which gives A = alpha / L. A collected block has lost D =
//! b / A pages. The threshold s solves D = b L / alpha.

use super::{between_whole, fifo, units};
use crate::root::root_to;
use crate::{Prediction, Uniform};

/// Probabilities below this are neglected.
const NEGLIGIBLE: f64 = 1e-12;

/// The relative precision of the threshold.
const PRECISION: f64 = 1e-10;

/// The number of standard deviations beyond which a binomial probability is neglected.
const FAR: f64 = 7.5;

/// The maximum time step of one Gauss-Legendre quadrature, short compared with the decay time of
/// exp(-t), which is 1.
const SPAN: f64 = 0.5;

/// Nodes and weights of the four-point Gauss-Legendre quadrature, on the interval 0 to 1.
const GAUSS: [(f64, f64); 4] = [
    (0.069_431_844_202_973_71, 0.173_927_422_568_726_93),
    (0.330_009_478_207_571_87, 0.326_072_577_431_273_07),
    (0.669_990_521_792_428_1, 0.326_072_577_431_273_07),
    (0.930_568_155_797_026_3, 0.173_927_422_568_726_93),
];

/// Returns the write amplification. `alpha` is the number of physical pages divided by logical
/// pages, above 1. Interpolates between whole numbers of `pages_per_block`.
#[must_use]
pub fn write_amplification(alpha: f64, pages_per_block: f64) -> f64 {
    between_whole(pages_per_block, |block| of_whole(alpha, block))
}

fn of_whole(alpha: f64, block: f64) -> f64 {
    let off = |log: f64| {
        let (life, lost) = life(block, log.exp());
        lost / block - life / alpha
    };
    // Large blocks of the same age have all lost about the same number of pages, and the policy
    // acts like FIFO. This gives the first guess.
    let age = alpha / fifo::write_amplification(alpha);
    let guess = (age * (0.5 * age).tanh()).ln();
    let (mut low, mut high) = (guess - 0.1, guess + 0.1);
    let mut step = 0.2;
    while off(low) < 0.0 && step < 1e3 {
        (high, low, step) = (low, low - step, 2.0 * step);
    }
    while off(high) > 0.0 && step < 1e3 {
        (low, high, step) = (high, high + step, 2.0 * step);
    }
    let threshold = root_to(PRECISION, low, high, off).exp();
    (alpha / life(block, threshold).0).max(1.0)
}

/// Returns the mean lifetime of a block and the mean number of pages that it loses, for the
/// threshold s.
fn life(block: f64, threshold: f64) -> (f64, f64) {
    // Up to the age `from`, practically all blocks are still uncollected.
    let mut k = first_cleaned(block, threshold);
    let mut from = collection_age(block, threshold, k - 1.0);
    let (mut life, mut lost) = (from, block * -(-from).exp_m1());
    while k < block {
        let to = collection_age(block, threshold, k);
        while from < to {
            let span = (to - from).min(SPAN);
            let mut most: f64 = 0.0;
            for (place, weight) in GAUSS {
                let (alive, loses) = at_least(block, k, from + place * span);
                most = most.max(alive);
                life += weight * span * alive;
                lost += weight * span * loses;
            }
            if most < NEGLIGIBLE {
                return (life, lost);
            }
            from = if span < SPAN { to } else { from + span };
        }
        k += 1.0;
    }
    // A block with all pages valid is never collected: it lives until it loses its first page.
    let left = (-block * from).exp();
    (life + left / block, lost + left)
}

/// Returns T_i, the age at which a block with i valid pages is collected.
fn collection_age(block: f64, threshold: f64, i: f64) -> f64 {
    if i < 0.0 { 0.0 } else { threshold * (block + i) / (block - i) }
}

/// Returns the smallest k, 1 or more, for which a block older than T_{k-1} may have fewer than k
/// valid pages, and hence be collected.
fn first_cleaned(block: f64, threshold: f64) -> f64 {
    let has_more = |k: f64| {
        let stays = (-collection_age(block, threshold, k)).exp();
        block * stays - FAR * (block * stays * (1.0 - stays)).sqrt() > k + 1.0
    };
    // With age, the number of valid pages at which GC collects a block rises, and the block's
    // number of valid pages falls. The two cross once, and bisection applies.
    let (mut low, mut high) = (0.0, block);
    while high - low > 1.0 {
        let k = (0.5 * (low + high)).floor();
        if has_more(k) { low = k } else { high = k }
    }
    low + 1.0
}

/// Returns P(i >= k) for a block at an age, and the rate at which such blocks lose pages. Sums the
/// binomial probabilities relative to that of i = k, upwards and downwards, until they are
/// negligible.
fn at_least(block: f64, k: f64, age: f64) -> (f64, f64) {
    let odds = age.exp_m1().recip();
    let (mut up, mut weight, mut i) = (1.0, 1.0, k);
    while i < block {
        let ratio = (block - i) / (i + 1.0) * odds;
        weight *= ratio;
        up += weight;
        i += 1.0;
        if ratio < 1.0 && weight < f64::EPSILON * up {
            break;
        }
    }
    let (mut down, mut weight, mut i) = (0.0, 1.0, k);
    while i > 0.0 {
        let ratio = i / ((block - i + 1.0) * odds);
        weight *= ratio;
        down += weight;
        i -= 1.0;
        if ratio < 1.0 && weight < f64::EPSILON * (up + down) {
            break;
        }
    }
    let (stays, all) = ((-age).exp(), up + down);
    (up / all, block * stays * up / all + (1.0 - stays) * k / all)
}

/// Predicts the cost of uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let parts = units(uniform.pages_per_block(), uniform.mean_len());
    let amplification = write_amplification(uniform.alpha(), parts);
    Prediction::page_mapped(amplification, uniform.pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The simulations are event-driven, of drives with 1024 or 3000 blocks.
    #[test]
    fn agrees_with_simulations() {
        for (block, spare, simulated) in [
            (64.0, 0.1, 4.906),
            (8.0, 0.5, 1.1767),
            (16.0, 0.1, 4.2105),
            (16.0, 0.3, 1.7574),
            (64.0, 0.07, 6.7665),
            (64.0, 0.2, 2.6231),
            (128.0, 0.1, 5.0342),
        ] {
            let got = write_amplification(1.0 / (1.0 - spare), block);
            assert!((got / simulated - 1.0).abs() < 0.0015, "{block}, {spare}: {got}");
        }
    }

    // For large blocks, the amplification tends to that of FIFO, and for blocks of one page to 1.
    #[test]
    fn lies_between_greedy_and_fifo() {
        for alpha in [1.01, 1.1, 1.5, 3.0] {
            let worst = fifo::write_amplification(alpha);
            assert!((write_amplification(alpha, 65536.0) / worst - 1.0).abs() < 1e-3);
            for block in [4.0, 64.0] {
                let got = write_amplification(alpha, block);
                let best = super::super::greedy::write_amplification(alpha, block);
                assert!(got < worst && got > best - 1e-9, "{alpha}, {block}: {best} {got} {worst}");
            }
            assert!((write_amplification(alpha, 1.0) - 1.0).abs() < 1e-9);
        }
    }
}
