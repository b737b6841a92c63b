//! The block with the most benefit for its cost is cleaned, (1 - u) age / (1 + u) with a share u of its pages valid and
//! its age since it was full (M. Rosenblum and J. K. Ousterhout, ACM TOCS 10(1), 1992): the mean field of infinitely many
//! blocks, derived here.
//!
//! Of infinitely many blocks each is cleaned as soon as its benefit comes to a threshold. In units of time in which a page
//! is overwritten once on average, a block with i pages is cleaned from T_i = s (b + i) / (b - i) on, with s the age at
//! which one without any is. T_i rises with i and i falls with time, so that a block lives at t if it has as many pages
//! as are not yet cleaned then: k or more, for t between T_{k-1} and T_k. Its pages are binomial of b with p = exp(-t):
//!
//! - it lives for L, the integral of P(i >= k) over time,
//! - and loses D pages, that of E[i for i >= k] = b p P(i >= k) + (1 - p) k P(i = k).
//!
//! As many blocks are cleaned as are filled: A = alpha / L; and what is cleaned has lost D = b / A pages: s is where
//! D = b L / alpha.

use super::{between_whole, fifo, units};
use crate::root::root_to;
use crate::{Prediction, Uniform};

/// Chances below which what may still happen is left out.
const NEVER: f64 = 1e-12;

/// To what the threshold is found.
const PRECISION: f64 = 1e-10;

/// Deviations of a binomial beyond which nothing is.
const FAR: f64 = 7.5;

/// The longest time that one application of Gauss and Legendre's formula spans: chances fall as exp(-t).
const SPAN: f64 = 0.5;

/// Places and weights of Gauss and Legendre's formula of four points, from 0 to 1.
const GAUSS: [(f64, f64); 4] = [
    (0.069_431_844_202_973_71, 0.173_927_422_568_726_93),
    (0.330_009_478_207_571_87, 0.326_072_577_431_273_07),
    (0.669_990_521_792_428_1, 0.326_072_577_431_273_07),
    (0.930_568_155_797_026_3, 0.173_927_422_568_726_93),
];

/// Programs for each page that the host writes, of `alpha` physical over logical pages, above 1, and blocks of
/// `pages_per_block`. Between whole numbers of pages it is interpolated.
#[must_use]
pub fn write_amplification(alpha: f64, pages_per_block: f64) -> f64 {
    between_whole(pages_per_block, |block| of_whole(alpha, block))
}

fn of_whole(alpha: f64, block: f64) -> f64 {
    let off = |log: f64| {
        let (life, lost) = life(block, log.exp());
        lost / block - life / alpha
    };
    // Of large blocks all have lost as much at an age, and are cleaned in the order in which they were filled.
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

/// How long a block lives, and how many pages it loses, where one without any is cleaned at an age of `threshold`.
fn life(block: f64, threshold: f64) -> (f64, f64) {
    // Until then all live, as far as anything is likely.
    let mut k = first_cleaned(block, threshold);
    let mut from = turn(block, threshold, k - 1.0);
    let (mut life, mut lost) = (from, block * -(-from).exp_m1());
    while k < block {
        let to = turn(block, threshold, k);
        while from < to {
            let span = (to - from).min(SPAN);
            let mut most: f64 = 0.0;
            for (place, weight) in GAUSS {
                let (alive, loses) = at_least(block, k, from + place * span);
                most = most.max(alive);
                life += weight * span * alive;
                lost += weight * span * loses;
            }
            if most < NEVER {
                return (life, lost);
            }
            from = if span < SPAN { to } else { from + span };
        }
        k += 1.0;
    }
    // A block that is all valid is never cleaned: it loses its first page at any time.
    let left = (-block * from).exp();
    (life + left / block, lost + left)
}

/// T_i, the age from which on a block with i pages is cleaned.
fn turn(block: f64, threshold: f64, i: f64) -> f64 {
    if i < 0.0 { 0.0 } else { threshold * (block + i) / (block - i) }
}

/// The fewest pages k, 1 or more, that a block may lack while those with fewer are cleaned.
fn first_cleaned(block: f64, threshold: f64) -> f64 {
    let has_more = |k: f64| {
        let stays = (-turn(block, threshold, k)).exp();
        block * stays - FAR * (block * stays * (1.0 - stays)).sqrt() > k + 1.0
    };
    // The pages with which blocks are cleaned rise with time, and those that they have fall.
    let (mut low, mut high) = (0.0, block);
    while high - low > 1.0 {
        let k = (0.5 * (low + high)).floor();
        if has_more(k) { low = k } else { high = k }
    }
    low + 1.0
}

/// P(i >= k) of a block at an age, and the rate at which such blocks lose pages. Chances are sums of their ratios to that
/// of k, up and down, as far as these are anything.
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

/// Uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let parts = units(uniform.pages_per_block(), uniform.mean_len());
    let amplification = write_amplification(uniform.alpha(), parts);
    Prediction::page_mapped(amplification, uniform.pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is it what event simulations find, the reference of 1024 blocks, and of 3000 blocks that are smaller or larger?
    #[test]
    fn simulated() {
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

    // Is it FIFO for large blocks, better for others, never better than greedy cleaning, and nothing for blocks of a
    // page?
    #[test]
    fn limits() {
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
