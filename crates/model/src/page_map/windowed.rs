//! GC collects the block with the fewest valid pages among a window of the oldest blocks (Hu).
//! Solved by a mean field of infinitely many blocks, derived for this project as an extension of
//! [`super::greedy`].
//!
//! The window holds a share s of the blocks. A block passes the first (1 - s) of its life outside
//! the window and enters it with i valid pages. i is binomial, with b trials of probability q =
//! exp(-(1 - s) / (rho A)) and rho = 1 / alpha. In the window, the policy is that of greedy GC. GC
//! collects the block at j valid pages, or with probability z only after the block loses one more
//! page. Two equations determine A and j - z, with harmonic numbers H. The lifetime in the
//! window is a share s of the whole lifetime, and the valid pages of victims are the pages that GC
//! copies:
//!
//! - E[(H_i - H_j)+ + (z/j) 1(i >= j)] = s / (rho A)
//! - E[i for i < j, else j - z] = b (1 - 1/A)
//!
//! With a window of all blocks, the policy is greedy GC; with a window of one block, it is FIFO.

use crate::page_map::{between_whole, fifo, greedy, units};
use crate::root::root;
use crate::{OutOfRange, Prediction, Uniform};

/// Returns the write amplification with a window of a `share` of all blocks. `alpha` is the number
/// of physical pages divided by logical pages. Interpolates between whole numbers of
/// `pages_per_block`.
///
/// # Errors
///
/// Returns an error unless the share is 0 to 1.
pub fn write_amplification(
    alpha: f64,
    pages_per_block: f64,
    share: f64,
) -> Result<f64, OutOfRange> {
    let within = (0.0..=1.0).contains(&share);
    OutOfRange::unless(within, "share of blocks in the window", share, "0 to 1")?;
    Ok(of(alpha, pages_per_block, share))
}

fn of(alpha: f64, pages_per_block: f64, share: f64) -> f64 {
    between_whole(pages_per_block, |block| of_whole(alpha, block, share))
}

fn of_whole(alpha: f64, block: f64, share: f64) -> f64 {
    let (best, worst) =
        (greedy::write_amplification(alpha, block), fifo::write_amplification(alpha));
    if share == 0.0 || share == 1.0 || worst - best < 1e-12 * worst {
        return if share == 1.0 { best } else { worst };
    }
    let rho = 1.0 / alpha;
    let off = |amplification: f64| {
        let entry = entering(block, (-(1.0 - share) / (rho * amplification)).exp());
        moved(&entry, share / (rho * amplification)) - block * (1.0 - 1.0 / amplification)
    };
    // The solution lies between greedy and FIFO. At these ends, rounding may hide the change of
    // sign.
    let (low, high) = (best * (1.0 - 1e-9), worst * (1.0 + 1e-9));
    if off(low) * off(high) > 0.0 { best } else { root(low, high, off).max(1.0) }
}

/// Returns the binomial distribution of the valid pages, 0 to b, with which a block enters the
/// window.
fn entering(block: f64, stays: f64) -> Vec<f64> {
    // Computes outwards from the mode, where no term underflows.
    let mode = ((block + 1.0) * stays).floor().min(block);
    let odds = stays / (1.0 - stays);
    let mut weights = vec![0.0; to_index(block) + 1];
    let mut weight = 1.0;
    let mut i = mode;
    while i <= block {
        weights[to_index(i)] = weight;
        weight *= (block - i) / (i + 1.0) * odds;
        i += 1.0;
    }
    (weight, i) = (1.0, mode);
    while i >= 0.0 {
        weights[to_index(i)] = weight;
        weight *= i / (block - i + 1.0) / odds;
        i -= 1.0;
    }
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// Converts a whole number of pages to an index.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number from 0 to 2^20"
)]
fn to_index(pages: f64) -> usize {
    pages as usize
}

/// Returns the mean number of valid pages of victims, for a mean lifetime of `life` in the window.
/// The unit of time is the mean time in which a block with one valid page loses it.
#[allow(clippy::cast_precision_loss, reason = "pages of a block are at most 2^20")]
fn moved(entry: &[f64], life: f64) -> f64 {
    // From j = b downwards, each step lengthens the mean lifetime by P(i >= j) / j.
    let (mut lived, mut above) = (0.0, 0.0);
    for j in (1..entry.len()).rev() {
        above += entry[j];
        let longest = above / j as f64;
        if lived + longest >= life {
            let waits = (life - lived) / longest;
            let fewer: f64 = (0..j).map(|i| i as f64 * entry[i]).sum();
            return fewer + above * (j as f64 - waits);
        }
        lived += longest;
    }
    0.0
}

/// Predicts the cost of uniform writes with a window of a tenth of all blocks.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let amplification =
        of(uniform.alpha(), units(uniform.pages_per_block(), uniform.mean_len()), 0.1);
    Prediction::page_mapped(amplification, uniform.pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The simulations are of Hu's policy, with 2048 blocks of 64 pages and 10 % spare space.
    #[test]
    fn agrees_with_simulations() {
        let simulated =
            [(1.0, 5.182), (10.0, 5.162), (50.0, 5.084), (100.0, 5.034), (500.0, 4.844)];
        for (window, expected) in simulated {
            let got = write_amplification(1.0 / 0.9, 64.0, window / 2048.0).unwrap();
            assert!((got / expected - 1.0).abs() < 0.005, "{window}: {got} for {expected}");
        }
    }
}
