use flashscope_block::{Bytes, Nanos};

/// How long the parts of a flash command take (Agrawal et al., Table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// From the cells of a page to the register.
    pub page_read: Nanos,
    /// From the register to the cells of a page.
    pub page_program: Nanos,
    /// As `page_program`, where the page holds nothing but zeros.
    pub zero_page_program: Nanos,
    /// From the cells to the register, and back, in blocks of the SLC region.
    pub slc_read: Nanos,
    /// See `slc_read`.
    pub slc_program: Nanos,
    /// Erasing a block.
    pub block_erase: Nanos,
    /// Data and metadata of a page over the serial bus of a package.
    pub page_transfer: Nanos,
    /// The metadata of a page alone.
    pub metadata_transfer: Nanos,
    /// The summary of a block.
    pub summary_transfer: Nanos,
}

impl Timing {
    /// Whether it matters what is programmed.
    pub const fn heeds_zeros(&self) -> bool {
        self.zero_page_program.0 != self.page_program.0
    }
}

/// `time` moved on by `duration`, which stops at the end of time instead of passing it.
#[inline]
pub const fn later(time: Nanos, duration: Nanos) -> Nanos {
    Nanos(time.0.saturating_add(duration.0))
}

/// What `len` bytes take over a bus that needs `per_kib` for 1024 bytes, rounded up.
pub fn transfer_time(len: Bytes, per_kib: Nanos) -> Nanos {
    let total = u128::from(len.0) * u128::from(per_kib.0);
    Nanos(u64::try_from(total.div_ceil(1024)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does a page of 4096 + 128 bytes at 25 ns a byte take 105.6 us, and part of a nanosecond a
    // whole one?
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
