//! GC collects the block with the fewest valid pages: a mean field of infinitely many blocks, exact
//! for any number of pages in a block.
//!
//! A block loses its valid pages one by one, at a rate proportional to their number. GC collects a
//! block when it has j valid pages left. Some blocks have to wait at j, and GC collects them when
//! they lose one more page. Let m_i be the share of blocks with i valid pages, and rho = 1 / alpha.
//! Then m_i = rho A / i above j. The remaining share, `m_j = 1 - rho A (H_b - H_j)`, must lie
//! between 0 and rho A / j. This gives `A = (rho b - j) / (rho ((b - j) - j (H_b - H_j)))`, with
//! harmonic numbers H. The result is Van Houdt's mean field of d choices in the limit of large d.

use super::{between_whole, units};
use crate::page_map::desnoyers;
use crate::{Prediction, Uniform};

/// Returns the write amplification. `alpha` is the number of physical pages divided by logical
/// pages. Interpolates between whole numbers of `pages_per_block`.
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
    // Starts at the j of Desnoyers' approximation, which is nearly right.
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

/// Returns the harmonic number of a whole n: the sum of 1/i for i from 1 to n.
fn harmonic(n: f64) -> f64 {
    const GAMMA: f64 = 0.577_215_664_901_532_9;
    const EXACT: u8 = 16;
    if n < f64::from(EXACT) {
        return (1..EXACT).map(f64::from).take_while(|i| *i <= n).map(f64::recip).sum();
    }
    let square = (n * n).recip();
    // Accurate to 1/(240 n^8), the last digit of a double from n = 16 on.
    n.ln() + GAMMA + 0.5 / n - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
}

/// Predicts the cost of uniform writes.
#[must_use]
pub fn predict(uniform: &Uniform) -> Prediction {
    let amplification =
        write_amplification(uniform.alpha(), units(uniform.pages_per_block(), uniform.mean_len()));
    Prediction::page_mapped(amplification, uniform.pages_per_block())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Covers both sides of the switch from the sum to the series.
    #[test]
    fn harmonic_numbers_agree_with_their_sum() {
        let mut sum = 0.0;
        for n in 1..2000 {
            sum += 1.0 / f64::from(n);
            assert!((harmonic(f64::from(n)) - sum).abs() < 1e-11, "{n}");
        }
        assert_eq!(harmonic(0.0), 0.0);
    }

    // The result tends to that of FIFO for large blocks, and is 1 for blocks of one page.
    #[test]
    fn tends_to_fifo_and_to_one() {
        let fifo = super::super::fifo::write_amplification(1.1);
        assert!((write_amplification(1.1, 1_048_576.0) / fifo - 1.0).abs() < 1e-4);
        assert!((write_amplification(1.1, 1.0) - 1.0).abs() < 1e-12);
    }
}
