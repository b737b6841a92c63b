//! Flash translation layers: where a logical page is on the flash.
//!
//! An FTL is one file and its line in the registry below.

mod dftl;
mod layout;
mod log_block;
mod page_map;

use flashscope_block::{Errno, Nanos, StreamId};

use crate::footprint::Size;
use crate::nand::{Array, Fault, Illegal, Lpn, Page, Slot};

pub use layout::{Eviction, Frontiers, Layout, Logs, MapCache, Merge, Scope, Transfer};
use log_block::{bast, block_map, fast, last, n_k, superblock};

/// The part of a request that falls on one logical page or, where several fit on a page of the
/// flash, on some of those that would share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The logical page, or the first of them.
    pub lpn: Lpn,
    /// Where the part begins in that page, in bytes.
    pub start: u32,
    /// Bytes of the part.
    pub len: u32,
    /// Whether the data is zeros; of no consequence for a read.
    pub zero: bool,
    /// Whether the write that it is of is a long one: see [`Logs::long`]. Of no consequence for a read.
    pub long: bool,
    /// What the host says of the data: see [`flashscope_block::Io::stream`].
    pub stream: StreamId,
}

impl Slice {
    /// The parts of it on each logical page, of `size` bytes each.
    pub(crate) fn pages(self, size: u32) -> impl Iterator<Item = Slice> {
        let end = self.start + self.len;
        (0..end.div_ceil(size)).map(move |nth| {
            let (first, next) = (nth * size, nth.saturating_add(1).saturating_mul(size));
            let (from, to) = (self.start.max(first), end.min(next));
            Slice { lpn: Lpn(self.lpn.0 + nth), start: from - first, len: to - from, ..self }
        })
    }
}

/// What a translation layer must do.
///
/// Requests take the time `at` which they reach the flash controller, which never decreases from
/// one to the next, but for copies that the buffer makes, which come when they were read. Methods
/// that return a time return when the page is done.
pub trait Ftl {
    /// A hint that `lpn`, which may be any number, is written soon: what has to be looked up may be
    /// fetched from memory in the meantime.
    fn expect(&self, _lpn: Lpn) {}

    /// Writes a logical page, or a part of it with the rest kept.
    ///
    /// # Errors
    /// `ENOSPC` when no page can be freed, `EIO` when the flash refuses a command.
    fn write(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno>;

    /// Reads a logical page or a part of it; one that holds nothing is there at once, without a
    /// flash command.
    ///
    /// # Errors
    /// As [`Ftl::write`], should background cleaning go wrong.
    fn read(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno>;

    /// Forgets the data of a logical page.
    ///
    /// # Errors
    /// As [`Ftl::write`], should background cleaning go wrong; `EOPNOTSUPP` where not
    /// [`Kind::trims`].
    fn trim(&mut self, nand: &mut Array, lpn: Lpn, at: Nanos) -> Result<(), Errno>;

    /// Puts on the flash what a power cut would lose. Returns when it is there.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    fn flush(&mut self, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno>;

    /// Works in the background on idle flash, starting nothing at or after `until`. Returns until
    /// when it would start nothing more: `until` if it started anything, as one piece of work may
    /// lead to another, and [`Nanos::MAX`] if nothing is left.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    fn background(&mut self, nand: &mut Array, until: Nanos) -> Result<Nanos, Errno>;

    /// Brings what [`Array`] says of its pages up to date with the last writes, which the FTL may
    /// have put off.
    fn catch_up(&mut self, nand: &mut Array);

    /// From now on, remembers what a power cut would take back.
    fn expect_power_cuts(&mut self);

    /// Forgets what a power cut at or after `now` can no longer take back.
    fn settle(&mut self, now: Nanos);

    /// Finds out what is where after the power was cut at `at`.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    fn recover(&mut self, nand: &mut Array, at: Nanos) -> Result<Recovery, Errno>;

    /// Where the newest copy of a logical page is, if there is one.
    fn locate(&self, nand: &Array, lpn: Lpn) -> Option<Page>;

    /// As [`Ftl::locate`], as the place whose metadata is that of the logical page.
    fn slot(&self, lpn: Lpn) -> Option<Slot>;

    /// Where the drive stands in its life.
    fn health(&self) -> Health;

    /// The free blocks of each lane.
    fn free_blocks(&self) -> Vec<u32>;
}

/// Where the drive stands in its life.
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
    /// Blocks taken out of use because a program or an erase failed.
    pub failed_blocks: u64,
    /// Blocks taken out of use because their lifetime had passed.
    pub expired_blocks: u64,
    /// Blocks of cold data that wear levelling has moved.
    pub migrations: u64,
    /// When the drive refused a write for the first time because too few blocks were left: the
    /// end of its life.
    #[serde(rename = "end_of_life_ns")]
    pub end_of_life: Option<Nanos>,
}

impl Health {
    /// That of two drives together; its end of life is the first of theirs.
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

/// What it took to find the map when the power came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// When the drive was ready.
    pub done: Nanos,
    /// Pages read: a summary for each full block, and those of the others one by one.
    pub pages_read: u64,
}

/// The stream of an [`flashscope_block::Io`] with which a host says that data is cold, where the
/// drive separates temperatures (section 5.2, content volatility). Others are hot.
pub const COLD_STREAM: StreamId = 2;

impl From<Illegal> for Errno {
    /// A command that the flash refuses is a bug of the FTL: it stops a debug build, and is an
    /// input/output error to the host otherwise.
    fn from(illegal: Illegal) -> Errno {
        debug_assert!(false, "{illegal}");
        Errno::EIO
    }
}

impl From<Fault> for Errno {
    /// What cannot be read is an input/output error to the host.
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
    /// Its name in a profile.
    pub name: &'static str,
    /// How it maps, in a sentence.
    pub summary: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// What of a profile it goes by.
    pub family: Family,
    /// Makes one for an empty drive of this layout.
    pub new: fn(&Layout, &mut Array) -> AnyFtl,
    /// What it takes.
    pub(crate) footprint: fn(&Layout) -> Size,
}

impl Kind {
    /// Whether any page may be anywhere.
    pub fn is_page_mapped(&self) -> bool {
        matches!(self.family, Family::PageMapped { .. })
    }

    /// Whether a page can be forgotten. The drives that had log blocks came before the command.
    pub fn trims(&self) -> bool {
        self.is_page_mapped()
    }
}

/// What of a profile an FTL goes by. A profile that asks for what its FTL does not do is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Any page may be anywhere: blocks are cleaned, by `[cleaning]`, and levelled.
    PageMapped {
        /// Whether the map is on the flash, with the memory of `[map_cache]` for some of its entries.
        map_on_flash: bool,
    },
    /// Data is mapped by whole blocks, with the log blocks of `[log]` in front.
    LogBlock(LogUse),
}

/// What of `[log]` an FTL with log blocks goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogUse {
    /// How many log blocks a pool must have.
    pub least: u32,
    /// Whether groups of logical blocks share them.
    pub groups: bool,
    /// Whether those of a data block take its pages in any order.
    pub any_order: bool,
    /// Whether some are for long writes alone, and some for what is written again soon.
    pub localities: bool,
}

/// Makes [`AnyFtl`] and [`KINDS`] from one list, so that a call on the path of a page is a match
/// and not a virtual call.
macro_rules! registry {
    ($($module:ident :: $ftl:ident),+ $(,)?) => {
        /// Any registered FTL.
        #[allow(clippy::large_enum_variant, reason = "a drive has one")]
        pub enum AnyFtl {
            $(#[doc = concat!("See [`KINDS`]: `", stringify!($module), "`.")]
            $ftl($module::$ftl),)+
        }

        impl Ftl for AnyFtl {
            #[inline]
            fn expect(&self, lpn: Lpn) {
                match self { $(AnyFtl::$ftl(ftl) => ftl.expect(lpn),)+ }
            }
            #[inline]
            fn write(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.write(nand, slice, at),)+ }
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
            fn settle(&mut self, now: Nanos) {
                match self { $(AnyFtl::$ftl(ftl) => ftl.settle(now),)+ }
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
            fn health(&self) -> Health {
                match self { $(AnyFtl::$ftl(ftl) => ftl.health(),)+ }
            }
            fn free_blocks(&self) -> Vec<u32> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.free_blocks(),)+ }
            }
        }

        /// Every FTL, in the order in which they are shown.
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
