//! The true onset and period of cleaning of a page-mapped drive.

use flashscope_document::probe::Parameter;

use super::Truth;
use super::draft::{Draft, GcInputs};

#[allow(clippy::cast_precision_loss, reason = "sizes of drives are far below 2^53")]
impl Draft<'_> {
    /// Derives the true over-provisioning, cleaning onset and cleaning period. Pages in blocks that
    /// the drive always keeps free do not count as space for data. When the drive cleans the first
    /// block of each package, all of this space has been written.
    pub(super) fn cleaning_onset(&mut self, inputs: GcInputs, blocks: u64) {
        let GcInputs { over_provisioning, kept_free, map_on_flash, amplification } = inputs;
        let pages = (self.pages_per_block - self.summary) as f64;
        let in_lane = (blocks / self.lanes) as f64;
        let kept = (kept_free * in_lane - 1e-6).ceil() * self.lanes as f64;
        let all = blocks as f64 * pages;
        let logical = (1.0 - over_provisioning) * all;
        let map = match map_on_flash {
            // The pages of the map, and its open block.
            true => logical / (self.page / 8) as f64 + pages,
            false => 0.0,
        };
        let places = all - kept * pages - map;
        self.is(Parameter::OverProvisioning, Truth::Value(1.0 - logical / places));
        let bytes = places * (self.packages * self.page) as f64;
        self.is(Parameter::CleaningOnset, Truth::Value(bytes));
        if let Some(amplification) = amplification {
            // Each cleaning frees a block, less the valid pages that the cleaning moves.
            let block = self.page as f64 * pages;
            let spare = 1.0 - logical / places;
            let period = block / amplification(spare, self.pages_per_block - self.summary);
            self.is(Parameter::CleaningPeriod, Truth::Value(period));
        }
    }
}

/// Returns the write amplification of FIFO cleaning under uniform random writes, with `places`
/// physical pages per logical page (Desnoyers, SYSTOR 2012, equation 4): `1 / (1 - x)` with `x =
/// exp(-places (1 - x))`.
pub(super) fn by_age(places: f64) -> f64 {
    let mut valid = 0.5;
    for _ in 0..500 {
        valid = f64::exp(-places * (1.0 - valid));
    }
    1.0 / (1.0 - valid)
}

/// Returns the write amplification of greedy cleaning (Desnoyers, SYSTOR 2012, equation 12), from
/// the spare share and the pages per block.
#[allow(clippy::cast_precision_loss, reason = "pages of a block are few")]
pub(super) fn greedy(spare: f64, pages_per_block: u64) -> f64 {
    let correction = 1.0 + 0.5 / pages_per_block as f64;
    by_age(correction / (1.0 - spare)) / correction
}
