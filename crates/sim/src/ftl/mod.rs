//! Flash translation layers, which map each logical page to a physical page of the flash.
//!
//! Each FTL has its own module and one line in the registry below.

mod bast;
mod block_map;
mod dftl;
mod fast;
mod last;
mod log_block;
mod n_k;
mod page_map;
mod superblock;

use std::ops::Range;

use flashscope_block::{Errno, Nanos, StreamId};

pub use self::page_map::{HandleCounts, PlacementCounts};
use crate::footprint::Size;
use crate::nand::{Array, BlockId, Fault, IllegalCommand, Lpn, Page, Slot};
pub use crate::setup::{Family, LogSharing, LogUse};
use crate::setup::{Layout, Profile, ProfileError};
use crate::{gc, wear};

/// The part of a request that falls on one logical page. If several logical pages fit on a flash
/// page, a slice may span several logical pages of the same flash page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The logical page, or the first of several.
    pub lpn: Lpn,
    /// Offset of the slice in page `lpn`, in bytes.
    pub start: u32,
    /// Length of the slice in bytes.
    pub len: u32,
    /// True if the data is all zeros; ignored for a read.
    pub zero: bool,
    /// True if the slice belongs to a long write: see [`crate::setup::Logs::long`]. Ignored for
    /// a read.
    pub long: bool,
    /// The stream that the host assigned to the data: see [`flashscope_block::Io::stream`].
    pub stream: StreamId,
}

impl Slice {
    /// Splits the slice at the boundaries of logical pages of `size` bytes.
    pub(crate) fn pages(self, size: u32) -> impl Iterator<Item = Slice> {
        let end = self.start + self.len;
        (0..end.div_ceil(size)).map(move |nth| {
            let (first, next) = (nth * size, nth.saturating_add(1).saturating_mul(size));
            let (from, to) = (self.start.max(first), end.min(next));
            Slice { lpn: Lpn(self.lpn.0 + nth), start: from - first, len: to - from, ..self }
        })
    }
}

/// The interface of every translation layer.
///
/// The argument `at` is the time at which a request reaches the flash controller. It never
/// decreases from one request to the next, with one exception. Pages that the write buffer reads
/// from the flash and writes back arrive when they have been read. Unless a method says otherwise,
/// it returns the time at which the page is read or written.
pub trait Ftl {
    /// Prefetches the map entry of `lpn`, which the host will soon read or write. `lpn` need not be
    /// a page of the drive.
    fn prefetch(&self, _lpn: Lpn) {}

    /// Prefetches the state of the data of `lpn`, whose map entry [`Ftl::prefetch`] has fetched.
    /// `lpn` need not be a page of the drive.
    fn prefetch_data(&self, _nand: &Array, _lpn: Lpn) {}

    /// Writes a logical page, or a part of it without changing its other bytes.
    ///
    /// # Errors
    /// Returns `ENOSPC` if no page can be freed, `EIO` if the flash refuses a command.
    fn write(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno>;

    /// Does the same as [`Ftl::write`] for a complete logical page whose state was probably
    /// [fetched](Ftl::prefetch_data).
    ///
    /// # Errors
    /// See [`Ftl::write`].
    fn write_fetched(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        self.write(nand, slice, at)
    }

    /// Reads a logical page or a part of it. Reading a page without data completes immediately,
    /// without a flash command.
    ///
    /// # Errors
    /// Returns `EIO` if the page is unreadable, or an error of [`Ftl::write`] from background work.
    fn read(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno>;

    /// Discards the data of a logical page.
    ///
    /// # Errors
    /// Returns `EOPNOTSUPP` unless [`Kind::trims`], or an error of [`Ftl::write`] from the work
    /// that the trim causes.
    fn trim(&mut self, nand: &mut Array, lpn: Lpn, at: Nanos) -> Result<(), Errno>;

    /// Makes acknowledged writes and trims survive a power cut from the returned time on.
    ///
    /// # Errors
    /// See [`Ftl::write`].
    fn flush(&mut self, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno>;

    /// Works in the background while the flash is idle. Starts no operation at or after `until`.
    /// Returns a time before which another call would start no operation: the time at which the
    /// flash becomes idle, or [`Nanos::MAX`] if no work is left. Returns `until` if this call
    /// started an operation, because one operation may lead to another.
    ///
    /// # Errors
    /// See [`Ftl::write`].
    fn background(&mut self, nand: &mut Array, until: Nanos) -> Result<Nanos, Errno>;

    /// Updates the page states in [`Array`] for the last writes, whose bookkeeping the FTL may have
    /// deferred.
    fn catch_up(&mut self, nand: &mut Array);

    /// Starts recording what a power cut would undo.
    fn expect_power_cuts(&mut self);

    /// Discards the records of commands that a power cut at or after `now` can no longer undo.
    fn settle(&mut self, nand: &Array, now: Nanos);

    /// Records which writes are on the flash at `now`, just before the power is cut.
    fn expect_cut(&mut self, _nand: &Array, _now: Nanos) {}

    /// Recovers the mapping after a power cut at `at`.
    ///
    /// # Errors
    /// See [`Ftl::write`].
    fn recover(&mut self, nand: &mut Array, at: Nanos) -> Result<Recovery, Errno>;

    /// Returns the flash page with the newest copy of a logical page, if there is one.
    fn locate(&self, nand: &Array, lpn: Lpn) -> Option<Page>;

    /// Returns the slot with the newest copy of a logical page, if there is one.
    fn slot(&self, lpn: Lpn) -> Option<Slot>;

    /// Returns a stream whose data the drive places like the data of `block`, for the refresh of a
    /// page.
    fn stream_of(&self, _nand: &Array, _block: BlockId) -> StreamId {
        0
    }

    /// Returns the counts of work on data that the host has placed. The list of handles is empty
    /// without placement.
    fn placement(&self) -> PlacementCounts {
        PlacementCounts::default()
    }

    /// Returns the number of logical pages that fit in the emptiest open block of a placement
    /// handle; `None` if no block is open.
    fn handle_room(&self, _handle: StreamId) -> Option<u32> {
        None
    }

    /// Closes the open blocks of a placement handle, whether they are full or not. First moves the
    /// handle's data out of failed blocks, from `at` on.
    ///
    /// # Errors
    /// Returns an error of [`Ftl::write`]; the data then stays in the failed blocks.
    fn end_handle(
        &mut self,
        _nand: &mut Array,
        _handle: StreamId,
        _at: Nanos,
    ) -> Result<(), Errno> {
        Ok(())
    }

    /// Returns the number of blocks of a lane that are neither bad nor failed.
    fn usable_blocks(&self, _nand: &Array, _lane: u32) -> u32 {
        0
    }

    /// Discards the data of `pages`, and erases the closed blocks that then hold no data. Returns
    /// the time at which the erases are done.
    ///
    /// # Errors
    /// Returns `EOPNOTSUPP` unless the FTL maps pages in memory that survives power cuts, or an
    /// error of [`Ftl::write`].
    fn reclaim(
        &mut self,
        _nand: &mut Array,
        _pages: Range<u32>,
        _at: Nanos,
    ) -> Result<Nanos, Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    /// Returns the drive's health.
    fn health(&self) -> Health;

    /// Returns the number of free blocks of each lane.
    fn free_blocks(&self) -> Vec<u32>;
}

/// The health of a drive: blocks lost, cold data migrated, and end of life.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct Health {
    /// Blocks that were bad from the factory.
    pub factory_bad_blocks: u64,
    /// Blocks retired because a program or an erase failed.
    pub failed_blocks: u64,
    /// Blocks retired because they reached the end of their lifetime.
    pub expired_blocks: u64,
    /// Blocks of cold data that wear levelling has moved.
    pub migrations: u64,
    /// End of life: the time at which the drive first refused a write because too few blocks were
    /// left.
    #[serde(rename = "end_of_life_ns")]
    pub end_of_life: Option<Nanos>,
}

impl Health {
    /// Returns the health of two drives together. The end of life is the earlier one.
    pub(crate) fn plus(self, other: Health) -> Health {
        Health {
            factory_bad_blocks: self.factory_bad_blocks + other.factory_bad_blocks,
            failed_blocks: self.failed_blocks + other.failed_blocks,
            expired_blocks: self.expired_blocks + other.expired_blocks,
            migrations: self.migrations + other.migrations,
            end_of_life: [self.end_of_life, other.end_of_life].into_iter().flatten().min(),
        }
    }
}

/// The cost of recovering the mapping after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// Time at which the drive was ready.
    pub done: Nanos,
    /// Number of page reads: the summary of each full block, every page of a block without a
    /// readable summary, and all translation pages.
    pub pages_read: u64,
}

/// The stream ([`flashscope_block::Io::stream`]) by which a host marks data as cold, on drives that
/// separate hot data from cold data (Agrawal et al., section 5.2, content volatility). Data of
/// other streams is hot.
pub const COLD_STREAM: StreamId = 2;

impl From<IllegalCommand> for Errno {
    /// Converts a refused flash command, which is a bug of the FTL. Panics in a debug build; in a
    /// release build, the host gets an input/output error.
    fn from(illegal: IllegalCommand) -> Errno {
        debug_assert!(false, "{illegal}");
        Errno::EIO
    }
}

impl From<Fault> for Errno {
    /// Converts a failed command to an input/output error for the host.
    fn from(fault: Fault) -> Errno {
        match fault {
            Fault::Illegal(illegal) => illegal.into(),
            Fault::Failed(_) => Errno::EIO,
        }
    }
}

/// A registered FTL.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Name in a profile.
    pub name: &'static str,
    /// One-sentence description of the mapping.
    pub summary: &'static str,
    /// Publication that describes the FTL.
    pub source: &'static str,
    /// The sections of a profile that the FTL uses.
    pub family: Family,
    /// Checks the fields of a profile that only this FTL uses.
    pub(crate) check: fn(&Profile) -> Result<(), ProfileError>,
    /// Creates the FTL for an empty drive of this layout, with these policies.
    pub new: fn(&Layout, Policies, &mut Array) -> AnyFtl,
    /// Returns the size of the memory that the FTL needs.
    pub(crate) footprint: fn(&Layout, Policies) -> Size,
}

/// The check of an FTL that has no fields.
pub(crate) const NO_FIELDS: fn(&Profile) -> Result<(), ProfileError> = |_| Ok(());

impl Kind {
    /// Returns true if a logical page may be on any page of its pool.
    pub fn is_page_mapped(&self) -> bool {
        self.family.is_page_mapped()
    }

    /// Returns true if the FTL supports trim.
    pub fn trims(&self) -> bool {
        self.family.trims()
    }
}

/// The policies that page-mapped FTLs use.
#[derive(Debug, Clone, Copy)]
pub struct Policies {
    /// The policy for victim selection.
    pub victim: gc::Kind,
    /// The wear-levelling policy.
    pub wear: wear::Kind,
}

/// Returns the family of the FTL with this name in a profile.
pub fn family(name: &str) -> Option<Family> {
    KINDS.iter().find(|kind| kind.name == name).map(|kind| kind.family)
}

/// Generates [`AnyFtl`] and [`KINDS`] from one list. The calls made for each page are then a
/// `match` instead of a virtual call.
macro_rules! registry {
    ($($module:ident :: $ftl:ident),+ $(,)?) => {
        /// Any of the registered FTLs.
        #[allow(clippy::large_enum_variant, reason = "a drive has only one FTL")]
        pub enum AnyFtl {
            $(#[doc = concat!("See [`KINDS`]: `", stringify!($module), "`.")]
            $ftl($module::$ftl),)+
        }

        impl Ftl for AnyFtl {
            #[inline]
            fn prefetch(&self, lpn: Lpn) {
                match self { $(AnyFtl::$ftl(ftl) => ftl.prefetch(lpn),)+ }
            }
            #[inline]
            fn prefetch_data(&self, nand: &Array, lpn: Lpn) {
                match self { $(AnyFtl::$ftl(ftl) => ftl.prefetch_data(nand, lpn),)+ }
            }
            #[inline]
            fn write(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.write(nand, slice, at),)+ }
            }
            #[inline]
            fn write_fetched(
                &mut self,
                nand: &mut Array,
                slice: Slice,
                at: Nanos,
            ) -> Result<Nanos, Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.write_fetched(nand, slice, at),)+ }
            }
            #[inline]
            fn read(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.read(nand, slice, at),)+ }
            }
            fn trim(&mut self, nand: &mut Array, lpn: Lpn, at: Nanos) -> Result<(), Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.trim(nand, lpn, at),)+ }
            }
            fn background(&mut self, nand: &mut Array, until: Nanos) -> Result<Nanos, Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.background(nand, until),)+ }
            }
            fn flush(&mut self, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.flush(nand, at),)+ }
            }
            fn catch_up(&mut self, nand: &mut Array) {
                match self { $(AnyFtl::$ftl(ftl) => ftl.catch_up(nand),)+ }
            }
            fn expect_power_cuts(&mut self) {
                match self { $(AnyFtl::$ftl(ftl) => ftl.expect_power_cuts(),)+ }
            }
            fn settle(&mut self, nand: &Array, now: Nanos) {
                match self { $(AnyFtl::$ftl(ftl) => ftl.settle(nand, now),)+ }
            }
            fn expect_cut(&mut self, nand: &Array, now: Nanos) {
                match self { $(AnyFtl::$ftl(ftl) => ftl.expect_cut(nand, now),)+ }
            }
            fn recover(&mut self, nand: &mut Array, at: Nanos) -> Result<Recovery, Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.recover(nand, at),)+ }
            }
            fn locate(&self, nand: &Array, lpn: Lpn) -> Option<Page> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.locate(nand, lpn),)+ }
            }
            fn slot(&self, lpn: Lpn) -> Option<Slot> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.slot(lpn),)+ }
            }
            fn stream_of(&self, nand: &Array, block: BlockId) -> StreamId {
                match self { $(AnyFtl::$ftl(ftl) => ftl.stream_of(nand, block),)+ }
            }
            fn placement(&self) -> PlacementCounts {
                match self { $(AnyFtl::$ftl(ftl) => ftl.placement(),)+ }
            }
            fn handle_room(&self, handle: StreamId) -> Option<u32> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.handle_room(handle),)+ }
            }
            fn end_handle(
                &mut self,
                nand: &mut Array,
                handle: StreamId,
                at: Nanos,
            ) -> Result<(), Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.end_handle(nand, handle, at),)+ }
            }
            fn usable_blocks(&self, nand: &Array, lane: u32) -> u32 {
                match self { $(AnyFtl::$ftl(ftl) => ftl.usable_blocks(nand, lane),)+ }
            }
            fn reclaim(
                &mut self,
                nand: &mut Array,
                pages: Range<u32>,
                at: Nanos,
            ) -> Result<Nanos, Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.reclaim(nand, pages, at),)+ }
            }
            fn health(&self) -> Health {
                match self { $(AnyFtl::$ftl(ftl) => ftl.health(),)+ }
            }
            fn free_blocks(&self) -> Vec<u32> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.free_blocks(),)+ }
            }
        }

        /// All FTLs, in display order.
        pub const KINDS: &[Kind] = &[$($module::KIND),+];
    };
}

registry![
    page_map::PageMap,
    dftl::Dftl,
    block_map::BlockMap,
    bast::Bast,
    fast::Fast,
    last::Last,
    superblock::Superblock,
    n_k::NK,
];
