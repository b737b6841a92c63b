use std::collections::VecDeque;
use std::ops::Range;

use flashscope_block::{Errno, Nanos, StreamId};

use super::Buffer;
use super::extent::Extent;
use super::free_slots::{FreeSlots, ProgramsInProgress};
use crate::footprint::{Size, fixed, grown};
use crate::ftl::{Ftl, Slice};
use crate::nand::{Array, Lpn, QueueEvent};
use crate::setup::Layout;

/// A policy that chooses the pages that a full buffer evicts. The buffer reports every change of
/// its content to the policy, but no reads: a page that is read is no more likely to be written
/// again.
pub trait Replacement {
    /// True if the buffer copies the missing pages of a victim from the flash, to give the FTL the
    /// complete victim. Pages without data are not copied.
    const PADS: bool;

    /// Returns the size of the memory that the policy needs on a drive of this layout.
    fn footprint(layout: &Layout) -> Size;

    /// Creates a policy for an empty buffer of `layout.cache.pages` slots.
    fn new(layout: &Layout) -> Self;

    /// Returns true if the buffer must evict a victim before it accepts this slice. Evictions
    /// continue until this method returns false or the buffer is empty.
    fn rejects_page(&self, _slice: &Slice) -> bool {
        false
    }

    /// Records that `lpn` entered `slot`; [`Replacement::written`] follows.
    fn inserted(&mut self, slot: u32, lpn: Lpn);

    /// Records that the page in `slot` was written by `slice`.
    fn written(&mut self, slot: u32, slice: &Slice);

    /// Records that `lpn` left `slot`.
    fn removed(&mut self, slot: u32, lpn: Lpn);

    /// Returns the logical pages to evict next, at least one of which is in the buffer. The range
    /// is empty if the buffer is empty.
    fn victim(&self) -> Range<u32>;
}

/// A page in the buffer.
struct Slot {
    lpn: Lpn,
    held: Extent,
    /// True if the buffered bytes are all zeros.
    zero: bool,
    /// True if the last write of this page was part of a long request.
    long: bool,
    stream: StreamId,
    /// The time at which the previous page left this slot.
    ready: Nanos,
}

impl Slot {
    fn slice(&self) -> Slice {
        let (start, len) = self.held.to_write();
        Slice { lpn: self.lpn, start, len, zero: self.zero, long: self.long, stream: self.stream }
    }
}

/// Pages that are programmed together: one page, or neighbours that share a flash page.
struct Run {
    slice: Slice,
    /// The time at which all of its data is in the controller.
    ready: Nanos,
}

/// Returns the earlier of two times. Returns `first` if it stands for a queued command, whose end
/// is not known yet.
fn earlier(nand: &Array, first: Option<Nanos>, then: Nanos) -> Option<Nanos> {
    Some(first.map_or(then, |first| if nand.is_awaited(first) { first } else { first.min(then) }))
}

/// The value in `slot_of` of a page that is not in the buffer.
const NOWHERE: u32 = 0;

/// A write buffer with one page per slot and the replacement policy `R`.
pub struct BufferCore<R> {
    slots: Vec<Slot>,
    capacity: u32,
    /// For each logical page, 1 + its slot number, or [`NOWHERE`]. The vector has 4 bytes for
    /// each logical page, which the operating system allocates only when the page is written.
    slot_of: Vec<u32>,
    free: FreeSlots,
    /// The evicted pages, and the times at which their programs are done, in the order of issue.
    /// `None` unless power cuts are expected.
    leaving: Option<VecDeque<(Nanos, Slice)>>,
    /// The size of a logical page in bytes.
    page_size: u32,
    /// The size in bytes from which a write is long.
    long: u64,
    /// The number of logical pages that share a flash page.
    together: u32,
    /// The time at which all issued programs are done, except programs that wait in queues.
    programmed: Nanos,
    under_way: ProgramsInProgress,
    /// The number of victims that are evicted at once.
    batch: u32,
    /// The arrival time of the last request.
    requested: Nanos,
    /// The number of slots to keep free in the background.
    keep_free: u32,
    protected: bool,
    /// The number of free slots at which a buffer that was full has drained; 0 disables draining.
    drain: u32,
    /// True from the time at which the buffer is full until it has drained.
    draining: bool,
    replacement: R,
}

impl<R: Replacement> BufferCore<R> {
    /// Returns the size of the buffer's memory.
    pub(super) fn footprint(layout: &Layout) -> Size {
        let (slots, batch) = (layout.cache.pages, u64::from(layout.cache.batch));
        fixed::<u32>(layout.logical_pages())
            + grown::<Slot>(slots)
            + FreeSlots::footprint(slots)
            + ProgramsInProgress::footprint(batch)
            + R::footprint(layout)
    }

    pub(super) fn new(layout: &Layout) -> Self {
        let capacity = layout.cache.pages;
        BufferCore {
            slots: Vec::new(),
            capacity,
            slot_of: vec![NOWHERE; layout.logical_pages() as usize],
            free: FreeSlots::default(),
            leaving: None,
            page_size: layout.logical_page_size(),
            long: layout.logs.long,
            together: layout.slots_per_page(),
            programmed: Nanos(0),
            under_way: ProgramsInProgress::new(layout.cache.batch),
            batch: layout.cache.batch,
            requested: Nanos(0),
            keep_free: layout.cache.keep_free,
            protected: layout.cache.protected,
            drain: layout.cache.drain,
            draining: false,
            replacement: R::new(layout),
        }
    }

    #[inline]
    fn find(&self, lpn: Lpn) -> Option<u32> {
        self.slot_of[lpn.0 as usize].checked_sub(1)
    }

    fn slot(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    fn pages(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns true if fewer slots are free than the background work keeps free.
    fn writes_back(&self) -> bool {
        self.keep_free > 0 && self.pages() > (self.capacity - self.keep_free) as usize
    }

    /// Puts a new page into a slot, after evicting a batch if no slot is free. Returns the slot.
    fn insert<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        slice: &Slice,
        at: Nanos,
    ) -> Result<u32, Errno> {
        let held = Extent::new(slice.start, slice.len);
        let page = |ready| Slot {
            lpn: slice.lpn,
            held,
            zero: slice.zero,
            long: slice.long,
            stream: slice.stream,
            ready,
        };
        let used = u32::try_from(self.slots.len()).expect("at most the capacity");
        let drained = self.drained(nand, at);
        let room = match self.free.is_empty() && used == self.capacity {
            true => self.evict_batch(ftl, nand, at)?,
            false => at,
        };
        // Prefers an unused slot to one that becomes free later.
        let slot = match self.free.take(nand, at, used == self.capacity) {
            Some((ready, slot)) => {
                nand.hurry(ready);
                let ready = nand.both(ready, drained);
                *self.slot(slot) = page(nand.both(ready, room));
                slot
            }
            None => {
                self.slots.push(page(Nanos(0)));
                used
            }
        };
        self.slot_of[slice.lpn.0 as usize] = slot + 1;
        self.replacement.inserted(slot, slice.lpn);
        Ok(slot)
    }

    /// Returns the time from which the buffer accepts a page that arrives at `at`. While the buffer
    /// drains, this is the time at which all evictions in progress are done.
    fn drained(&mut self, nand: &mut Array, at: Nanos) -> Nanos {
        if self.drain == 0 {
            return at;
        }
        let unused = self.capacity as usize - self.slots.len();
        let free = unused + self.free.count(nand, at);
        self.draining = free == 0 || self.draining && free < self.drain as usize;
        if self.draining { self.under_way.all_done(nand) } else { at }
    }

    /// Removes the page from `slot`, which is free from time `free` on.
    fn remove(&mut self, nand: &mut Array, slot: u32, free: Nanos) {
        let page = &self.slots[slot as usize];
        let lpn = page.lpn;
        let free = nand.both(free, page.ready);
        self.free.push(nand, free, slot);
        self.slot_of[lpn.0 as usize] = NOWHERE;
        self.replacement.removed(slot, lpn);
    }

    /// Accepts a page or a part of one. Returns the time at which it is acknowledged.
    fn write_page<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        slice: &Slice,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        while self.pages() > 0 && self.replacement.rejects_page(slice) {
            self.evict(ftl, nand, at)?;
        }
        let slot = match self.find(slice.lpn) {
            Some(slot) => {
                let whole = slice.len == self.page_size;
                let page = self.slot(slot);
                page.held.add(slice.start, slice.len);
                page.zero = slice.zero && (page.zero || whole);
                page.long = slice.long;
                page.stream = slice.stream;
                slot
            }
            None => self.insert(ftl, nand, slice, at)?,
        };
        self.replacement.written(slot, slice);
        Ok(nand.both(at, self.slot(slot).ready))
    }

    /// Evicts a batch of victims, or all victims if there are fewer. Returns the time at which one
    /// page of each victim is programmed. If the FTL refuses a victim other than the first, that
    /// victim stays in the buffer until the next eviction.
    fn evict_batch<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let mut room = self.evict(ftl, nand, at)?;
        for _ in 1..self.batch {
            match self.evict(ftl, nand, at) {
                Ok(done) => room = nand.both(room, done),
                Err(_) => break,
            }
        }
        Ok(room)
    }

    /// Evicts a victim, if there is one, in the order of its pages. Returns the earliest time at
    /// which one of its pages is programmed.
    fn evict<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno> {
        let (mut run, mut first) = (None::<Run>, None);
        let victim = self.replacement.victim();
        let long = victim.len() as u64 * u64::from(self.page_size) >= self.long;
        for lpn in victim.map(Lpn) {
            let Some(mut next) = self.fetch(ftl, nand, lpn, at)? else { continue };
            next.slice.long |= long;
            match &mut run {
                Some(run) if self.joins(run, &next) => {
                    run.slice.len += next.slice.len;
                    run.slice.zero &= next.slice.zero;
                    run.ready = nand.both(run.ready, next.ready);
                }
                _ => {
                    if let Some(before) = run.replace(next) {
                        let done = self.write_out(ftl, nand, &before, at)?;
                        first = earlier(nand, first, done);
                    }
                }
            }
        }
        match run {
            Some(last) => {
                let done = self.write_out(ftl, nand, &last, at)?;
                Ok(earlier(nand, first, done).unwrap_or(done))
            }
            None => Ok(at),
        }
    }

    /// Returns the part of a victim's page to program, from the buffer or from the flash. Returns
    /// `None` if there is nothing to program.
    fn fetch<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        lpn: Lpn,
        at: Nanos,
    ) -> Result<Option<Run>, Errno> {
        if let Some(slot) = self.find(lpn) {
            return Ok(Some(Run { slice: self.slot(slot).slice(), ready: at }));
        }
        if !R::PADS || ftl.slot(lpn).is_none() {
            return Ok(None);
        }
        let slice =
            Slice { lpn, start: 0, len: self.page_size, zero: false, long: false, stream: 0 };
        Ok(Some(Run { slice, ready: ftl.read(nand, slice, at)? }))
    }

    /// Returns true if `next` begins where `run` ends, on the same flash page.
    fn joins(&self, run: &Run, next: &Run) -> bool {
        let (first, then) = (run.slice, next.slice);
        let from = |slice: &Slice| slice.lpn.0 % self.together * self.page_size + slice.start;
        first.lpn.0 / self.together == then.lpn.0 / self.together
            && from(&first) + first.len == from(&then)
    }

    /// Writes pages to the FTL and removes them from the buffer. Returns the time at which they
    /// are programmed.
    fn write_out<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        run: &Run,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let ready = nand.both(run.ready, at);
        let done = ftl.write(nand, run.slice, ready)?;
        if !nand.is_awaited(done) {
            // Excludes queued programs, because a flush waits for all queued programs anyway.
            self.programmed = self.programmed.max(done);
        } else if self.keep_free > 0 {
            nand.notify_done(done, QueueEvent::WRITE_BACK);
        }
        self.under_way.push(nand, done);
        for page in run.slice.pages(self.page_size) {
            let Some(slot) = self.find(page.lpn) else { continue };
            if let Some(leaving) = &mut self.leaving {
                leaving.push_back((done, page));
            }
            self.remove(nand, slot, done);
        }
        Ok(done)
    }
}

impl<R: Replacement> Buffer for BufferCore<R> {
    fn begin<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, at: Nanos) {
        self.background(ftl, nand, at);
        self.requested = self.requested.max(at);
    }

    fn write<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        slice: Slice,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let mut done = at;
        for page in slice.pages(self.page_size) {
            let written = self.write_page(ftl, nand, &page, at)?;
            done = nand.both(done, written);
        }
        if self.writes_back() {
            nand.wake_at(self.requested);
        }
        Ok(done)
    }

    fn trim<F: Ftl>(
        &mut self,
        ftl: &mut F,
        nand: &mut Array,
        lpn: Lpn,
        at: Nanos,
    ) -> Result<(), Errno> {
        ftl.trim(nand, lpn, at)?;
        if let Some(slot) = self.find(lpn) {
            self.remove(nand, slot, at);
        }
        if let Some(leaving) = &mut self.leaving {
            leaving.retain(|(_, slice)| slice.lpn != lpn);
        }
        Ok(())
    }

    fn flush<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno> {
        if self.protected {
            return Ok(at);
        }
        while self.pages() > 0 {
            self.evict(ftl, nand, at)?;
        }
        Ok(at.max(self.programmed))
    }

    fn background<F: Ftl>(&mut self, ftl: &mut F, nand: &mut Array, until: Nanos) -> Nanos {
        let mut quiet = Nanos::MAX;
        while self.writes_back() {
            let idle = self.under_way.next_start(nand).max(self.requested);
            if idle >= until {
                return quiet.min(idle);
            }
            nand.set_background(nand.takes_turns());
            let evicted = self.evict(ftl, nand, idle);
            nand.set_background(false);
            if evicted.is_err() {
                break;
            }
            quiet = until;
        }
        quiet
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.find(lpn).is_some()
    }

    fn covers(&self, slice: &Slice) -> bool {
        let slot = self.find(slice.lpn);
        slot.is_some_and(|slot| self.slots[slot as usize].held.covers(slice.start, slice.len))
    }

    fn expect_power_cuts(&mut self) {
        self.leaving = Some(VecDeque::new());
    }

    fn settle(&mut self, nand: &Array, now: Nanos) {
        if let Some(leaving) = &mut self.leaving {
            leaving.retain(|(done, _)| !nand.is_past(*done, now));
        }
    }

    fn dirty(&self, at: Nanos) -> Vec<Slice> {
        let leaving = self.leaving.iter().flatten();
        let leaving = leaving.filter(|(done, _)| *done > at).map(|(_, slice)| *slice);
        let slots = (0u32..).zip(&self.slots);
        let staying = slots.filter(|(slot, page)| self.find(page.lpn) == Some(*slot));
        leaving.chain(staying.map(|(_, page)| page.slice())).collect()
    }

    fn clear(&mut self) {
        for slot in 0..u32::try_from(self.slots.len()).expect("at most the capacity") {
            let lpn = self.slot(slot).lpn;
            if self.find(lpn) == Some(slot) {
                self.slot_of[lpn.0 as usize] = NOWHERE;
                self.replacement.removed(slot, lpn);
            }
        }
        self.slots.clear();
        self.free.clear();
        self.under_way.clear();
        self.draining = false;
        self.leaving.iter_mut().for_each(VecDeque::clear);
        (self.programmed, self.requested) = (Nanos(0), Nanos(0));
    }
}

#[cfg(test)]
mod tests;
