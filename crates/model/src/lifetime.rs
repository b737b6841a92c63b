//! The lifetime of a drive, from the wear of its blocks.

use crate::{OutOfRange, Prediction};

/// The endurance of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lifetime {
    blocks: f64,
    cycles: f64,
    evenness: f64,
}

impl Lifetime {
    /// Describes a drive of `blocks` physical blocks, each rated for `cycles` erases. Before the
    /// first block fails, the drive uses the share `evenness` of all rated erases (1 if all blocks
    /// wear equally).
    ///
    /// # Errors
    ///
    /// Returns an error unless blocks and cycles are positive and the evenness is above 0 and at
    /// most 1.
    pub fn new(blocks: f64, cycles: f64, evenness: f64) -> Result<Lifetime, OutOfRange> {
        let positive = |value: f64| value > 0.0 && value <= 1e15;
        OutOfRange::unless(positive(blocks), "physical blocks", blocks, "above 0, at most 10^15")?;
        OutOfRange::unless(positive(cycles), "rated erases of a block", cycles, "above 0")?;
        let even = evenness > 0.0 && evenness <= 1.0;
        OutOfRange::unless(even, "evenness of wear", evenness, "above 0, at most 1")?;
        Ok(Lifetime { blocks, cycles, evenness })
    }

    /// Returns the number of pages that the host can write to a new drive before a block fails.
    #[must_use]
    pub fn pages(&self, prediction: &Prediction) -> f64 {
        self.blocks * self.cycles * self.evenness / prediction.erasures
    }

    /// Returns the days until a block fails if the host writes `pages_per_day` pages a day. Each
    /// block has already been erased `worn` times. Returns 0 if the blocks are worn out.
    #[must_use]
    pub fn days(&self, prediction: &Prediction, pages_per_day: f64, worn: f64) -> f64 {
        let left = (1.0 - worn / (self.cycles * self.evenness)).clamp(0.0, 1.0);
        left * self.pages(prediction) / pages_per_day
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A drive of 1,000 blocks of 64 pages and 3,000 cycles lasts 96 days at a write amplification
    // of 2. A half-worn drive lasts half as long, and a worn-out drive 0 days.
    #[test]
    fn lifetime_shrinks_with_wear() {
        let lifetime = Lifetime::new(1000.0, 3000.0, 1.0).unwrap();
        let predicted = Prediction::page_mapped(2.0, 64.0);
        assert!((lifetime.pages(&predicted) - 96_000_000.0).abs() < 1e-6);
        assert!((lifetime.days(&predicted, 1e6, 0.0) - 96.0).abs() < 1e-9);
        assert!((lifetime.days(&predicted, 1e6, 1500.0) - 48.0).abs() < 1e-9);
        assert_eq!(lifetime.days(&predicted, 1e6, 4000.0), 0.0);
        assert_eq!(Lifetime::new(0.0, 3000.0, 1.0).unwrap_err().parameter, "physical blocks");
        assert_eq!(Lifetime::new(1.0, 1.0, 1.1).unwrap_err().parameter, "evenness of wear");
    }
}
