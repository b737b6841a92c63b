//! The writes of section III: random addresses and exponential lengths.

use super::SEED;

/// An iterator over writes to `pages` pages, as first page and number of pages. Lengths are whole
/// pages, geometrically distributed.
pub(super) struct Writes {
    random: fastrand::Rng,
    pages: u64,
    /// The rate of an exponential distribution whose values, rounded up, are the lengths.
    rate: f64,
}

impl Writes {
    /// Creates the writes with a mean length of `mean_len` pages, at least 1.
    pub(super) fn new(pages: u64, mean_len: f64) -> Writes {
        let rate = if mean_len > 1.0 { -(-1.0 / mean_len).ln_1p() } else { f64::INFINITY };
        Writes { random: fastrand::Rng::with_seed(SEED), pages, rate }
    }
}

impl Iterator for Writes {
    type Item = (u64, u64);

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a write has far fewer than 2^64 pages"
    )]
    fn next(&mut self) -> Option<(u64, u64)> {
        let page = self.random.u64(..self.pages);
        let len = 1 + (-(1.0 - self.random.f64()).ln() / self.rate) as u64;
        Some((page, len.min(self.pages - page)))
    }
}
