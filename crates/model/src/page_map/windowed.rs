//! Of the oldest blocks, a window, the one with the fewest valid pages is cleaned (Hu): the mean field of
//! infinitely many blocks, derived here as an extension of [`super::greedy`].
//!
//! With s the share of the blocks that the window holds, a block passes the first (1 - s) of its life
//! untouched, and comes into the window with i pages, which is binomial of b with
//! q = exp(-(1 - s) / (rho A)). There it is cleaned as greedy cleaning would: when it comes down to j
//! pages, or with chance z waits there to lose one more. That its life in the window is s of all, and that
//! its valid pages are those that are moved, are two equations for A and j - z:
//!
//! - E[(H_i - H_j)+ + (z/j) 1(i >= j)] = s / (rho A)
//! - E[i for i < j, else j - z] = b (1 - 1/A)
//!
//! Of a window of all blocks it is greedy cleaning, of one block FIFO.

use crate::page_map::{between_whole, fifo, greedy, units};
use crate::root::root;
use crate::{OutOfRange, Prediction, Uniform};

/// Programs for each page that the host writes, of `alpha` physical over logical pages, blocks of
/// `pages_per_block` and a window of a `share` of all blocks. Between whole numbers of pages it is interpolated.
///
/// # Errors
///
/// Unless the share is 0 to 1.
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
    // Between both the mean that is moved crosses what A says; at the ends the sums round.
    let (low, high) = (best * (1.0 - 1e-9), worst * (1.0 + 1e-9));
    if off(low) * off(high) > 0.0 { best } else { root(low, high, off).max(1.0) }
}

/// The binomial distribution of the pages with which a block comes into the window, from 0 to b.
fn entering(block: f64, stays: f64) -> Vec<f64> {
    // Outwards from the mode, where nothing underflows.
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

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, 0 to 2^20")]
fn to_index(pages: f64) -> usize {
    pages as usize
}

/// The mean of valid pages of what is cleaned, where blocks live for `life` in the window, in units of the
/// time in which the page of a block of one page is lost.
#[allow(clippy::cast_precision_loss, reason = "pages of a block are at most 2^20")]
fn moved(entry: &[f64], life: f64) -> f64 {
    // Down from a threshold of b, the mean life grows by P(i >= j) / j with each page less.
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

/// Uniform writes, and a window of a tenth of all blocks.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let amplification =
        of(uniform.alpha(), units(uniform.pages_per_block(), uniform.mean_len()), 0.1);
    Prediction::page_mapped(amplification, uniform.pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is it what a simulation of Hu's windows finds, of 2048 blocks of 64 pages with a tenth spare?
    #[test]
    fn between_fifo_and_greedy() {
        let simulated =
            [(1.0, 5.182), (10.0, 5.162), (50.0, 5.084), (100.0, 5.034), (500.0, 4.844)];
        for (window, expected) in simulated {
            let got = write_amplification(1.0 / 0.9, 64.0, window / 2048.0).unwrap();
            assert!((got / expected - 1.0).abs() < 0.005, "{window}: {got} for {expected}");
        }
    }
}
