use flashscope_block::{Bytes, Nanos};

use super::PageTypes;

/// The durations of the parts of a flash command (Agrawal et al., Table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Time to read a page from its cells into the register.
    pub page_read: Nanos,
    /// Time to program a page from the register into its cells.
    pub page_program: Nanos,
    /// Time to program a page that contains only zeros.
    pub zero_page_program: Nanos,
    /// Time to read a page of a block used as SLC into the register.
    pub slc_read: Nanos,
    /// Time to program a page of a block used as SLC.
    pub slc_program: Nanos,
    /// Time to erase a block.
    pub block_erase: Nanos,
    /// Time to transfer the data and metadata of a page over the serial bus of a package.
    pub page_transfer: Nanos,
    /// The page types, whose times replace `page_read` and `page_program` outside blocks used as
    /// SLC.
    pub page_types: PageTypes,
    /// Time to transfer only the metadata of a page.
    pub metadata_transfer: Nanos,
    /// Time to transfer the summary of a block.
    pub summary_transfer: Nanos,
}

impl Timing {
    /// Returns true if the program time depends on whether the data is all zeros.
    pub(crate) const fn distinguishes_zeros(&self) -> bool {
        self.zero_page_program.0 != self.page_program.0
    }

    /// Returns the time to read page `index` of a block. `slc` is true if the block is used as SLC.
    #[inline]
    pub(super) fn read_time(&self, index: u32, slc: bool) -> Nanos {
        match (slc, self.page_types.times(index)) {
            (true, _) => self.slc_read,
            (false, Some((read, _))) => read,
            (false, None) => self.page_read,
        }
    }

    /// Returns the time to program page `index` of a block. `slc` is true if the block is used as
    /// SLC, `zero` if the data is all zeros.
    #[inline]
    pub(super) fn program_time(&self, index: u32, slc: bool, zero: bool) -> Nanos {
        match (slc, self.page_types.times(index), zero) {
            (true, ..) => self.slc_program,
            (false, Some((_, program)), _) => program,
            (false, None, true) => self.zero_page_program,
            (false, None, false) => self.page_program,
        }
    }
}

/// Returns the time to transfer `len` bytes over a bus that needs `per_kib` for 1024 bytes, rounded
/// up.
pub(crate) fn transfer_time(len: Bytes, per_kib: Nanos) -> Nanos {
    let total = u128::from(len.0) * u128::from(per_kib.0);
    Nanos(u64::try_from(total.div_ceil(1024)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    // A page of 4096 + 128 bytes at 25 ns a byte takes 105.6 us.
    #[test]
    fn transfers_round_up() {
        let per_kib = Nanos(25 * 1024);
        assert_eq!(transfer_time(Bytes(4096 + 128), per_kib), Nanos(105_600));
        assert_eq!(transfer_time(Bytes(1), Nanos(1)), Nanos(1));
        assert_eq!(transfer_time(Bytes(1024), Nanos(1)), Nanos(1));
        assert_eq!(transfer_time(Bytes(1025), Nanos(1)), Nanos(2));
        assert_eq!(transfer_time(Bytes(u64::MAX), Nanos(u64::MAX)), Nanos::MAX);
    }
}
