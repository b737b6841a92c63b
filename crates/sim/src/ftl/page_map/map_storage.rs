//! The extra work of a page-mapped FTL to look up and store its mapping table. A table that is
//! entirely in memory needs no extra work.

use flashscope_block::{Errno, Nanos};

use super::PageMap;
use crate::ftl::Recovery;
use crate::nand::{Array, BlockId, Lpn};
use crate::setup::Layout;

/// The storage of the mapping table of a [`PageMap`]. [`PageMap`] itself always stores the newest
/// slot of every logical page. This trait models the cost of looking up a slot in the drive.
pub trait MapStorage: Sized {
    /// True if the entire table is in memory. A lookup then costs nothing.
    const IN_MEMORY: bool = false;

    /// Creates the storage of an empty drive.
    fn new(layout: &Layout) -> Self;

    /// Prefetches the entry of `lpn`, which will soon be looked up. `lpn` may be any number.
    #[inline]
    fn prefetch(&self, _lpn: Lpn) {}

    /// Looks up the entry of a logical page from `at` on. `write` is true if a write of the page
    /// follows. Returns the time at which the entry is known.
    ///
    /// # Errors
    /// See [`crate::ftl::Ftl::write`]. Only writes fail for lack of room.
    #[inline]
    fn look_up(
        _ftl: &mut PageMap<Self>,
        _nand: &mut Array,
        _lpn: Lpn,
        at: Nanos,
        _write: bool,
    ) -> Result<Nanos, Errno> {
        Ok(at)
    }

    /// Prefetches an entry that will soon change.
    #[inline]
    fn prefetch_change(&self, _lpn: Lpn) {}

    /// Records that a logical page, possibly internal, was written, trimmed or moved.
    #[inline]
    fn changed(&mut self, _lpn: Lpn) {}

    /// Adds a full translation block of `lane`, with `valid` valid pages.
    fn closed(&mut self, _lane: u32, _block: BlockId, _valid: u32) {}

    /// Returns true if a lane has so many translation blocks that they are collected before data
    /// blocks.
    #[inline]
    fn is_crowded(&self, _lane: u32) -> bool {
        false
    }

    /// Takes the victim among the translation blocks of `lane` that `suits` accepts: see
    /// [`crate::gc::VictimPolicy::take`].
    #[inline]
    fn take(&mut self, _lane: u32, _suits: impl Fn(BlockId) -> bool) -> Option<BlockId> {
        None
    }

    /// Returns true if more translation pages are out of date than may be deferred.
    #[inline]
    fn must_catch_up(&self) -> bool {
        false
    }

    /// Writes all translation pages that are out of date, from `at` on. Returns false if some pages
    /// had no room.
    ///
    /// # Errors
    /// Returns `EIO` if the flash refuses a command.
    #[inline]
    fn catch_up(_ftl: &mut PageMap<Self>, _nand: &mut Array, _at: Nanos) -> Result<bool, Errno> {
        Ok(true)
    }

    /// Writes one outdated translation page of the lane's pool in the background. Returns false if
    /// there is no such page, or no room.
    ///
    /// # Errors
    /// See [`MapStorage::catch_up`].
    #[inline]
    fn catch_up_in_background(
        _ftl: &mut PageMap<Self>,
        _nand: &mut Array,
        _lane: u32,
        _at: Nanos,
    ) -> Result<bool, Errno> {
        Ok(false)
    }

    /// Starts tracking what [`MapStorage::recover`] needs.
    fn expect_power_cuts(&mut self) {}

    /// Forgets the translation blocks; recovery adds them again.
    fn forget_blocks(&mut self, _layout: &Layout) {}

    /// Completes recovery after a power cut, once the slot of every page is known, at
    /// `recovery.done`.
    ///
    /// # Errors
    /// See [`MapStorage::catch_up`].
    fn recover(
        _ftl: &mut PageMap<Self>,
        _nand: &mut Array,
        _recovery: &mut Recovery,
    ) -> Result<(), Errno> {
        Ok(())
    }
}

/// A mapping table that is entirely in memory.
pub struct InMemory;

impl MapStorage for InMemory {
    const IN_MEMORY: bool = true;

    fn new(_layout: &Layout) -> Self {
        InMemory
    }
}
