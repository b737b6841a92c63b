//! FTLs that map data by entire blocks, with log blocks for new writes.
//!
//! This module has the parts that these FTLs share. These are the path of host requests, the merges
//! of log blocks with data blocks ([`core`]), and recovery after a power cut ([`recovery`]). Each
//! FTL is a [`Scheme`] in its own file beside this folder. A scheme decides which log block takes a
//! page, and when a log block is merged.
//!
//! *Merges* are named as by Boboila and Desnoyers, MSST'11, section II. A log block may hold pages
//! of a single data block in order, from the first page on. It can then become the data block: at
//! once if it holds all pages (*switch*), or after the missing pages are copied to it (*partial*).
//! If the log block cannot become the data block, the merge rewrites every data block that has
//! newest pages in the log block (*full*). It copies the newest copy of each page to a free block.
//!
//! *A pool does one operation at a time*: no write and no merge begins in a pool before the
//! previous merge and its erases are done. A power cut therefore leaves at most one merge
//! unfinished, and recovery relies on this.

pub(super) mod core;
pub(super) mod grouping;
pub(super) mod log;
mod recovery;
pub(super) mod tied_logs;

use flashscope_block::{Errno, Nanos};

use self::core::Core;
use self::log::{HostPage, Log};
use super::{Ftl, Health, Recovery, Slice};
use crate::nand::{Array, BlockId, Cause, Fault, Lpn, Page, Place, Slot};
use crate::setup::Layout;

/// The use of a block, as recorded in its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A data block, written by a full merge.
    Data = 0,
    /// A log block that may become a data block.
    Log = 1,
    /// A log block that takes pages of any data block.
    Shared = 2,
    /// A log block that takes hot pages of any data block.
    Hot = 3,
}

impl Role {
    fn of(number: u8) -> Role {
        match number {
            0 => Role::Data,
            1 => Role::Log,
            2 => Role::Shared,
            _ => Role::Hot,
        }
    }
}

/// A slot that is available for a host page.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub(super) block: BlockId,
    pub(super) place: Place,
    pub(super) index: u32,
    /// Time from which the slot is available.
    pub(super) at: Nanos,
}

/// The policy of an FTL with log blocks: which log block takes a page, and when a log block is
/// merged.
pub trait Scheme {
    /// True if a data block holds each page at the page's own index, which distinguishes data
    /// blocks from log blocks.
    const KEEPS_ORDER: bool = true;

    /// Finds the slot for a page that is written at `at`. `long` is true if the page belongs to a
    /// long write. Merges log blocks if needed. No data is lost if there is no slot.
    ///
    /// # Errors
    /// Returns `ENOSPC` if no block can be freed, `EIO` if the flash refuses a command.
    fn room(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        long: bool,
        at: Nanos,
    ) -> Result<Room, Errno>;

    /// Records that the page is in the log block `block` from `done` on. Returns the time at which
    /// the host is answered.
    ///
    /// # Errors
    /// See [`Scheme::room`]. If a merge fails for lack of room, the page is still written.
    fn written(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        block: BlockId,
        done: Nanos,
    ) -> Result<Nanos, Errno>;

    /// Records that the program of the page in the log block `block` failed. The block takes no
    /// more pages.
    fn failed(&mut self, nand: &Array, page: HostPage, block: BlockId);

    /// Resumes with the log blocks that recovery identified after a power cut, oldest first.
    /// Without [`Scheme::KEEPS_ORDER`], `found` lists all blocks in use.
    fn adopt(&mut self, core: &mut Core, found: Vec<Log>);
}

/// An FTL with log blocks.
pub struct LogBlock<S> {
    core: Core,
    scheme: S,
}

impl<S: Scheme> LogBlock<S> {
    pub(super) fn new(layout: &Layout, nand: &Array, scheme: S) -> Self {
        LogBlock { core: Core::new(layout, nand), scheme }
    }

    fn write_page(
        &mut self,
        nand: &mut Array,
        page: HostPage,
        slice: Slice,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let zero = slice.zero && slice.len == self.core.layout.logical_page_size();
        let entry = self.core.next_entry(nand, page, zero);
        let mut at = nand.both(at, self.core.busy(page.pool));
        loop {
            let room = self.scheme.room(&mut self.core, nand, page, slice.long, at)?;
            let slot = nand.geometry().slot(room.block, room.index);
            match nand.program(room.place, slot, &[entry], room.at, Cause::Host) {
                Ok(done) => {
                    self.core.put(nand, page, slot, done);
                    let core = &mut self.core;
                    return match self.scheme.written(core, nand, page, room.block, done) {
                        // This page is written. The next write reports the lack of room.
                        Err(Errno::ENOSPC) => Ok(done),
                        answered => answered,
                    };
                }
                Err(Fault::Failed(done)) => {
                    self.scheme.failed(nand, page, room.block);
                    at = done;
                }
                Err(Fault::Illegal(illegal)) => return Err(illegal.into()),
            }
        }
    }
}

impl<S: Scheme> Ftl for LogBlock<S> {
    #[inline]
    fn write(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        let size = self.core.layout.logical_page_size();
        let bytes = slice.start..slice.start + slice.len;
        let page = self.core.page(slice.lpn);
        let kept = [0..bytes.start, bytes.end..size];
        let ready = self.core.read(nand, page, &kept, at)?;
        self.write_page(nand, page, slice, ready)
            .map_err(|errno| self.core.refusal(nand, errno, at))
    }

    fn read(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        let bytes = slice.start..slice.start + slice.len;
        self.core.read(nand, self.core.page(slice.lpn), std::slice::from_ref(&bytes), at)
    }

    fn trim(&mut self, _nand: &mut Array, _lpn: Lpn, _at: Nanos) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    fn background(&mut self, _nand: &mut Array, _until: Nanos) -> Result<Nanos, Errno> {
        Ok(Nanos::MAX)
    }

    /// Does nothing, because all written data is already on the flash.
    fn flush(&mut self, _nand: &mut Array, at: Nanos) -> Result<Nanos, Errno> {
        Ok(at)
    }

    fn catch_up(&mut self, _nand: &mut Array) {}

    /// Does nothing, because the flash holds all state that recovery needs.
    fn expect_power_cuts(&mut self) {}

    fn settle(&mut self, _nand: &Array, _now: Nanos) {}

    fn recover(&mut self, nand: &mut Array, at: Nanos) -> Result<Recovery, Errno> {
        let (recovery, found) = self.core.rebuild(nand, S::KEEPS_ORDER, at)?;
        self.scheme.adopt(&mut self.core, found);
        Ok(recovery)
    }

    fn locate(&self, nand: &Array, lpn: Lpn) -> Option<Page> {
        self.slot(lpn).map(|slot| nand.geometry().page(slot))
    }

    fn slot(&self, lpn: Lpn) -> Option<Slot> {
        self.core.slot_of(self.core.page(lpn))
    }

    fn health(&self) -> Health {
        self.core.health
    }

    fn free_blocks(&self) -> Vec<u32> {
        self.core.free_blocks()
    }
}
