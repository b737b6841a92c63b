//! What an FTL that maps by page does beside, so that its map can be found: nothing where it is in
//! memory as a whole.

use flashscope_block::{Errno, Nanos};

use super::PageMap;
use crate::ftl::{Layout, Recovery};
use crate::nand::{Array, BlockId, Lpn};

/// Where the map of a [`PageMap`] is kept. [`PageMap`] itself knows the newest place of every
/// logical page all the time, as the simulator must; this says what it takes the drive to know it.
pub trait Mapping: Sized {
    /// That of an empty drive.
    fn new(layout: &Layout) -> Self;

    /// A hint that the entry of `lpn`, which may be any number, is looked up soon.
    #[inline]
    fn expect(&self, _lpn: Lpn) {}

    /// Has the entry of a logical page looked up, for a `write` or for something else, from `at`
    /// on. Returns when it is known.
    ///
    /// # Errors
    /// As [`crate::ftl::Ftl::write`]; for want of room a write alone is refused.
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

    /// A hint that an entry changes soon.
    #[inline]
    fn expect_change(&self, _lpn: Lpn) {}

    /// The entry of a logical page, which may be internal, has changed: it was written, trimmed or
    /// moved.
    #[inline]
    fn changed(&mut self, _lpn: Lpn) {}

    /// A block of `lane` that holds pages of the map is full, with `valid` of them valid.
    fn closed(&mut self, _lane: u32, _block: BlockId, _valid: u32) {}

    /// Whether a lane has more such blocks than are worth their room: they are cleaned before
    /// others.
    #[inline]
    fn is_crowded(&self, _lane: u32) -> bool {
        false
    }

    /// Chooses among such blocks of `lane` that `suit` the one to clean: see
    /// [`crate::gc::VictimPolicy::take`].
    #[inline]
    fn take(&mut self, _lane: u32, _suits: impl Fn(BlockId) -> bool) -> Option<BlockId> {
        None
    }

    /// Whether changes have left more to do than may be put off.
    #[inline]
    fn is_behind(&self) -> bool {
        false
    }

    /// Does what changes have left to do, from `at` on; false if there was no room for all of it.
    ///
    /// # Errors
    /// `EIO` when the flash refuses a command.
    #[inline]
    fn catch_up(_ftl: &mut PageMap<Self>, _nand: &mut Array, _at: Nanos) -> Result<bool, Errno> {
        Ok(true)
    }

    /// Does a page's worth of it for a lane in the background; false if there is nothing to do, or
    /// no room.
    ///
    /// # Errors
    /// As [`Mapping::catch_up`].
    #[inline]
    fn catch_up_in_background(
        _ftl: &mut PageMap<Self>,
        _nand: &mut Array,
        _lane: u32,
        _at: Nanos,
    ) -> Result<bool, Errno> {
        Ok(false)
    }

    /// From now on, [`Mapping::recover`] may be asked for.
    fn expect_power_cuts(&mut self) {}

    /// Forgets which blocks hold pages of the map: they are found again.
    fn forget_blocks(&mut self, _layout: &Layout) {}

    /// The power was cut, and where every page is has been found out by `recovery.done`: sees to
    /// the rest.
    ///
    /// # Errors
    /// As [`Mapping::catch_up`].
    fn recover(
        _ftl: &mut PageMap<Self>,
        _nand: &mut Array,
        _recovery: &mut Recovery,
    ) -> Result<(), Errno> {
        Ok(())
    }
}

/// The whole map is in memory.
pub struct InMemory;

impl Mapping for InMemory {
    fn new(_layout: &Layout) -> Self {
        InMemory
    }
}
