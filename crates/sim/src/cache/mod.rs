//! The drive's buffer memory, between the host interface and the FTL: a write buffer, and a
//! separate memory for pages that are read ahead.
//!
//! *Acknowledgement.* A page is acknowledged when its data has arrived, if a slot of the buffer is
//! free. A page that replaces an older version of itself needs no slot. If no slot is free, the
//! buffer writes out the victims that its replacement policy chooses. The new page is then
//! acknowledged when the program of the victim in its slot is done. Until then the page waits in
//! the controller, where it can be read, merged and programmed like any buffered page.
//!
//! *Batches.* A full buffer evicts `cache.batch` victims together. The page that needs a slot waits
//! until one page of each victim is programmed. The programs and merges of different victims
//! overlap if they use different parts of the flash.
//!
//! *Background evictions.* The buffer evicts victims in the background while fewer slots are free
//! than `cache.write_back` requests. It starts evictions only between requests, and only while
//! fewer than `cache.batch` of its programs are unfinished. A request waits at most for these
//! programs, and takes the slot that becomes free first.
//!
//! *Draining.* With `cache.drain`, a buffer that was full drains. Until that share of its slots is
//! free, each page that needs a slot waits for all evictions in progress. Slow writes are then
//! followed by as many fast ones as fit in the freed slots.
//!
//! *Durability.* A flush writes out every page and is done when all programs are done, including
//! the programs of earlier evictions. A buffer that is protected against power cuts answers a flush
//! immediately. Trimming a page drops it from the buffer. A read of a page whose program was issued
//! waits for that program.
//!
//! *A power cut* empties the buffer, unless it is protected. A protected buffer keeps each page
//! until its program is done. At power-on, after the map is recovered, the drive writes these pages
//! to the flash: the pages in the buffer, and the evicted pages whose programs were unfinished.
//!
//! *Shared flash pages.* If several logical pages fit on a flash page, evicted pages that share a
//! flash page are programmed together.
//!
//! *Errors.* If the FTL refuses an evicted page, the write or flush that caused the eviction fails
//! with the FTL's error. The refused page stays in the buffer, is readable and is evicted again
//! later. The write that needed its slot is not accepted. A refusal in the background ends the
//! background work; the next write or flush that evicts the page gets the error.
//!
//! Each buffer is one file and a line in the registry below.

mod bplru;
mod buffer;
mod extent;
mod fifo;
mod free_slots;
mod gather;
mod lru;
mod none;
mod read_ahead;

use flashscope_block::{Errno, Io, Nanos};

use crate::footprint::Size;
use crate::ftl::{Ftl, Slice};
use crate::nand::{Array, Lpn};
use crate::setup::Layout;
use read_ahead::ReadAhead;

/// A write buffer in front of an [`Ftl`]. Its methods return times like those of [`Ftl`].
pub trait Buffer {
    /// Does the background work that begins before `at`, the arrival time of a request.
    fn begin<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, at: Nanos);

    /// Accepts the written parts of logical pages. Returns the time at which they are
    /// acknowledged.
    ///
    /// # Errors
    /// Returns an error of [`Ftl::write`] if an eviction fails. The page that needed the eviction,
    /// and the pages after it in the request, are not accepted.
    fn write<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        slice: Slice,
        at: Nanos,
    ) -> Result<Nanos, Errno>;

    /// Drops a page from the buffer and trims it on the flash.
    ///
    /// # Errors
    /// Returns an error of [`Ftl::trim`]; the buffer then keeps the page.
    fn trim<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        lpn: Lpn,
        at: Nanos,
    ) -> Result<(), Errno>;

    /// Makes every acknowledged write durable from the returned time on.
    ///
    /// # Errors
    /// Returns an error of [`Ftl::write`]; the buffer keeps every page that is not written out.
    fn flush<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno>;

    /// Works in the background and starts nothing at or after `until`. Returns the time before
    /// which it starts nothing more: see [`Ftl::background`].
    fn background<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, until: Nanos) -> Nanos;

    /// Returns true if the buffer holds a page or a part of it.
    fn holds(&self, lpn: Lpn) -> bool;

    /// Returns true if the buffer certainly holds every byte of a slice of a logical page.
    fn covers(&self, slice: &Slice) -> bool;

    /// Makes the buffer keep each evicted page until its program is done.
    fn expect_power_cuts(&mut self);

    /// Discards the evicted pages whose programs are done at `now`.
    fn settle(&mut self, nand: &Array, now: Nanos);

    /// Returns the evicted pages whose programs are not done at `at`, followed by the content of
    /// the buffer. If a page appears twice, the later entry is the newer version.
    fn dirty(&self, at: Nanos) -> Vec<Slice>;

    /// Drops all pages.
    fn clear(&mut self);
}

/// A registered write buffer.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name in a profile.
    pub name: &'static str,
    /// The rule by which a full buffer chooses its victims, in a sentence.
    pub summary: &'static str,
    /// The source that describes the buffer.
    pub source: &'static str,
    /// Creates an empty buffer for a drive of this layout.
    pub new: fn(&Layout) -> AnyBuffer,
    /// Returns the size of the buffer's memory.
    pub(crate) footprint: fn(&Layout) -> Size,
}

/// Makes [`AnyBuffer`] and [`KINDS`] from one list. The calls made for each page are then a `match`
/// instead of a virtual call.
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
            fn settle(&mut self, nand: &Array, now: Nanos) {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.settle(nand, now),)+ }
            }
            fn dirty(&self, at: Nanos) -> Vec<Slice> {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.dirty(at),)+ }
            }
            fn clear(&mut self) {
                match self { $(AnyBuffer::$buffer(buffer) => buffer.clear(),)+ }
            }
        }

        /// Every write buffer, in display order.
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

/// Returns the size of the memory that the buffers of a drive of this layout need.
pub(crate) fn footprint(layout: &Layout, buffer: Kind) -> Size {
    (buffer.footprint)(layout) + ReadAhead::footprint(layout)
}

/// The buffer memory of a drive.
pub struct Cache {
    buffer: AnyBuffer,
    read_ahead: ReadAhead,
    protected: bool,
    /// The size of a logical page in bytes.
    page_size: u32,
    read_hits: u64,
    write_hits: u64,
}

// A drive without buffer memory reads and writes without these methods. The methods for reads and
// writes are `#[cold]`, which keeps that path fast.
impl Cache {
    /// Creates empty buffers.
    pub(crate) fn new(layout: &Layout, buffer: Kind) -> Self {
        Cache {
            buffer: (buffer.new)(layout),
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

    /// Reads each page of a slice. Uses the read-ahead memory, or the write buffer if it holds
    /// every requested byte of the page, or else the flash.
    ///
    /// # Errors
    /// Returns an error of [`Ftl::read`].
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
                // Adjacent pages that are not buffered are read together.
                let run = missing.get_or_insert(Slice { len: 0, ..page });
                run.len += page.len;
                continue;
            };
            self.read_hits += 1;
            ready = nand.both(ready, here);
            if let Some(run) = missing.take() {
                let read = ftl.read(nand, run, at)?;
                ready = nand.both(ready, read);
            }
        }
        match missing {
            Some(run) => {
                let read = ftl.read(nand, run, at)?;
                Ok(nand.both(ready, read))
            }
            None => Ok(ready),
        }
    }

    /// Returns the time at which a slice requested at `at` is available, or `None` if no buffer
    /// holds it.
    fn find(&self, slice: &Slice, at: Nanos) -> Option<Nanos> {
        self.read_ahead.find(slice.lpn).or_else(|| self.buffer.covers(slice).then_some(at))
    }

    /// Reads ahead after the read `io`, which reached the controller at `at`, if it continues an
    /// earlier one.
    #[cold]
    pub(crate) fn read_ahead<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, io: &Io, at: Nanos) {
        let buffer = &self.buffer;
        self.read_ahead.follow(io, |slice| match buffer.holds(slice.lpn) {
            true => None,
            // If the flash fails here, the host gets the error when it requests the page.
            false => ftl.read(nand, slice, at).ok(),
        });
    }

    /// Trims a page in the buffers and on the flash: see [`Buffer::trim`].
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

    /// Makes all acknowledged writes and trims durable: see [`Buffer::flush`] and [`Ftl::flush`].
    pub(crate) fn flush<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        self.buffer.begin(ftl, nand, at);
        let written = self.buffer.flush(ftl, nand, at)?;
        let durable = ftl.flush(nand, at)?;
        Ok(nand.both(written, durable))
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

    /// Makes the buffers keep the pages that [`Cache::write_out`] needs.
    pub(crate) fn expect_power_cuts(&mut self) {
        if self.protected {
            self.buffer.expect_power_cuts();
        }
    }

    /// Discards the evicted pages that a power cut at or after `now` can no longer undo.
    pub(crate) fn settle(&mut self, nand: &Array, now: Nanos) {
        self.buffer.settle(nand, now);
    }

    /// Writes out the pages of [`Buffer::dirty`] of a protected buffer, after a power cut at `cut`
    /// and the recovery of the map at `at`. Returns the time at which all pages are on flash. The
    /// caller may then clear the buffer.
    ///
    /// # Errors
    /// Returns an error of [`Ftl::write`].
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
                let written = ftl.write(nand, slice, at)?;
                done = nand.both(done, written);
            }
        }
        Ok(done)
    }

    /// Empties the buffers, after a power cut.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
        self.read_ahead.clear();
    }

    /// Returns how many logical pages were read from the buffers, and how many were overwritten in
    /// them.
    pub(crate) fn hits(&self) -> (u64, u64) {
        (self.read_hits, self.write_hits)
    }

    /// Returns true if the buffer survives a power cut.
    pub fn protected(&self) -> bool {
        self.protected
    }

    /// Returns true if the write buffer holds a page or a part of it.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.buffer.holds(lpn)
    }

    /// Returns the content of the write buffer, which a power cut at `at` loses unless the buffer
    /// is protected. `at` must not be earlier than the clock of the drive. For a protected buffer
    /// that expects power cuts, the list also has the pages whose programs are not done; power-on
    /// writes out the list in this order.
    pub fn dirty(&self, at: Nanos) -> Vec<Slice> {
        self.buffer.dirty(at)
    }
}
