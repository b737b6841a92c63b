//! Log blocks: the slot of the next host page, and the order of the pages written so far.

use flashscope_block::Nanos;

use super::{Role, Room};
use crate::nand::{Array, BlockId, Lpn, Place};

/// A logical page with its position. Logical blocks are numbered over the drive, pool by pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPage {
    pub(in crate::ftl) lpn: Lpn,
    pub(in crate::ftl) pool: u32,
    /// The logical block that contains the page.
    pub(in crate::ftl) logical: u32,
    /// The index of the page in that logical block.
    pub(in crate::ftl) index: u32,
}

/// A log block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    pub(in crate::ftl) block: BlockId,
    pub(in crate::ftl) place: Place,
    pub(in crate::ftl) role: Role,
    /// The logical block of its first page.
    pub(in crate::ftl) logical: u32,
    /// Index of the next page to program.
    pub(in crate::ftl) next: u32,
    /// True if each slot programmed so far holds the page of `logical` with the index of the
    /// slot. Always false for shared log blocks.
    pub(in crate::ftl) in_order: bool,
    /// True if a program has failed and the block must be retired.
    pub(in crate::ftl) failed: bool,
}

impl Log {
    /// Creates a log block without data, whose first page will belong to `logical`.
    pub(in crate::ftl) fn new(nand: &Array, block: BlockId, role: Role, logical: u32) -> Self {
        let (place, in_order) = (nand.place(block), role == Role::Log);
        Log { block, place, role, logical, next: 0, in_order, failed: false }
    }

    /// Returns the next slot of the log block, which is available from `at` on.
    #[inline]
    pub(in crate::ftl) fn room(&self, at: Nanos) -> Room {
        Room { block: self.block, place: self.place, index: self.next, at }
    }

    /// Records that a page was programmed at `index`.
    #[inline]
    pub(in crate::ftl) fn append(&mut self, page: HostPage, index: u32) {
        let follows = page.logical == self.logical && page.index == index && self.next == index;
        self.in_order &= follows;
        self.next = index + 1;
    }

    /// Records that a program has failed.
    pub(in crate::ftl) fn fail(&mut self, nand: &Array) {
        self.failed = true;
        self.next = nand.written(self.block);
    }

    /// Returns true if the log block, with a maximum of `places` pages, takes another page.
    #[inline]
    pub(in crate::ftl) fn has_room(&self, places: u32) -> bool {
        self.next < places && !self.failed
    }
}
