//! Deferral of map updates for a few writes.
//!
//! The former map entry of a page is somewhere in a large map outside the processor's cache. Only
//! garbage collection needs it, not the write itself. The last few writes are therefore queued
//! while their map entries are prefetched, and are applied in order before anything reads their
//! effects. Deferral only makes the simulator faster, by about 40 % on a drive of 16 GiB.

use flashscope_block::Nanos;

use super::{MapStorage, PageMap};
use crate::ftl::Ftl;
use crate::memory::prefetch;
use crate::nand::{Array, Lpn, Slot};

/// Maximum number of deferred writes. A cache miss takes about as long as the simulation of this
/// many writes.
const MAX_DEFERRED: usize = 8;
/// Number of writes after which a prefetched map entry has arrived, so that the state of its slot
/// can be prefetched next.
const AHEAD: usize = MAX_DEFERRED / 2;

#[derive(Debug, Clone, Copy)]
struct Write {
    lpn: Lpn,
    slot: Slot,
    done: Nanos,
}

/// The deferred writes, in a ring buffer whose oldest write is at `first`.
pub(super) struct DeferredWrites {
    ring: [Write; MAX_DEFERRED],
    first: usize,
    count: usize,
    /// Number of writes, counted from the oldest, for which the state of the superseded slot has
    /// been prefetched.
    fetched: usize,
}

impl DeferredWrites {
    pub(super) fn new() -> Self {
        let none = Write { lpn: Lpn(0), slot: Slot(0), done: Nanos(0) };
        DeferredWrites { ring: [none; MAX_DEFERRED], first: 0, count: 0, fetched: 0 }
    }

    fn nth(&self, nth: usize) -> Write {
        self.ring[(self.first + nth) % MAX_DEFERRED]
    }

    fn push(&mut self, write: Write) {
        self.ring[(self.first + self.count) % MAX_DEFERRED] = write;
        self.count += 1;
    }

    fn pop(&mut self) -> Option<Write> {
        let oldest = (self.count > 0).then(|| self.nth(0))?;
        self.first = (self.first + 1) % MAX_DEFERRED;
        self.count -= 1;
        self.fetched = self.fetched.saturating_sub(1);
        Some(oldest)
    }

    /// Returns the slot of the newest deferred write of a logical page, or `None` if no write of
    /// the page is deferred.
    #[inline]
    pub(super) fn slot_of(&self, lpn: Lpn) -> Option<Slot> {
        let newest_first = (0..self.count).rev().map(|nth| self.nth(nth));
        newest_first.into_iter().find(|write| write.lpn == lpn).map(|write| write.slot)
    }
}

impl<M: MapStorage> PageMap<M> {
    /// Defers mapping `lpn` to `slot`, whose program runs until `done`, and superseding its former
    /// slot.
    #[inline]
    pub(super) fn map_later(&mut self, nand: &mut Array, lpn: Lpn, slot: Slot, done: Nanos) {
        if self.deferred.count == MAX_DEFERRED
            && let Some(oldest) = self.deferred.pop()
        {
            self.apply(nand, oldest);
        }
        self.deferred.push(Write { lpn, slot, done });
        prefetch(&self.map, lpn.0 as usize);
        if self.deferred.count > self.deferred.fetched + AHEAD {
            self.prefetch_supersede(nand);
        }
    }

    /// Prefetches the state of the slot that the next deferred write supersedes according to the
    /// map.
    #[inline]
    fn prefetch_supersede(&mut self, nand: &Array) {
        let write = self.deferred.nth(self.deferred.fetched);
        self.deferred.fetched += 1;
        self.prefetch_data(nand, write.lpn);
    }

    #[inline]
    fn apply(&mut self, nand: &mut Array, write: Write) {
        let pool = self.pool_of(write.lpn);
        self.put(nand, pool, write.lpn, write.slot, write.done);
    }

    /// Applies every deferred write.
    #[inline]
    pub(super) fn apply_deferred(&mut self, nand: &mut Array) {
        // Prefetching for all writes first lets these memory accesses overlap.
        while self.deferred.fetched < self.deferred.count {
            self.prefetch_supersede(nand);
        }
        while let Some(write) = self.deferred.pop() {
            self.apply(nand, write);
        }
    }
}
