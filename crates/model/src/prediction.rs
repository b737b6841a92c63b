//! What a model predicts.

use crate::Nand;

/// Merges of log-block FTLs for each page that the host writes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Merges {
    /// A log block becomes the data block: one erasure.
    pub switch: f64,
    /// The rest of a data block is copied behind what is in the log block: one erasure.
    pub partial: f64,
    /// Data blocks are written anew from log and data block.
    pub full: f64,
}

/// What a page that the host writes costs, in a steady state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Erasures for each page that the host writes.
    pub erasures: f64,
    /// Pages copied for each page that the host writes.
    pub copies: f64,
    /// Merges for each page that the host writes; none of FTLs without log blocks.
    pub merges: Option<Merges>,
}

impl Prediction {
    /// Of a page-mapped FTL that programs `write_amplification` pages for each that the host writes,
    /// and erases a block once for every block of programs.
    pub(crate) fn page_mapped(write_amplification: f64, pages_per_block: f64) -> Prediction {
        Prediction {
            erasures: write_amplification / pages_per_block,
            copies: write_amplification - 1.0,
            merges: None,
        }
    }

    /// Pages programmed for each page that the host writes, 1 or more.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        1.0 + self.copies
    }

    /// The fewest erasures that these writes could take over those that they take: r of Boboila, of
    /// section III.B. More than 1 where blocks are erased before they are full.
    #[must_use]
    pub fn equivalent_throughput(&self, pages_per_block: f64) -> f64 {
        1.0 / (pages_per_block * self.erasures)
    }

    /// Nanoseconds that flash is busy for each page that the host writes, one after the other.
    #[must_use]
    pub fn nanos_per_page(&self, nand: &Nand) -> f64 {
        nand.write() + self.copies * nand.copy() + self.erasures * nand.erase
    }
}
