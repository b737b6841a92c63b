//! The block with the fewest valid pages is cleaned: the mean field of infinitely many blocks, exact in
//! the pages of a block.
//!
//! A block loses its pages one by one, at a rate proportional to those it has, and is cleaned when it comes
//! down to j pages, or waits there and loses one more. With m_i of the blocks at i pages, and rho = U/T,
//! m_i = rho A / i above j; what is left, m_j = 1 - rho A (H_b - H_j), must lie between 0 and rho A / j;
//! and A = (rho b - j) / (rho ((b - j) - j (H_b - H_j))), with harmonic numbers H. It is Van Houdt's mean
//! field of d choices for d without limit.

use super::{between_whole, units};
use crate::page_map::desnoyers;
use crate::{Prediction, Uniform};

/// Programs for each page that the host writes, of `alpha` physical over logical pages and blocks of
/// `pages_per_block`. Between whole numbers of pages it is interpolated.
#[must_use]
pub fn write_amplification(alpha: f64, pages_per_block: f64) -> f64 {
    between_whole(pages_per_block, |block| of_whole(alpha, block))
}

fn of_whole(alpha: f64, block: f64) -> f64 {
    let rho = 1.0 / alpha;
    let fit = |j: f64| {
        let fewer = harmonic(block) - harmonic(j);
        let amplification = (rho * block - j) / (rho * ((block - j) - j * fewer));
        let waiting = 1.0 - rho * amplification * fewer;
        (amplification, waiting)
    };
    // A victim of Desnoyers' approximation has about as many pages as one of this.
    let guess = desnoyers::write_amplification(alpha, block);
    let mut j = (block * (1.0 - 1.0 / guess)).ceil().clamp(0.0, block - 1.0);
    for _ in 0..64 {
        let (amplification, waiting) = fit(j);
        if waiting < 0.0 && j < block - 1.0 {
            j += 1.0;
        } else if j > 0.0 && waiting > rho * amplification / j {
            j -= 1.0;
        } else {
            return amplification.max(1.0);
        }
    }
    fit(j).0.max(1.0)
}

/// The sum of 1/i for i from 1 to a whole n.
fn harmonic(n: f64) -> f64 {
    const GAMMA: f64 = 0.577_215_664_901_532_9;
    const EXACT: u8 = 16;
    if n < f64::from(EXACT) {
        return (1..EXACT).map(f64::from).take_while(|i| *i <= n).map(f64::recip).sum();
    }
    let square = (n * n).recip();
    // To within 1/(240 n^8): the last digit of a double from 16 on.
    n.ln() + GAMMA + 0.5 / n - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
}

/// Uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let amplification =
        write_amplification(uniform.alpha(), units(uniform.pages_per_block(), uniform.mean_len()));
    Prediction::page_mapped(amplification, uniform.pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Are harmonic numbers right on both sides of where the series begins?
    #[test]
    fn harmonic_numbers() {
        let mut sum = 0.0;
        for n in 1..2000 {
            sum += 1.0 / f64::from(n);
            assert!((harmonic(f64::from(n)) - sum).abs() < 1e-11, "{n}");
        }
        assert_eq!(harmonic(0.0), 0.0);
    }

    // Does it come to FIFO for large blocks, and to what a block of one page must do, which is nothing?
    #[test]
    fn limits() {
        let fifo = super::super::fifo::write_amplification(1.1);
        assert!((write_amplification(1.1, 1_048_576.0) / fifo - 1.0).abs() < 1e-4);
        assert!((write_amplification(1.1, 1.0) - 1.0).abs() < 1e-12);
    }
}
