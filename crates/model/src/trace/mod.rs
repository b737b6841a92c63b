//! Predictions for real workloads, which are neither uniform nor stationary. The predictors process
//! a trace write by write, without simulating the flash.

mod blocks;
mod change;
mod decomposition;
mod dftl;
mod fragment_bast;
mod fragment_fast;
mod pages;
mod performance;
mod recent;
mod reuse;
mod survivors;
mod victims;
mod window;

pub use decomposition::{Decomposition, Ranges, Stretches};
pub use dftl::{Dftl, Map, Traffic};
pub use fragment_bast::{FragmentBast, MergePolicy};
pub use fragment_fast::FragmentFast;
pub use performance::Performance;
pub use reuse::Reuse;
pub use survivors::Survivors;
pub use victims::GcPolicy;

use std::ops::Range;

use crate::{OutOfRange, Prediction};

/// The dimensions of the drive to predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Pages in a block, B: 2 to 2^15.
    pub pages_per_block: u32,
    /// Logical blocks, V_L: 1 to 2^30.
    pub logical_blocks: u32,
    /// Spare blocks, V_P - V_L; in log-block FTLs, the log blocks. 2 or more.
    pub free_blocks: u32,
}

impl Space {
    /// Checks that all dimensions are in range.
    ///
    /// # Errors
    ///
    /// Returns an error for the first dimension out of range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let block = (2..=1 << 15).contains(&self.pages_per_block);
        let value = f64::from(self.pages_per_block);
        OutOfRange::unless(block, "pages in a block", value, "2 to 32768")?;
        let logical = (1..=1 << 30).contains(&self.logical_blocks);
        let value = f64::from(self.logical_blocks);
        OutOfRange::unless(logical, "logical blocks", value, "1 to 2^30")?;
        let free = (2..=1 << 30).contains(&self.free_blocks);
        OutOfRange::unless(free, "free blocks", f64::from(self.free_blocks), "2 to 2^30")
    }

    /// Checks the dimensions like [`Space::check`], and that page numbers fit into 32 bits. The
    /// highest 32-bit number is reserved.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Space::check`], and an error unless logical pages are below 2^32
    /// - 1.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn check_numbers(&self) -> Result<(), OutOfRange> {
        self.check()?;
        let pages = self.pages();
        let few = pages < u64::from(u32::MAX);
        OutOfRange::unless(few, "logical pages", pages as f64, "below 2^32 - 1")
    }

    /// Returns the number of logical pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        u64::from(self.logical_blocks) * u64::from(self.pages_per_block)
    }

    /// Checks the space like [`Space::check_numbers`] and returns the number of logical pages.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Space::check_numbers`].
    #[allow(clippy::cast_precision_loss, reason = "only an error message shows the number")]
    fn few_pages(&self) -> Result<u32, OutOfRange> {
        self.check()?;
        let pages = self.pages();
        OutOfRange::unless(
            pages < u32::MAX.into(),
            "logical pages",
            pages as f64,
            "below 2^32 - 1",
        )?;
        Ok(narrow(pages))
    }

    /// Clips a write to the drive, which must have fewer than 2^32 pages.
    fn within(&self, page: u64, pages: u64) -> Range<u32> {
        let end = page.saturating_add(pages).min(self.pages());
        narrow(page.min(end))..narrow(end)
    }

    /// Splits a write at block boundaries, and clips it to the drive.
    fn fragments(&self, page: u64, pages: u64) -> impl Iterator<Item = Part> + use<> {
        let block = u64::from(self.pages_per_block);
        let end = page.saturating_add(pages).min(self.pages());
        let mut at = page;
        std::iter::from_fn(move || {
            let within = at % block;
            let len = (block - within).min(end.checked_sub(at)?);
            let part = Part { block: narrow(at / block), first: narrow(within), len: narrow(len) };
            at += len;
            (len > 0).then_some(part)
        })
    }
}

/// The part of a write within one block: the block, the first page and the number of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    block: u32,
    first: u32,
    len: u32,
}

/// Narrows a number that fits into 32 bits. There are at most 2^30 blocks, and at most 2^15 pages
/// in a block.
#[allow(clippy::cast_possible_truncation)]
fn narrow(number: u64) -> u32 {
    debug_assert!(u32::try_from(number).is_ok());
    number as u32
}

/// The cost of writes, measured or predicted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Total {
    /// Pages written by the host.
    pub pages: u64,
    /// Block erases.
    pub erasures: f64,
    /// Pages copied.
    pub copies: f64,
}

impl Total {
    /// Returns the pages programmed for each host page written; NaN before the first write.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    pub fn write_amplification(&self) -> f64 {
        1.0 + self.copies / self.pages as f64
    }

    /// Returns the minimum number of erases, one for each block of host pages, divided by the
    /// actual number.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    pub fn equivalent_throughput(&self, pages_per_block: u32) -> f64 {
        self.pages as f64 / f64::from(pages_per_block) / self.erasures
    }

    /// Adds the predicted cost of `pages` pages.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn add(&mut self, predicted: &Prediction, pages: u64) {
        self.pages += pages;
        self.erasures += pages as f64 * predicted.erasures;
        self.copies += pages as f64 * predicted.copies;
    }

    /// Returns the difference from an earlier total.
    #[must_use]
    pub fn since(&self, before: &Total) -> Total {
        Total {
            pages: self.pages - before.pages,
            erasures: self.erasures - before.erasures,
            copies: self.copies - before.copies,
        }
    }

    /// Returns the sum of two totals.
    #[must_use]
    pub fn plus(&self, other: &Total) -> Total {
        Total {
            pages: self.pages + other.pages,
            erasures: self.erasures + other.erasures,
            copies: self.copies + other.copies,
        }
    }
}

/// Predicts the cost of a sequence of requests, as a `Sum`.
pub trait Predictor<Sum = Total> {
    /// Processes a write of `pages` pages from `page` on.
    fn write(&mut self, page: u64, pages: u64);

    /// Processes a read of `pages` pages from `page` on, which most FTLs ignore.
    fn read(&mut self, _page: u64, _pages: u64) {}

    /// Processes a trim of `pages` pages from `page` on. Models that ignore trims keep the pages.
    fn trim(&mut self, _page: u64, _pages: u64) {}

    /// Returns the cost of all writes so far.
    fn total(&mut self) -> Sum;

    /// Returns the number of times that the ring of log blocks has come round, or infinity without
    /// a ring. Predictions converge only after a few rounds.
    fn rounds(&self) -> f64 {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_split_and_clipped() {
        let space = Space { pages_per_block: 4, logical_blocks: 3, free_blocks: 2 };
        let parts = |page, pages| -> Vec<(u32, u32, u32)> {
            let parts = space.fragments(page, pages);
            parts.map(|part| (part.block, part.first, part.len)).collect()
        };
        assert_eq!(parts(2, 7), [(0, 2, 2), (1, 0, 4), (2, 0, 1)]);
        assert_eq!(parts(10, 100), [(2, 2, 2)]);
        assert_eq!(parts(12, 1), []);
        assert_eq!(parts(100, u64::MAX), []);
    }
}
