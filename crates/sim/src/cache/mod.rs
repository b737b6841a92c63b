//! The drive's buffer memory, between the host interface and the FTL: a write buffer, and beside it
//! a small memory of its own for pages that are read ahead.
//!
//! *When a write is done.* A buffered page is acknowledged when its data has arrived, if a slot of
//! the buffer is free; what it replaces in the buffer needs no slot. When none is free, the buffer
//! writes out what its replacement policy gives up, and the page is acknowledged when the slot that
//! it gets is free: when the program of the page that was there is done. Until then the page waits
//! in the controller, from where it can be read, merged into and programmed like any other.
//!
//! *In batches.* A full buffer gives up `cache.batch` victims at once, and the page that needed room
//! waits until a page of each of them is programmed. So what pages in several parts of the flash
//! wait for, merges above all, overlaps.
//!
//! *In the background,* as long as less of the buffer is free than `cache.write_back` asks for, what
//! would be given up next is written out at the moment when no request has come and fewer than
//! `cache.batch` of the programs that the buffer gave are not done. A request waits for no more than
//! these, and takes the slot that is free first.
//!
//! *What is on flash.* A flush writes out every page and is done when all programs are, those of
//! earlier evictions included. A buffer that is protected against power cuts need not: there a
//! flush is done at once. Trimming a page drops it from the buffer. From the moment its program is
//! given, a page is the flash's, and a read of it waits for that.
//!
//! *A power cut* empties the buffer. Out of one that is protected, what was not on flash is written
//! there at power-on, once the map is found again: the pages that the buffer held, and those whose
//! programs were not done. So that it can be, a protected buffer keeps a page until then.
//!
//! *What leaves together.* Where several logical pages fit on a page of the flash, those that are
//! given up together and share one are programmed at once.
//!
//! *Errors.* If the FTL refuses a page that is written out, the write or flush that caused this
//! fails with its error. The refused page stays in the buffer, readable and to be tried again;
//! the write that was to get its slot is not taken. In the background a refusal ends the work; it
//! is met again by the next write or flush that needs the page out.
//!
//! A buffer is one file and its line in the registry below.

mod bplru;
mod buffer;
mod fifo;
mod gather;
mod held;
mod lru;
mod none;
mod read_ahead;

use flashscope_block::{Errno, Io, Nanos};

use crate::footprint::Size;
use crate::ftl::{Ftl, Slice};
use crate::nand::{Array, Lpn};
use crate::setup::Layout;
use read_ahead::ReadAhead;

/// A write buffer. Its requests take the times of [`Ftl`], to which it passes what it does not
/// keep.
pub trait Buffer {
    /// A request comes at this time: catches up with the background work before.
    fn begin<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, at: Nanos);

    /// Takes the parts of logical pages that are written; returns when they are acknowledged.
    ///
    /// # Errors
    /// Those of [`Ftl::write`] for what had to be written out first; the page that it was for, and
    /// those of the slice behind it, were not taken then.
    fn write<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        slice: Slice,
        at: Nanos,
    ) -> Result<Nanos, Errno>;

    /// Forgets a page, here and on the flash.
    ///
    /// # Errors
    /// Those of [`Ftl::trim`]; the page is kept then.
    fn trim<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        lpn: Lpn,
        at: Nanos,
    ) -> Result<(), Errno>;

    /// Makes what was acknowledged durable; returns when it is.
    ///
    /// # Errors
    /// Those of [`Ftl::write`]; what was not written out is kept.
    fn flush<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno>;

    /// Works in the background, starting nothing at or after `until`. Returns until when it would
    /// start nothing more: see [`Ftl::background`].
    fn background<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, until: Nanos) -> Nanos;

    /// Whether a page, or a part of it, is in the buffer.
    fn holds(&self, lpn: Lpn) -> bool;

    /// Whether all of a slice of one logical page is in the buffer.
    fn covers(&self, slice: &Slice) -> bool;

    /// From now on, keeps what is on its way to the flash.
    fn expect_power_cuts(&mut self);

    /// Forgets what was on its way and is on the flash at `now`.
    fn settle(&mut self, now: Nanos);

    /// What is in the buffer memory and, as far as it is kept, what is not on flash at `at`. Of
    /// pages that come twice, the later is the newer.
    fn dirty(&self, at: Nanos) -> Vec<Slice>;

    /// Drops everything.
    fn clear(&mut self);
}

/// A registered write buffer.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name in a profile.
    pub name: &'static str,
    /// What it gives up when it is full, in a sentence.
    pub summary: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// Makes an empty one for a drive of this layout.
    pub new: fn(&Layout) -> AnyBuffer,
    /// What it takes.
    pub(crate) footprint: fn(&Layout) -> Size,
}

/// Makes [`AnyBuffer`] and [`KINDS`] from one list, so that a call on the path of a page is a match
/// and not a virtual call.
macro_rules! registry {
    ($($module:ident :: $buffer:ident),+ $(,)?) => {
        /// Any registered write buffer.
        pub enum AnyBuffer {
            $(#[doc = concat!("See [`KINDS`]: `", stringify!($module), "`.")]
            $buffer($module::$buffer),)+
        }

        impl Buffer for AnyBuffer {
            fn begin<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, at: Nanos) {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.begin(ftl, nand, at),)+ }
            }
            fn write<F: Ftl>(
                &mut self,
                ftl: &mut F,
                nand: &mut Array,
                slice: Slice,
                at: Nanos,
            ) -> Result<Nanos, Errno> {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.write(ftl, nand, slice, at),)+ }
            }
            fn trim<F: Ftl>(
                &mut self,
                ftl: &mut F,
                nand: &mut Array,
                lpn: Lpn,
                at: Nanos,
            ) -> Result<(), Errno> {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.trim(ftl, nand, lpn, at),)+ }
            }
            fn flush<F: Ftl>(
                &mut self,
                ftl: &mut F,
                nand: &mut Array,
                at: Nanos,
            ) -> Result<Nanos, Errno> {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.flush(ftl, nand, at),)+ }
            }
            fn background<F: Ftl>(
                &mut self,
                ftl: &mut F,
                nand: &mut Array,
                until: Nanos,
            ) -> Nanos {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.background(ftl, nand, until),)+ }
            }
            fn holds(&self, lpn: Lpn) -> bool {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.holds(lpn),)+ }
            }
            fn covers(&self, slice: &Slice) -> bool {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.covers(slice),)+ }
            }
            fn expect_power_cuts(&mut self) {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.expect_power_cuts(),)+ }
            }
            fn settle(&mut self, now: Nanos) {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.settle(now),)+ }
            }
            fn dirty(&self, at: Nanos) -> Vec<Slice> {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.dirty(at),)+ }
            }
            fn clear(&mut self) {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.clear(),)+ }
            }
        }

        /// Every write buffer, in the order in which they are shown.
        pub const KINDS: &[Kind] = &[$($module::KIND),+];
    };
}

registry![
    none::PassThrough,
    lru::LruBuffer,
    fifo::FifoBuffer,
    bplru::BplruBuffer,
    gather::GatherBuffer
];

/// What a profile says of the buffer memory, checked.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// The write buffer.
    pub kind: Kind,
    /// Logical pages that it holds, at least one; 0 if there is none.
    pub pages: u32,
    /// How many of these are kept free in the background; 0 if none are.
    pub keep_free: u32,
    /// How many victims are given up at once; at least one.
    pub batch: u32,
    /// Whether it survives a power cut.
    pub protected: bool,
    /// Pages that are read ahead; 0 if none are.
    pub read_ahead: u32,
}

impl Setup {
    /// Whether there is any buffer memory.
    pub(crate) fn is_some(&self) -> bool {
        self.pages > 0 || self.read_ahead > 0
    }
}

/// What the buffer memory of a drive of this layout takes.
pub(crate) fn footprint(layout: &Layout) -> Size {
    (layout.cache.kind.footprint)(layout) + ReadAhead::footprint(layout)
}

/// The buffer memory of a drive.
pub struct Cache {
    buffer: AnyBuffer,
    read_ahead: ReadAhead,
    protected: bool,
    /// Bytes of a logical page.
    page_size: u32,
    read_hits: u64,
    write_hits: u64,
}

// A drive without buffer memory calls none of this for a page: what it does then is to stay out of
// the way of the plain path.
impl Cache {
    /// An empty one.
    pub(crate) fn new(layout: &Layout) -> Self {
        Cache {
            buffer: (layout.cache.kind.new)(layout),
            read_ahead: ReadAhead::new(layout),
            protected: layout.cache.protected,
            page_size: layout.logical_page_size(),
            read_hits: 0,
            write_hits: 0,
        }
    }

    /// Writes through the buffer: see [`Buffer::write`].
    #[cold]
    pub(crate) fn write<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        slice: Slice,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        self.buffer.begin(ftl, nand, at);
        for page in slice.pages(self.page_size) {
            self.read_ahead.forget(page.lpn);
            self.write_hits += u64::from(self.buffer.holds(page.lpn));
        }
        self.buffer.write(ftl, nand, slice, at)
    }

    /// Reads what was read ahead, what the buffer holds whole, and the rest from the flash.
    ///
    /// # Errors
    /// Those of [`Ftl::read`].
    #[cold]
    pub(crate) fn read<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        slice: Slice,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        self.buffer.begin(ftl, nand, at);
        let (mut ready, mut missing) = (at, None::<Slice>);
        for page in slice.pages(self.page_size) {
            let Some(here) = self.find(&page, at) else {
                // Neighbours that are missing are read at once.
                let run = missing.get_or_insert(Slice { len: 0, ..page });
                run.len += page.len;
                continue;
            };
            self.read_hits += 1;
            ready = ready.max(here);
            if let Some(run) = missing.take() {
                ready = ready.max(ftl.read(nand, run, at)?);
            }
        }
        match missing {
            Some(run) => Ok(ready.max(ftl.read(nand, run, at)?)),
            None => Ok(ready),
        }
    }

    /// When a slice of one logical page, asked for at `at`, is here, if it is or will be.
    fn find(&self, slice: &Slice, at: Nanos) -> Option<Nanos> {
        let fetched = self.read_ahead.find(slice.lpn).map(|fetched| fetched.max(at));
        fetched.or_else(|| self.buffer.covers(slice).then_some(at))
    }

    /// Reads ahead after the read `io`, which reached the controller at `at`, if it continues an
    /// earlier one.
    #[cold]
    pub(crate) fn read_ahead<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, io: &Io, at: Nanos) {
        let buffer = &self.buffer;
        self.read_ahead.follow(io, |slice| match buffer.holds(slice.lpn) {
            true => None,
            // Should the flash fail here, the host will learn when it asks for the page.
            false => ftl.read(nand, slice, at).ok(),
        });
    }

    /// Trims everywhere: see [`Buffer::trim`].
    pub(crate) fn trim<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        lpn: Lpn,
        at: Nanos,
    ) -> Result<(), Errno> {
        self.read_ahead.forget(lpn);
        self.buffer.begin(ftl, nand, at);
        self.buffer.trim(ftl, nand, lpn, at)
    }

    /// Makes everything durable: see [`Buffer::flush`] and [`Ftl::flush`].
    pub(crate) fn flush<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        self.buffer.begin(ftl, nand, at);
        let written = self.buffer.flush(ftl, nand, at)?;
        Ok(written.max(ftl.flush(nand, at)?))
    }

    /// Writes back in the background: see [`Buffer::background`].
    pub(crate) fn background<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        until: Nanos,
    ) -> Nanos {
        self.buffer.background(ftl, nand, until)
    }

    /// From now on, keeps what [`Cache::recover`] needs.
    pub(crate) fn expect_power_cuts(&mut self) {
        if self.protected {
            self.buffer.expect_power_cuts();
        }
    }

    /// Forgets what a power cut at or after `now` can no longer undo.
    pub(crate) fn settle(&mut self, now: Nanos) {
        self.buffer.settle(now);
    }

    /// The power was cut at `cut`, and the map was found again at `at`: writes out what a protected
    /// buffer holds and what it keeps. Returns when that is on the flash, and the buffer can be
    /// cleared.
    ///
    /// # Errors
    /// Those of [`Ftl::write`].
    pub(crate) fn write_out<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        cut: Nanos,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let mut done = at;
        if self.protected {
            for slice in self.buffer.dirty(cut) {
                done = done.max(ftl.write(nand, slice, at)?);
            }
        }
        Ok(done)
    }

    /// Forgets what is in the buffers, after a power cut.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
        self.read_ahead.clear();
    }

    /// Logical pages that were read, and written, while they were here.
    pub(crate) fn hits(&self) -> (u64, u64) {
        (self.read_hits, self.write_hits)
    }

    /// Whether the buffer survives a power cut.
    pub fn protected(&self) -> bool {
        self.protected
    }

    /// Whether the write buffer holds a page or a part of it.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.buffer.holds(lpn)
    }

    /// What is in the write buffer: what a power cut at `at`, which must not lie before the clock,
    /// loses. Where the buffer is protected and power cuts are expected, also what is on its way to
    /// the flash then: what is to be written out at power-on, in this order.
    pub fn dirty(&self, at: Nanos) -> Vec<Slice> {
        self.buffer.dirty(at)
    }
}
