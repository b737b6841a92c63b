//! Flash translation layers: where a logical page is on the flash.
//!
//! An FTL is one file and its line in the registry below.

mod page_map;
mod pool;

use flashscope_block::{Errno, Nanos, StreamId};

use crate::nand::{Array, Illegal, Lpn, Page, Timing};
use crate::{gc, nand};

/// The part of a request that falls on one logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The logical page.
    pub lpn: Lpn,
    /// Where the part begins in the page, in bytes.
    pub start: u32,
    /// Bytes of the part.
    pub len: u32,
    /// What the host says of the data: see [`flashscope_block::Io::stream`].
    pub stream: StreamId,
}

/// What a translation layer must do.
///
/// Requests take the time `at` which they reach the flash controller, which never decreases from
/// one to the next. Methods that return a time return when the page is done.
pub trait Ftl {
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
    /// As [`Ftl::write`], should background cleaning go wrong.
    fn trim(&mut self, nand: &mut Array, lpn: Lpn, at: Nanos) -> Result<(), Errno>;

    /// Works in the background on idle flash, starting nothing at or after `until`.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    fn background(&mut self, nand: &mut Array, until: Nanos) -> Result<(), Errno>;

    /// Where the newest copy of a logical page is, if there is one.
    fn locate(&self, nand: &Array, lpn: Lpn) -> Option<Page>;
}

/// What a profile comes to: everything that the parts of a drive need to know, checked.
#[derive(Debug, Clone)]
pub struct Layout {
    /// How the flash is divided.
    pub geometry: nand::Geometry,
    /// How long its commands take.
    pub timing: Timing,
    /// Whether the dies of a package work side by side.
    pub interleaving: bool,
    /// Allocation pools. Logical page `n` belongs to pool `n % pools` (the static part of the
    /// map); pool `p` is in package `p % packages`.
    pub pools: u32,
    /// Pages of each pool that the host can address.
    pub logical_pages_per_pool: u32,
    /// Blocks are cleaned in the foreground while a pool has fewer free ones than this.
    pub clean_below: u32,
    /// Blocks are cleaned in the background while a pool has fewer free ones than this; 0 if
    /// they are not.
    pub background_below: u32,
    /// How victims are chosen.
    pub policy: gc::Kind,
    /// How logical pages are found.
    pub ftl: Kind,
}

impl Layout {
    /// Lanes of the drive: parts of the pools that have an active block and are cleaned each for
    /// itself.
    pub const fn lanes(&self) -> u32 {
        self.pools
    }

    /// Blocks in each lane.
    pub const fn blocks_per_lane(&self) -> u32 {
        self.geometry.blocks() / self.lanes()
    }

    /// Logical pages that fit in a block.
    pub const fn slots_per_block(&self) -> u32 {
        self.geometry.pages_per_block
    }

    /// Valid logical pages that a block may hold for its cleaning to gain a page.
    pub const fn most_valid(&self) -> u32 {
        self.slots_per_block() - 1
    }

    /// Bytes of a logical page.
    pub fn logical_page_size(&self) -> u32 {
        u32::try_from(self.geometry.page_size.0).expect("checked: fits in a u32")
    }

    /// Blocks in each pool.
    pub const fn blocks_per_pool(&self) -> u32 {
        self.geometry.blocks() / self.pools
    }

    /// Pages that the host can address.
    pub const fn logical_pages(&self) -> u32 {
        self.pools * self.logical_pages_per_pool
    }
}

impl From<Illegal> for Errno {
    /// A command that the flash refuses is a bug of the FTL: it stops a debug build, and is an
    /// input/output error to the host otherwise.
    fn from(illegal: Illegal) -> Errno {
        debug_assert!(false, "{illegal}");
        Errno::EIO
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
    /// Makes one for an empty drive of this layout.
    pub new: fn(&Layout) -> AnyFtl,
}

/// Makes [`AnyFtl`] and [`KINDS`] from one list, so that a call on the path of a page is a match
/// and not a virtual call.
macro_rules! registry {
    ($($module:ident :: $ftl:ident),+ $(,)?) => {
        /// Any registered FTL.
        pub enum AnyFtl {
            $(#[doc = concat!("See [`KINDS`]: `", stringify!($module), "`.")]
            $ftl($module::$ftl),)+
        }

        impl Ftl for AnyFtl {
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
            fn background(&mut self, nand: &mut Array, until: Nanos) -> Result<(), Errno> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.background(nand, until),)+ }
            }
            fn locate(&self, nand: &Array, lpn: Lpn) -> Option<Page> {
                match self { $(AnyFtl::$ftl(ftl) => ftl.locate(nand, lpn),)+ }
            }
        }

        /// Every FTL, in the order in which they are shown.
        pub const KINDS: &[Kind] = &[$($module::KIND),+];
    };
}

registry![page_map::PageMap];
