//! The controller's bookkeeping, which needs no flash commands: valid slots, metadata, wear of
//! blocks, and the effects of a power cut.

use std::ops::Range;

use flashscope_block::Nanos;

use super::Array;
use crate::nand::due::awaited;
use crate::nand::undo::UndoLog;
use crate::nand::{BlockId, Entry, Event, FlashCounters, Geometry, Note, Page, Place, Slot, Stamp};

impl Array {
    /// Marks the data of a valid slot as superseded by a program that runs until `settles`. Returns
    /// the number of valid slots left in its block. Takes no time.
    #[inline]
    pub fn supersede(&mut self, slot: Slot, settles: Nanos) -> u32 {
        if self.queued.is_some() {
            let block = self.geometry().block(slot);
            self.settle_block(block, settles);
            return self.blocks.supersede(slot, Nanos(0));
        }
        self.blocks.supersede(slot, settles)
    }

    /// Records the end `until` of the programs that supersede slots of a block.
    #[inline]
    pub(super) fn settle_block(&mut self, block: BlockId, until: Nanos) {
        match (&mut self.queued, awaited(until)) {
            (Some(queued), Some(program)) => {
                let (schedule, place) = (&self.schedule, self.schedule.place(block));
                queued.use_block(block, |member| schedule.die(place, member), program);
            }
            _ => self.blocks.settle(block, until),
        }
    }

    /// Prefetches the state of a slot that will soon be superseded.
    #[inline]
    pub(crate) fn prefetch_supersede(&self, slot: Slot) {
        self.blocks.prefetch_supersede(slot);
        if let Some(queued) = &self.queued {
            queued.prefetch(self.geometry().block(slot));
        }
    }

    /// Returns the logical pages that the slots were last programmed with. The value for a slot
    /// that was never programmed with data is arbitrary.
    #[inline]
    pub fn metadata(&self, slots: Range<u32>) -> &[u32] {
        self.blocks.metadata(slots)
    }

    /// Prefetches the state of a block that garbage collection will soon reclaim, including its
    /// [`Array::metadata`].
    pub(crate) fn prefetch_cleaning(&self, block: BlockId) {
        self.blocks.prefetch_cleaning(block);
    }

    /// Records in the metadata of a block that the block is in use, its role, and whether it is
    /// used as SLC.
    pub fn open(&mut self, block: BlockId, role: u8, slc: bool) {
        debug_assert!(self.has_slc || !slc);
        self.blocks.open(block, role, slc);
    }

    /// Returns the opening number of the block that was opened last: see [`Array::opened`].
    pub(crate) fn last_opened(&self) -> u32 {
        self.blocks.last_opened()
    }

    /// Returns the opening number of a block, which counts the opened blocks from 1, and its role.
    pub fn opened(&self, block: BlockId) -> (u32, u8) {
        self.blocks.opened(block)
    }

    /// Retires a block at the first time from `at` on that [`Array::retired`] permits. Returns the
    /// time of retirement.
    pub(crate) fn mark_bad(&mut self, block: BlockId, at: Nanos) -> Nanos {
        let at = self.retired(block, at);
        self.blocks.mark_bad(block);
        if let Some(undo) = &mut self.undo {
            undo.retire(block, at);
        }
        at
    }

    /// Returns true if a block is bad, from the factory or because of a later failure.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.blocks.is_bad(block)
    }

    /// Stores the contents of the internal page at `slot`, which was just programmed.
    pub(crate) fn set_note(&mut self, slot: Slot, note: Note) {
        self.blocks.set_note(slot, note);
    }

    /// Drops the contents of a superseded internal page, unless a power cut may restore it.
    pub(crate) fn drop_note(&mut self, slot: Slot) {
        if self.undo.is_none() {
            self.blocks.drop_note(slot);
        }
    }

    /// Returns the contents of the internal page at `slot`.
    pub fn note(&self, slot: Slot) -> Option<&Note> {
        self.blocks.note(slot)
    }

    /// Returns when all units that hold the blocks from `first` to `last` become idle. With queues,
    /// returns the current time if they are idle, or else `due::FAR`.
    #[inline]
    pub fn idle_from(&self, first: Place, last: Place) -> Nanos {
        if let Some(queued) = self.queues() {
            return queued.idle_from(self.schedule.dies(first, last));
        }
        self.schedule.idle_from(first, last)
    }

    /// Returns the geometry of the flash.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        self.blocks.geometry()
    }

    /// Returns the metadata of a slot, or `None` if it holds no readable data. Takes no flash
    /// command.
    pub fn entry(&self, slot: Slot) -> Option<Entry> {
        self.blocks.entry(slot)
    }

    /// Returns the number of valid slots in a block: programmed and not superseded.
    #[inline]
    pub fn valid(&self, block: BlockId) -> u32 {
        self.blocks.valid(block)
    }

    /// Returns the number of pages programmed or skipped in a block since its last erase.
    #[inline]
    pub fn written(&self, block: BlockId) -> u32 {
        self.blocks.written(block)
    }

    /// Returns true if a slot is programmed and not superseded.
    pub fn is_valid(&self, slot: Slot) -> bool {
        self.blocks.is_valid(slot)
    }

    /// Returns the first valid slot of a block, from slot index `from` on.
    #[inline]
    pub fn next_valid(&self, block: BlockId, from: u32) -> Option<Slot> {
        self.blocks.next_valid(block, from)
    }

    /// Returns the valid slots of a block, in ascending order.
    pub(crate) fn valid_slots(&self, block: BlockId) -> impl Iterator<Item = Slot> + '_ {
        self.blocks.valid_slots(block)
    }

    /// Counts an event of the FTL.
    #[inline]
    pub fn count(&mut self, event: Event) {
        self.counters.events.count(event, 1);
    }

    /// Returns the counts of all commands so far.
    pub fn counters(&self) -> FlashCounters {
        self.counters
    }

    /// Returns the number of erases after which a block must be retired.
    pub const fn block_lifetime(&self) -> u32 {
        self.block_lifetime
    }

    /// Returns how often a block was erased.
    #[inline]
    pub fn erases(&self, block: BlockId) -> u32 {
        self.blocks.erases(block)
    }

    /// Returns how often each block was erased, in the order of [`BlockId`].
    pub fn erase_counts(&self) -> impl ExactSizeIterator<Item = u32> {
        self.blocks.erase_counts()
    }

    /// Renumbers all stamps from 1, keeping their order. Returns the old stamps in that order.
    pub(crate) fn renumber_stamps(&mut self) -> Vec<Stamp> {
        let old = self.blocks.renumber_stamps();
        if let Some(undo) = &mut self.undo {
            undo.renumber_stamps(&old);
        }
        old
    }

    /// Returns true if the program of a page was interrupted or failed.
    pub(crate) fn is_torn(&self, page: Page) -> bool {
        self.blocks.is_torn(page)
    }

    /// Starts storing the stamp of every programmed slot, even if no part of the drive uses stamps.
    pub(crate) fn keep_stamps(&mut self) {
        self.blocks.keep_stamps();
    }

    /// Starts recording what a power cut would undo.
    pub fn expect_power_cuts(&mut self) {
        self.blocks.keep_stamps();
        self.undo = Some(UndoLog::default());
        self.plain = false;
    }

    /// Forgets the commands that a power cut at or after `now` can no longer undo.
    #[inline]
    pub fn settle(&mut self, now: Nanos) {
        if let Some(undo) = &mut self.undo {
            let queued = self.queued.as_deref();
            undo.settle(|done| match (queued, awaited(done)) {
                (Some(queued), Some(_)) => queued.is_past(done),
                _ => done <= now,
            });
        }
    }

    /// Cuts the power at `now`. Commands that have not started are dropped, and commands in
    /// progress leave unreadable pages. Forgets which slots are valid.
    pub fn cut_power(&mut self, now: Nanos) {
        if let Some(undo) = &mut self.undo {
            let queued = self.queued.as_deref().filter(|_| !self.direct);
            undo.cut(&mut self.blocks, |start, done, parts| match queued {
                Some(queued) if parts.is_empty() => (queued.has_begun(done), queued.is_past(done)),
                Some(queued) => {
                    (parts.iter().any(|part| queued.has_begun(*part)), queued.is_past(done))
                }
                None => (start < now, done <= now),
            });
        }
        if let Some(queued) = &mut self.queued {
            queued.reset(now);
            self.direct = true;
        }
        self.schedule.reset(now);
        self.blocks.forget_validity();
    }

    /// Marks a programmed slot as the newest copy of its logical page.
    pub(crate) fn revalidate(&mut self, slot: Slot) {
        self.blocks.revalidate(slot);
    }
}
