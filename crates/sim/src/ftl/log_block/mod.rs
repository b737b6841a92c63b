//! FTLs that map data by whole blocks, with log blocks in front, in which writes land first.
//!
//! What they share is here: the path of the host, the merges of log blocks with data blocks
//! ([`core`]), and finding out what is where after a power cut ([`recovery`]). They differ in which
//! log block takes a page and which is merged when: a [`Scheme`], one file for each.
//!
//! *Merges* have the names of Boboila and Desnoyers, MSST'11, section II. A log block that holds
//! pages of one data block from its first on in order becomes the data block: as it is (*switch*),
//! or once the rest is copied behind (*partial*). Else each data block that it holds newest pages
//! of is made anew from wherever they are (*full*).
//!
//! *A pool does one thing at a time*: nothing of it begins before a merge is done, its erases
//! included. So a power cut finds one merge unfinished at most, which is what recovery rests on.

pub(super) mod bast;
pub(super) mod block_map;
mod core;
pub(super) mod fast;
pub(super) mod last;
pub(super) mod n_k;
mod recovery;
pub(super) mod superblock;
mod tied;

use flashscope_block::{Errno, Nanos};

use self::core::{Core, HostPage, Log};
use super::{Ftl, Health, Layout, Recovery, Slice};
use crate::nand::{Array, BlockId, Cause, Fault, Lpn, Page, Place, Slot};

/// What a block is used for, as its metadata says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Made by a full merge.
    Data = 0,
    /// A log block that may become a data block.
    Log = 1,
    /// A log block that takes pages of any data block.
    Shared = 2,
    /// One for those that are written again soon.
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

/// A place that was found for a page of the host.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    block: BlockId,
    place: Place,
    index: u32,
    /// From when on it is there.
    at: Nanos,
}

/// What is particular to one of these FTLs: which log block takes a page, and which is merged when.
pub trait Scheme {
    /// Whether data blocks, which hold each page at its place, are told from log blocks.
    const KEEPS_ORDER: bool = true;

    /// Finds the place for a page that is written at `at`, by a `long` write or another, merging log
    /// blocks if need be. Where it finds none, nothing is lost.
    ///
    /// # Errors
    /// `ENOSPC` when no block can be freed, `EIO` when the flash refuses a command.
    fn room(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        long: bool,
        at: Nanos,
    ) -> Result<Room, Errno>;

    /// The page is in the log block `block` from `done` on. Returns when the host is answered.
    ///
    /// # Errors
    /// As [`Scheme::room`]; a merge that finds no room is not the concern of this page.
    fn written(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        block: BlockId,
        done: Nanos,
    ) -> Result<Nanos, Errno>;

    /// The program of the page in the log block `block` has failed: that takes no more.
    fn failed(&mut self, nand: &Array, page: HostPage, block: BlockId);

    /// Starts anew with the log blocks that were found when the power came back, or all blocks if
    /// not [`Scheme::KEEPS_ORDER`], the oldest first.
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
        let mut at = at.max(self.core.busy(page.pool));
        loop {
            let room = self.scheme.room(&mut self.core, nand, page, slice.long, at)?;
            let slot = nand.geometry().slot(room.block, room.index);
            match nand.program(room.place, slot, &[entry], room.at, Cause::Host) {
                Ok(done) => {
                    self.core.put(nand, page, slot, done);
                    let core = &mut self.core;
                    return match self.scheme.written(core, nand, page, room.block, done) {
                        // The page is there. It is the next that finds no room.
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

    /// All that was written is on the flash.
    fn flush(&mut self, _nand: &mut Array, at: Nanos) -> Result<Nanos, Errno> {
        Ok(at)
    }

    fn catch_up(&mut self, _nand: &mut Array) {}

    /// The flash remembers all there is.
    fn expect_power_cuts(&mut self) {}

    fn settle(&mut self, _now: Nanos) {}

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
