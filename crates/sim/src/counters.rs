use crate::nand::FlashCounters;

/// Counts of a simulated drive's operations since its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Logical pages that the host has read, whole or in part.
    pub host_pages_read: u64,
    /// Logical pages that the host has written, whole or in part.
    pub host_pages_written: u64,
    /// Pages of `host_pages_written` that the host has moved in its own garbage collection: those
    /// of the stream [`MOVED_STREAM`](flashscope_block::MOVED_STREAM).
    pub host_pages_moved: u64,
    /// Logical pages that the host has trimmed.
    pub host_pages_trimmed: u64,
    /// Logical pages read that the buffer memory already held, or was fetching.
    pub read_hits: u64,
    /// Logical pages written that were already in the write buffer.
    pub write_hits: u64,
    /// Flash commands by cause.
    pub flash: FlashCounters,
    /// Bytes of a logical page; 0 in [`Counters::default`].
    pub logical_page: u32,
    /// Bytes of a flash page; 0 in [`Counters::default`].
    pub flash_page: u32,
}

impl Counters {
    /// Returns the number of blocks that garbage collection has erased.
    pub fn cleanings(&self) -> u64 {
        self.flash.erases.cleaning
    }

    /// Returns the number of valid pages that garbage collection has moved to another block.
    pub fn pages_moved(&self) -> u64 {
        self.flash.programs.cleaning
    }

    /// Returns the fraction of superseded pages in the blocks that were cleaned (Agrawal et al.,
    /// section 3.2), or `None` before the first cleaning. Each block holds `pages` data pages.
    pub fn cleaning_efficiency(&self, pages: u32) -> Option<f64> {
        #[allow(clippy::cast_precision_loss)] // exact up to 2^53 pages
        let share = self.pages_moved() as f64 / (self.cleanings() * u64::from(pages)) as f64;
        (self.cleanings() > 0).then_some(1.0 - share)
    }

    /// Returns the write amplification: the flash pages programmed per flash page's worth of
    /// logical pages that the host wrote. A logical page counts whole, even if the host wrote only
    /// a part. The value is below 1 if a write buffer absorbs pages. Returns `None` before the
    /// first write.
    pub fn write_amplification(&self) -> Option<f64> {
        self.programmed_per(self.host_pages_written)
    }

    /// Returns the write amplification of the host and the drive together. Unlike
    /// [`Counters::write_amplification`], it does not count moved pages among the pages that the
    /// host wrote. Returns `None` if the host moved none.
    pub fn total_write_amplification(&self) -> Option<f64> {
        let new = self.host_pages_written - self.host_pages_moved;
        (self.host_pages_moved > 0).then(|| self.programmed_per(new)).flatten()
    }

    fn programmed_per(&self, pages: u64) -> Option<f64> {
        let written = pages * u64::from(self.logical_page);
        let programmed = self.flash.programs.total() * u64::from(self.flash_page);
        #[allow(clippy::cast_precision_loss)] // exact up to 2^53 bytes
        let ratio = programmed as f64 / written as f64;
        (written > 0).then_some(ratio)
    }

    /// Returns the *equivalent throughput* of Boboila and Desnoyers, or `None` before the first
    /// erase. This is the minimum number of erases for the pages programmed for the host, divided
    /// by the actual number of erases. A block holds `pages` data pages. Once every block is in
    /// use, the value is at most 1.
    pub fn equivalent_throughput(&self, pages: u32) -> Option<f64> {
        let erases = self.flash.erases.total();
        #[allow(clippy::cast_precision_loss)] // exact up to 2^53 pages
        let share = self.flash.programs.host as f64 / f64::from(pages) / erases as f64;
        (erases > 0).then_some(share)
    }

    /// Returns the counts since `earlier`, the earlier counts of the same drive.
    pub fn since(&self, earlier: &Counters) -> Counters {
        let flash = self.flash.since(&earlier.flash);
        Counters { flash, ..self.combine(earlier, |now, then| now - then) }
    }

    /// Returns the sum of the counts of two drives.
    pub fn plus(&self, other: &Counters) -> Counters {
        let flash = self.flash.plus(&other.flash);
        Counters { flash, ..self.combine(other, |one, two| one + two) }
    }

    /// Combines all counts except those of flash commands.
    fn combine(&self, other: &Counters, with: fn(u64, u64) -> u64) -> Counters {
        Counters {
            host_pages_read: with(self.host_pages_read, other.host_pages_read),
            host_pages_written: with(self.host_pages_written, other.host_pages_written),
            host_pages_moved: with(self.host_pages_moved, other.host_pages_moved),
            host_pages_trimmed: with(self.host_pages_trimmed, other.host_pages_trimmed),
            read_hits: with(self.read_hits, other.read_hits),
            write_hits: with(self.write_hits, other.write_hits),
            flash: FlashCounters::default(),
            logical_page: self.logical_page.max(other.logical_page),
            flash_page: self.flash_page.max(other.flash_page),
        }
    }
}
