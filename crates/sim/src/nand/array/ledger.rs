//! What the controller knows of the flash without asking it: which places are valid, what is written where, how worn
//! blocks are, and what a power cut leaves of it.

use std::ops::Range;

use flashscope_block::Nanos;

use super::Array;
use crate::nand::undo::UndoLog;
use crate::nand::{BlockId, Entry, Event, FlashCounters, Geometry, Note, Page, Place, Slot, Stamp};

impl Array {
    /// Notes that the data of a valid place is out of date, once a program is done that runs until
    /// `settles`; returns how many places of its block are still valid. Costs no time: it is
    /// bookkeeping of the controller.
    #[inline]
    pub fn supersede(&mut self, slot: Slot, settles: Nanos) -> u32 {
        self.blocks.supersede(slot, settles)
    }

    /// A hint that a place is superseded soon.
    #[inline]
    pub fn expect_supersede(&self, slot: Slot) {
        self.blocks.expect_supersede(slot);
    }

    /// The logical pages that places were last programmed with; any number where there was none.
    #[inline]
    pub fn metadata(&self, slots: Range<u32>) -> &[u32] {
        self.blocks.metadata(slots)
    }

    /// A hint that a block is cleaned soon, and that [`Array::metadata`] is asked for its places.
    pub fn expect_cleaning(&self, block: BlockId) {
        self.blocks.expect_cleaning(block);
    }

    /// Notes in the metadata of a block that it is used from now on, and for what.
    pub fn open(&mut self, block: BlockId, role: u8) {
        self.blocks.open(block, role);
    }

    /// Since when a block is in use, as a count of the blocks opened, and for what.
    pub fn opened(&self, block: BlockId) -> (u32, u8) {
        self.blocks.opened(block)
    }

    /// Takes a block out of use for good, from `at` on or once the programs that supersede its
    /// pages are done. Returns when.
    pub fn mark_bad(&mut self, block: BlockId, at: Nanos) -> Nanos {
        let at = at.max(self.blocks.settled(block));
        self.blocks.mark_bad(block);
        if let Some(undo) = &mut self.undo {
            undo.retire(block, at);
        }
        at
    }

    /// Whether a block is bad, from the factory or since.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.blocks.is_bad(block)
    }

    /// Writes data beside the page at `slot`, which was just programmed: an internal page.
    pub fn set_note(&mut self, slot: Slot, note: Note) {
        self.blocks.set_note(slot, note);
    }

    /// Forgets what an internal page holds that is superseded, unless a power cut may bring it back.
    pub fn drop_note(&mut self, slot: Slot) {
        if self.undo.is_none() {
            self.blocks.drop_note(slot);
        }
    }

    /// What an internal page holds.
    pub fn note(&self, slot: Slot) -> Option<&Note> {
        self.blocks.note(slot)
    }

    /// When the units that hold the blocks from `first` to `last` have carried out what they were
    /// given.
    #[inline]
    pub fn idle_from(&self, first: Place, last: Place) -> Nanos {
        self.schedule.idle_from(first, last)
    }

    /// How the flash is divided.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        self.blocks.geometry()
    }

    /// What the metadata of a place says, without reading it; none if it holds nothing readable.
    pub fn entry(&self, slot: Slot) -> Option<Entry> {
        self.blocks.entry(slot)
    }

    /// How many places of a block are valid: programmed and not superseded.
    #[inline]
    pub fn valid(&self, block: BlockId) -> u32 {
        self.blocks.valid(block)
    }

    /// Pages of a block that were programmed since its last erase.
    #[inline]
    pub fn written(&self, block: BlockId) -> u32 {
        self.blocks.written(block)
    }

    /// Whether a place is programmed and not superseded.
    pub fn is_valid(&self, slot: Slot) -> bool {
        self.blocks.is_valid(slot)
    }

    /// The first valid place of a block from its place `from` on.
    #[inline]
    pub fn next_valid(&self, block: BlockId, from: u32) -> Option<Slot> {
        self.blocks.next_valid(block, from)
    }

    /// Counts what the FTL does.
    #[inline]
    pub fn count(&mut self, event: Event) {
        self.counters.events.count(event, 1);
    }

    /// Every command carried out so far.
    pub fn counters(&self) -> FlashCounters {
        self.counters
    }

    /// Erases after which a block is to be taken out of use.
    pub const fn block_lifetime(&self) -> u32 {
        self.block_lifetime
    }

    /// How often a block was erased.
    #[inline]
    pub fn erases(&self, block: BlockId) -> u32 {
        self.blocks.erases(block)
    }

    /// How often each block was erased, in the order of [`BlockId`].
    pub fn erase_counts(&self) -> impl ExactSizeIterator<Item = u32> {
        self.blocks.erase_counts()
    }

    /// Numbers the stamps of all data anew, from 1, in their order; returns the old ones in that
    /// order.
    pub fn renumber_stamps(&mut self) -> Vec<Stamp> {
        let old = self.blocks.renumber_stamps();
        if let Some(undo) = &mut self.undo {
            undo.renumber_stamps(&old);
        }
        old
    }

    /// Whether the program of a page was cut short or has failed.
    pub fn is_torn(&self, page: Page) -> bool {
        self.blocks.is_torn(page)
    }

    /// From now on, remembers what a power cut would take back.
    pub fn expect_power_cuts(&mut self) {
        self.blocks.keep_stamps();
        self.undo = Some(UndoLog::default());
        self.plain = false;
    }

    /// Forgets what a power cut at or after `now` can no longer take back.
    #[inline]
    pub fn settle(&mut self, now: Nanos) {
        if let Some(undo) = &mut self.undo {
            undo.settle(now);
        }
    }

    /// Cuts the power at `now`: commands that have not begun never will, and those that are under
    /// way leave pages that cannot be read. Which places are valid is forgotten.
    pub fn cut_power(&mut self, now: Nanos) {
        if let Some(undo) = &mut self.undo {
            undo.cut(&mut self.blocks, now);
        }
        self.schedule.reset(now);
        self.blocks.forget_validity();
    }

    /// Notes that a programmed place holds the newest copy of its logical page.
    pub fn revalidate(&mut self, slot: Slot) {
        self.blocks.revalidate(slot);
    }
}
