//! The output of a model.

use crate::Nand;

/// Merges of a log-block FTL for each host page written.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Merges {
    /// Switch merges: the log block becomes the data block, at one erase.
    pub switch: f64,
    /// Partial merges: the remaining pages of the data block are copied into the log block, at one
    /// erase.
    pub partial: f64,
    /// Full merges: the data block is rewritten from log and data blocks.
    pub full: f64,
}

/// The cost of one host page written, in a steady state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Block erases for each host page written.
    pub erasures: f64,
    /// Pages copied for each host page written.
    pub copies: f64,
    /// Merges for each host page written; `None` for FTLs without log blocks.
    pub merges: Option<Merges>,
}

impl Prediction {
    /// Creates the prediction of a page-mapped FTL, which erases one block for every
    /// `pages_per_block` pages programmed.
    pub(crate) fn page_mapped(write_amplification: f64, pages_per_block: f64) -> Prediction {
        Prediction {
            erasures: write_amplification / pages_per_block,
            copies: write_amplification - 1.0,
            merges: None,
        }
    }

    /// Returns the pages programmed for each host page written, 1 or more.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        1.0 + self.copies
    }

    /// Returns the minimum number of erases, one for each block of host pages, divided by the
    /// predicted number (r in Boboila, section III.B). The result is above 1 only if the model
    /// predicts fewer erases than that minimum.
    #[must_use]
    pub fn equivalent_throughput(&self, pages_per_block: f64) -> f64 {
        1.0 / (pages_per_block * self.erasures)
    }

    /// Returns the flash time for each host page written, in nanoseconds, without parallelism.
    #[must_use]
    pub fn nanos_per_page(&self, nand: &Nand) -> f64 {
        nand.write() + self.copies * nand.copy() + self.erasures * nand.erase
    }
}
