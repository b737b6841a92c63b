//! The writes of section III: at random places, of exponential lengths.

use super::SEED;

/// Writes over so many pages whose lengths are whole pages, geometric with a mean: where each begins, and how many pages
/// it has.
pub struct Writes {
    random: fastrand::Rng,
    pages: u64,
    /// The chance that a write ends with a page, as the rate of an exponential length that is rounded up.
    rate: f64,
}

impl Writes {
    /// Of a mean length of 1 or more.
    pub fn new(pages: u64, mean_len: f64) -> Writes {
        let rate = if mean_len > 1.0 { -(-1.0 / mean_len).ln_1p() } else { f64::INFINITY };
        Writes { random: fastrand::Rng::with_seed(SEED), pages, rate }
    }
}

impl Iterator for Writes {
    type Item = (u64, u64);

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pages of a write")]
    fn next(&mut self) -> Option<(u64, u64)> {
        let page = self.random.u64(..self.pages);
        let len = 1 + (-(1.0 - self.random.f64()).ln() / self.rate) as u64;
        Some((page, len.min(self.pages - page)))
    }
}
