//! Predictions of real workloads, which are neither uniform nor stationary: write by write, from what can
//! be told of a trace without the flash behind it.

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
pub use fragment_bast::{FragmentBast, Merging};
pub use fragment_fast::FragmentFast;
pub use performance::Performance;
pub use reuse::Reuse;
pub use survivors::Survivors;
pub use victims::Cleaning;

use std::ops::Range;

use crate::{OutOfRange, Prediction};

/// The drive whose writes are predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Pages in a block, B: 2 to 2^15.
    pub pages_per_block: u32,
    /// Logical blocks, V_L: 1 to 2^30.
    pub logical_blocks: u32,
    /// Blocks beside them, V_P - V_L: of log-block FTLs the log blocks. 2 or more.
    pub free_blocks: u32,
}

impl Space {
    /// Nothing, where all is in range.
    ///
    /// # Errors
    ///
    /// The first that is not.
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

    /// The same, where pages have numbers of 32 bits, of which the last stands for none.
    ///
    /// # Errors
    ///
    /// The same, and unless logical pages are below 2^32 - 1.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn check_numbers(&self) -> Result<(), OutOfRange> {
        self.check()?;
        let pages = self.pages();
        let few = pages < u64::from(u32::MAX);
        OutOfRange::unless(few, "logical pages", pages as f64, "below 2^32 - 1")
    }

    /// Logical pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        u64::from(self.logical_blocks) * u64::from(self.pages_per_block)
    }

    /// The logical pages of a space that is in range and has fewer than 2^32 - 1 of them.
    ///
    /// # Errors
    ///
    /// What is not.
    #[allow(clippy::cast_precision_loss, reason = "a number to be shown")]
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

    /// The pages of a write to a drive of fewer than 2^32 of them: what is beyond it is left out.
    fn within(&self, page: u64, pages: u64) -> Range<u32> {
        let end = page.saturating_add(pages).min(self.pages());
        narrow(page.min(end))..narrow(end)
    }

    /// The parts of a write within one block each: the block, the first page of it, and how many. What is
    /// beyond the drive is left out.
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

/// What a write is to one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    block: u32,
    first: u32,
    len: u32,
}

/// A number that is known to fit: blocks are at most 2^30, pages of one at most 2^15.
#[allow(clippy::cast_possible_truncation)]
fn narrow(number: u64) -> u32 {
    debug_assert!(u32::try_from(number).is_ok());
    number as u32
}

/// What writes came to, or will.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Total {
    /// Pages that the host wrote.
    pub pages: u64,
    /// Erasures.
    pub erasures: f64,
    /// Pages copied.
    pub copies: f64,
}

impl Total {
    /// Pages programmed for each that the host wrote; no number before any was.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    pub fn write_amplification(&self) -> f64 {
        1.0 + self.copies / self.pages as f64
    }

    /// The fewest erasures that these writes could take over those that they take.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    pub fn equivalent_throughput(&self, pages_per_block: u32) -> f64 {
        self.pages as f64 / f64::from(pages_per_block) / self.erasures
    }

    /// Adds what so many pages are predicted to cost.
    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn add(&mut self, predicted: &Prediction, pages: u64) {
        self.pages += pages;
        self.erasures += pages as f64 * predicted.erasures;
        self.copies += pages as f64 * predicted.copies;
    }

    /// What was added since.
    #[must_use]
    pub fn since(&self, before: &Total) -> Total {
        Total {
            pages: self.pages - before.pages,
            erasures: self.erasures - before.erasures,
            copies: self.copies - before.copies,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Total) -> Total {
        Total {
            pages: self.pages + other.pages,
            erasures: self.erasures + other.erasures,
            copies: self.copies + other.copies,
        }
    }
}

/// Something that predicts from requests, one after the other, what they come to as a `Sum`.
pub trait Predictor<Sum = Total> {
    /// A write of `pages` pages from `page` on.
    fn write(&mut self, page: u64, pages: u64);

    /// A read of `pages` pages from `page` on, which most FTLs do not change anything for.
    fn read(&mut self, _page: u64, _pages: u64) {}

    /// What all writes so far come to.
    fn total(&mut self) -> Sum;

    /// How often the ring of log blocks has come round, where there is one: what a drive comes to has not converged
    /// before it has a few times.
    fn turns(&self) -> f64 {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is a write divided at the ends of blocks, and cut at the end of the drive?
    #[test]
    fn fragments() {
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
