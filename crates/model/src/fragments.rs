//! Fragments of writes in erase blocks: heads, middles and tails (Boboila, section III and Figure
//! 1).
//!
//! A fragment is the part of a write within one block. A fragment that covers the whole block is a
//! middle. Any other fragment that begins at the block's first page is a tail. All remaining
//! fragments are heads.

use crate::Uniform;

/// The number of fragments for each host page written, by kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fragments {
    /// Heads: F_h / T.
    pub heads: f64,
    /// Middles: F_m / T.
    pub middles: f64,
    /// Tails: F_t / T.
    pub tails: f64,
    /// Mean length of heads in pages: H_l.
    pub head_len: f64,
}

impl Fragments {
    /// Counts the fragments of writes with exponential lengths, by equations 1 to 3 and 12.
    ///
    /// In equation 2, the paper calls (1 + 1/w) exp(-B/w) the probability Pr(W >= B). In fact, this
    /// term is the mean number of positions in a write at which a whole block can begin, divided by
    /// the mean length: E[(W - B + 1)+] / w. The equation is right and the name is wrong.
    #[must_use]
    pub fn printed(uniform: &Uniform) -> Fragments {
        let (block, len) = (uniform.pages_per_block(), uniform.mean_len());
        let whole = (1.0 + 1.0 / len) * (-block / len).exp();
        Fragments {
            heads: 1.0 / len,
            middles: whole / block,
            tails: (1.0 - whole) / block,
            head_len: head_len(block, len),
        }
    }

    /// Counts exactly the fragments of writes with geometric lengths of mean w, at least one page.
    /// One in B writes begins at the first page of a block, and the first fragment of such a write
    /// is not a head.
    #[must_use]
    pub fn geometric(uniform: &Uniform) -> Fragments {
        let (block, len) = (uniform.pages_per_block(), uniform.mean_len());
        let longer = (-1.0 / len).ln_1p();
        let middles = ((block - 1.0) * longer).exp() / block;
        Fragments {
            heads: (1.0 - 1.0 / block) / len,
            middles,
            tails: 1.0 / block - middles,
            head_len: geometric_head_len(block, len),
        }
    }

    /// Returns the mean length of tails in pages: the pages outside heads and middles, divided by
    /// the tails.
    #[must_use]
    pub fn tail_len(&self, pages_per_block: f64) -> f64 {
        let left = 1.0 - self.heads * self.head_len - self.middles * pages_per_block;
        if self.tails > 0.0 { (left / self.tails).clamp(1.0, pages_per_block) } else { 1.0 }
    }
}

/// Returns the mean length of heads in pages, H_l, by the corrected equation 12.
///
/// The paper prints exp((1-w)/w), while the integral of equation 11 gives exp((1-B)/w), because its
/// upper limit is h = B-1. The printed form is negative for w = 1, and for w above 100 with B = 64
/// ([`head_len_as_printed`]).
#[must_use]
pub fn head_len(pages_per_block: f64, mean_len: f64) -> f64 {
    if pages_per_block < 0.01 * mean_len {
        return head_len_of_long(pages_per_block, mean_len);
    }
    equation_12(pages_per_block, mean_len, (1.0 - pages_per_block) / mean_len)
}

/// Evaluates equation 11 for writes far longer than blocks, where equation 12 is a difference of
/// nearly equal numbers. Expands the integrand as a series in 1/w, accurate to 10^-10.
fn head_len_of_long(block: f64, w: f64) -> f64 {
    let a = 1.0 / w;
    let c = 1.0 + a * block;
    let terms = [
        c,
        -(c + 1.0) * a,
        (c / 2.0 + 1.0) * a.powi(2),
        -(c / 6.0 + 0.5) * a.powi(3),
        (c / 24.0 + 1.0 / 6.0) * a.powi(4),
    ];
    let integral =
        |(power, term): (i32, f64)| term * ((block - 1.0).powi(power) - 1.0) / f64::from(power);
    (2..).zip(terms).map(integral).sum::<f64>() / block
}

/// Evaluates equation 12 as printed, which is wrong. For comparisons only.
#[must_use]
pub fn head_len_as_printed(pages_per_block: f64, mean_len: f64) -> f64 {
    equation_12(pages_per_block, mean_len, (1.0 - mean_len) / mean_len)
}

/// Evaluates equation 12 with the given exponent in its second term.
fn equation_12(block: f64, w: f64, exponent: f64) -> f64 {
    let first = (-1.0 / w).exp() * (w * block - w * w + block - w - 1.0);
    (first + exponent.exp() * (w * w - w - block + 1.0)) / block
}

/// Returns the mean length of heads for geometric write lengths: the mean of (1 - q^k) / p over the
/// k = 1 to B-1 pages left in the block at the head's start, with p = 1/w and q = 1 - p.
fn geometric_head_len(block: f64, w: f64) -> f64 {
    let log_q = (-1.0 / w).ln_1p();
    let pages = block - 1.0;
    if w == 1.0 {
        return 1.0;
    }
    // The sum of q^k for k from 1 to B-1.
    let sum = log_q.exp() * -(pages * log_q).exp_m1() * w;
    let mean = w * (1.0 - sum / pages);
    // For w far above B, `mean` is a difference of nearly equal numbers and loses digits. The true
    // value there is close to B/2: a head fills its block to the end, with 1 to B-1 pages.
    mean.clamp(1.0, block / 2.0)
}

/// Enumerates the fragments of writes with geometric lengths, for every start in a block. Calls
/// `each` with a fragment's probability, its first page within its block and its length. Returns
/// the sum of the write lengths, weighted by their probability.
#[cfg(test)]
pub(crate) fn each_part(block: u32, mean_len: f64, mut each: impl FnMut(f64, u32, u32)) -> f64 {
    let mut pages = 0.0;
    for start in 0..block {
        for len in 1..2000_u32 {
            let share = (1.0 / mean_len) * (1.0 - 1.0 / mean_len).powf(f64::from(len - 1));
            pages += share * f64::from(len);
            let mut at = start;
            while at < start + len {
                let end = (start + len).min((at / block + 1) * block);
                each(share, at % block, end - at);
                at = end;
            }
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks the corrected form of equation 12.
    #[test]
    fn equation_12_solves_equation_11() {
        for (block, w) in [(64.0, 1.0), (64.0, 16.0), (64.0, 100.0), (128.0, 2500.0), (64.0, 1e4)] {
            let steps = 200_000;
            let step = (block - 2.0) / f64::from(steps);
            let integrand = |h: f64| {
                let survival = (-h / w).exp();
                h * survival + h * (block - h) * survival / w
            };
            let middle = |i: i32| integrand(1.0 + (f64::from(i) + 0.5) * step) * step;
            let integral = (0..steps).map(middle).sum::<f64>() / block;
            let closed = head_len(block, w);
            assert!((integral / closed - 1.0).abs() < 1e-6, "{w}: {closed} {integral}");
        }
    }

    // Compares the closed formulas with an enumeration of all starts and lengths.
    #[test]
    fn geometric_fragments_are_exact() {
        let block = 8_u32;
        for w in [1.0, 3.0, 20.0] {
            let got = Fragments::geometric(&Uniform::new(f64::from(block), 100.0, 0.1, w).unwrap());
            let (mut heads, mut middles, mut tails, mut head_pages) = (0.0, 0.0, 0.0, 0.0);
            let pages = each_part(block, w, |share, first, len| match (first, len) {
                (0, whole) if whole == block => middles += share,
                (0, _) => tails += share,
                (_, len) => {
                    heads += share;
                    head_pages += share * f64::from(len);
                }
            });
            let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * (1.0 + b), "{w}: {a} {b}");
            close(got.heads, heads / pages);
            close(got.middles, middles / pages);
            close(got.tails, tails / pages);
            close(got.head_len, head_pages / heads);
        }
    }
}
