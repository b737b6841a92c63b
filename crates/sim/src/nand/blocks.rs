mod gathering;
mod power_cuts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flashscope_block::Nanos;

use crate::footprint::{Size, fixed, tree};
use crate::memory::{prefetch, use_huge_pages};

use super::{BlockId, Geometry, Lpn, Page, Slot};
pub(super) use power_cuts::Image;

/// An illegal command, which the flash refuses. It is always a bug of the FTL that submitted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalCommand {
    /// The page was not programmed since its block was erased.
    #[error("read of {0:?}, which holds nothing")]
    ReadOfErasedPage(Page),
    /// The page is not the next one of its block. Either it is already programmed and needs an
    /// erase first, or it would leave a gap.
    #[error("program of {page:?} while page {next} of the block is next")]
    ProgramOutOfOrder {
        /// The page of the refused program.
        page: Page,
        /// The only page of that block that may be programmed.
        next: u32,
    },
    /// The block still holds valid pages.
    #[error("erase of {block:?}, which holds {valid} valid pages")]
    EraseOfValidPages {
        /// The block of the refused erase.
        block: BlockId,
        /// Its number of valid logical pages.
        valid: u32,
    },
    /// A copy-back names two blocks on different planes.
    #[error("copy-back from {from:?} to {to:?}, which is on another plane")]
    CopyBackAcrossPlanes {
        /// The source block.
        from: BlockId,
        /// The destination block.
        to: BlockId,
    },
    /// The block is marked bad.
    #[error("command on {0:?}, which is marked bad")]
    BadBlock(BlockId),
}

/// The stamp of the host's data: its position in the sequence of logical pages written, counted
/// from 1. A stamp moves with its data. The newer of two copies of a logical page therefore has the
/// larger stamp.
pub type Stamp = u32;

/// The metadata of a programmed logical page (Agrawal et al., section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The logical page number.
    pub lpn: Lpn,
    /// The stamp of its data.
    pub stamp: Stamp,
    /// True if the data is all zeros; false if the drive does not distinguish zeros.
    pub zero: bool,
}

/// The contents of an internal page of the FTL, for example a page of the mapping table.
pub type Note = Arc<[u64]>;

/// The logical page number of a slot that was programmed without data.
const PADDING: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, Default)]
struct Block {
    /// Pages programmed or skipped since the last erase; also the index of the next page.
    written: u32,
    /// Number of valid logical pages: programmed and not superseded.
    valid: u32,
    /// Time until which programs run that supersede pages of this block. An earlier erase would
    /// destroy the only copy of a page if such a program were interrupted.
    settles: Nanos,
}

/// The state of a block that does not change with each programmed page.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    erases: u32,
    /// The number of blocks opened up to and including this one; part of the metadata of its first
    /// page.
    opened: u32,
    /// The role that the FTL gave the block; also part of that metadata.
    role: u8,
    /// True if the block is used as SLC.
    slc: bool,
    bad: bool,
}

/// The state of every block and the metadata of every page, with the rules for legal commands.
pub(super) struct Blocks {
    geometry: Geometry,
    blocks: Vec<Block>,
    lives: Vec<Life>,
    /// True if erases must wait for programs; false if the order of commands already ensures it.
    settling: bool,
    /// One bit for each slot: programmed and not superseded.
    live: Vec<u64>,
    /// The logical page in each slot.
    logical: Vec<u32>,
    /// The stamp of the data in each slot; empty if recovery does not need stamps.
    stamps: Vec<Stamp>,
    /// One bit for each slot: the data is all zeros. Empty if the drive does not distinguish zeros.
    zeros: Vec<u64>,
    /// The contents of internal pages, by slot number.
    notes: BTreeMap<u32, Note>,
    /// Unreadable pages, whose program was interrupted or failed, as block and page index.
    torn: BTreeSet<(u32, u32)>,
    opened: u32,
}

impl Blocks {
    pub(super) fn new(geometry: Geometry, stamped: bool, settling: bool, zeros: bool) -> Self {
        let (blocks, slots) = (geometry.blocks() as usize, geometry.slot_numbers());
        let (live, logical) = (vec![0; slots / 64], vec![0; slots]);
        use_huge_pages(&live);
        use_huge_pages(&logical);
        Blocks {
            blocks: vec![Block::default(); blocks],
            lives: vec![Life::default(); blocks],
            settling,
            live,
            logical,
            stamps: vec![0; if stamped { slots } else { 0 }],
            zeros: vec![0; if zeros { slots / 64 } else { 0 }],
            notes: BTreeMap::new(),
            torn: BTreeSet::new(),
            opened: 0,
            geometry,
        }
    }

    /// Returns the size of the memory that [`Blocks::new`] allocates, with up to `torn` unreadable
    /// pages.
    pub(super) fn footprint(geometry: &Geometry, stamped: bool, zeros: bool, torn: u64) -> Size {
        let (blocks, slots) = (geometry.blocks(), geometry.slot_numbers() as u64);
        let bits = fixed::<u64>(slots / 64);
        // Renumbering needs a second copy of all stamps.
        let stamps = fixed::<Stamp>(if stamped { slots } else { 0 }) * 2;
        fixed::<Block>(blocks)
            + fixed::<Life>(blocks)
            + fixed::<u32>(slots)
            + bits * if zeros { 2 } else { 1 }
            + stamps
            + tree::<(u32, u32)>(torn)
    }

    #[inline]
    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn life(&self, block: BlockId) -> &Life {
        &self.lives[block.0 as usize]
    }

    /// Returns an error if the page is not programmed.
    #[inline]
    pub(super) fn check_read(&self, page: Page) -> Result<(), IllegalCommand> {
        if page.index >= self.written(page.block) {
            return Err(IllegalCommand::ReadOfErasedPage(page));
        }
        Ok(())
    }

    /// Marks `pages` pages, from `page` on, as programmed.
    #[inline]
    pub(super) fn advance(&mut self, page: Page, pages: u32) -> Result<(), IllegalCommand> {
        let pages_per_block = self.geometry.pages_per_block;
        let block = &mut self.blocks[page.block.0 as usize];
        if page.index != block.written || page.index + pages > pages_per_block {
            return Err(IllegalCommand::ProgramOutOfOrder { page, next: block.written });
        }
        if page.index == 0 && self.lives[page.block.0 as usize].bad {
            return Err(IllegalCommand::BadBlock(page.block));
        }
        block.written += pages;
        Ok(())
    }

    /// Stores the metadata of a slot that was just programmed.
    #[inline]
    pub(super) fn fill(&mut self, slot: Slot, entry: Entry) {
        let place = slot.0 as usize;
        self.live[place / 64] |= 1 << (place % 64);
        self.logical[place] = entry.lpn.0;
        if let Some(stamp) = self.stamps.get_mut(place) {
            *stamp = entry.stamp;
        }
        if !self.zeros.is_empty() {
            self.set_zero(place, entry.zero);
        }
        self.blocks[self.geometry.block(slot).0 as usize].valid += 1;
    }

    /// Marks a slot that was just programmed as holding no data.
    pub(super) fn pad(&mut self, slot: Slot) {
        self.logical[slot.0 as usize] = PADDING;
    }

    /// Marks the slots of pages that were just programmed, if they have any, as holding no data.
    pub(super) fn pad_pages(&mut self, page: Page, pages: u32) {
        let geometry = self.geometry;
        let place = |index: u32| index * geometry.slots_per_page / geometry.pages_per_slot;
        let end = place(page.index + pages).min(geometry.slots_per_block);
        (place(page.index)..end).for_each(|index| self.pad(geometry.slot(page.block, index)));
    }

    pub(super) fn set_note(&mut self, slot: Slot, note: Note) {
        self.notes.insert(slot.0, note);
    }

    pub(super) fn drop_note(&mut self, slot: Slot) {
        self.notes.remove(&slot.0);
    }

    pub(super) fn note(&self, slot: Slot) -> Option<&Note> {
        self.notes.get(&slot.0)
    }

    /// Moves the first `count` valid slots of `from` to slot `to` and the slots after it, one page
    /// each.
    ///
    /// Calls `moved` repeatedly, each time with a list of logical pages and the new slot of the
    /// first page. The other pages of the list are in the slots after it.
    #[inline]
    pub(super) fn relocate(
        &mut self,
        from: BlockId,
        to: Slot,
        count: u32,
        mut moved: impl FnMut(&[u32], Slot),
    ) {
        let words = self.geometry.words_per_block();
        let first_word = from.0 as usize * words;
        let mut target = to.0 as usize;
        let end = target + count as usize;
        for word in first_word..first_word + words {
            if target == end {
                break;
            }
            let mut bits = self.live[word];
            let mut places = [0; 64];
            let mut found = 0;
            while bits != 0 && target + found < end {
                places[found] = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                found += 1;
            }
            self.live[word] = bits;
            self.copy(&places[..found], target);
            #[allow(clippy::cast_possible_truncation)] // place numbers fit in a u32
            moved(&self.logical[target..target + found], Slot(target as u32));
            target += found;
        }
        debug_assert_eq!(target, end, "{from:?} has fewer than {count} valid slots");
        self.set_live(to.0 as usize, end);
        self.blocks[from.0 as usize].valid -= count;
        self.blocks[self.geometry.block(to).0 as usize].valid += count;
    }

    /// Copies the metadata of the slots `places` to the slots from `target` on.
    #[inline]
    fn copy(&mut self, places: &[usize], target: usize) {
        for (nth, source) in places.iter().enumerate() {
            self.logical[target + nth] = self.logical[*source];
        }
        if !self.stamps.is_empty() {
            for (nth, source) in places.iter().enumerate() {
                self.stamps[target + nth] = self.stamps[*source];
            }
        }
        if !self.zeros.is_empty() {
            for (nth, source) in places.iter().enumerate() {
                self.set_zero(target + nth, self.is_zero(*source));
            }
        }
        if !self.notes.is_empty() {
            for (nth, source) in places.iter().enumerate() {
                self.copy_note(*source, target + nth);
            }
        }
    }

    fn set_zero(&mut self, place: usize, zero: bool) {
        let (word, bit) = (&mut self.zeros[place / 64], 1 << (place % 64));
        *word = if zero { *word | bit } else { *word & !bit };
    }

    /// Returns true if the drive distinguishes zeros and the slot contains only zeros.
    #[inline]
    pub(super) fn is_zero(&self, place: usize) -> bool {
        self.zeros.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// Marks the slots from `start` to before `end` as valid.
    #[inline]
    fn set_live(&mut self, start: usize, end: usize) {
        let mut place = start;
        while place < end {
            let in_word = (64 - place % 64).min(end - place);
            let mask = if in_word == 64 { u64::MAX } else { (1 << in_word) - 1 };
            self.live[place / 64] |= mask << (place % 64);
            place += in_word;
        }
    }

    #[allow(clippy::cast_possible_truncation)] // place numbers fit in a u32
    fn copy_note(&mut self, source: usize, target: usize) {
        if let Some(note) = self.notes.get(&(source as u32)).cloned() {
            self.notes.insert(target as u32, note);
        }
    }

    pub(super) fn check_erase(&self, block: BlockId) -> Result<(), IllegalCommand> {
        if self.life(block).bad {
            return Err(IllegalCommand::BadBlock(block));
        }
        match self.valid(block) {
            0 => Ok(()),
            valid => Err(IllegalCommand::EraseOfValidPages { block, valid }),
        }
    }

    #[inline]
    pub(super) fn erase(&mut self, block: BlockId) {
        self.blocks[block.0 as usize].written = 0;
        self.lives[block.0 as usize].erases += 1;
        if !self.notes.is_empty() {
            self.drop_notes(block, 0);
        }
        if !self.torn.is_empty() {
            self.torn.retain(|(torn, _)| *torn != block.0);
        }
    }

    fn places(&self, block: BlockId) -> std::ops::Range<usize> {
        let start = self.geometry.slot(block, 0).0 as usize;
        start..start + self.geometry.words_per_block() * 64
    }

    /// Returns the range of 64-slot words that cover the slots of a block.
    fn words(&self, block: BlockId) -> std::ops::Range<usize> {
        let std::ops::Range { start, end } = self.places(block);
        start / 64..end / 64
    }

    /// Drops the contents of a block's internal pages, from slot index `from` on.
    fn drop_notes(&mut self, block: BlockId, from: u32) {
        // `from` may be past the last slot, because summary pages have no slots.
        let std::ops::Range { start, end } = self.places(block);
        let dropped = start + from as usize..end;
        self.notes.retain(|place, _| !dropped.contains(&(*place as usize)));
    }

    fn notes_of(&self, block: BlockId) -> impl Iterator<Item = (u32, Note)> {
        let places = self.places(block);
        let key = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let range = key(places.start)..key(places.end);
        self.notes.range(range).map(|(place, note)| (*place, note.clone()))
    }

    /// Marks the data of a slot as superseded by a program that runs until `settles`. Returns the
    /// number of valid slots left in the block.
    #[inline]
    pub(super) fn supersede(&mut self, slot: Slot, settles: Nanos) -> u32 {
        let place = slot.0 as usize;
        debug_assert!(self.is_valid(slot), "{slot:?} is superseded twice");
        self.live[place / 64] &= !(1 << (place % 64));
        let of = self.geometry.block(slot);
        self.settle(of, settles);
        let block = &mut self.blocks[of.0 as usize];
        block.valid -= 1;
        block.valid
    }

    /// Prefetches the state of a slot that will soon be superseded.
    #[inline]
    pub(super) fn prefetch_supersede(&self, slot: Slot) {
        let block = self.geometry.block(slot).0 as usize;
        prefetch(&self.live, slot.0 as usize / 64);
        prefetch(&self.blocks, block);
    }

    #[inline]
    pub(super) fn metadata(&self, slots: std::ops::Range<u32>) -> &[u32] {
        &self.logical[slots.start as usize..slots.end as usize]
    }

    /// Prefetches the state of a block that garbage collection will soon reclaim.
    pub(super) fn prefetch_cleaning(&self, block: BlockId) {
        const PER_LINE: usize = 16;
        self.places(block).step_by(PER_LINE).for_each(|place| prefetch(&self.logical, place));
        prefetch(&self.live, self.words(block).start);
        prefetch(&self.blocks, block.0 as usize);
        prefetch(&self.lives, block.0 as usize);
    }

    /// Records that programs which supersede slots of a block run until `until`.
    #[inline]
    pub(super) fn settle(&mut self, block: BlockId, until: Nanos) {
        if self.settling {
            let settles = &mut self.blocks[block.0 as usize].settles;
            *settles = until.max(*settles);
        }
    }

    /// Returns the earliest time at which a block may be erased.
    #[inline]
    pub(super) fn settled(&self, block: BlockId) -> Nanos {
        self.blocks[block.0 as usize].settles
    }

    #[inline]
    pub(super) fn valid(&self, block: BlockId) -> u32 {
        self.blocks[block.0 as usize].valid
    }

    #[inline]
    pub(super) fn written(&self, block: BlockId) -> u32 {
        self.blocks[block.0 as usize].written
    }

    #[inline]
    pub(super) fn is_valid(&self, slot: Slot) -> bool {
        self.live[slot.0 as usize / 64] >> (slot.0 % 64) & 1 == 1
    }

    /// Returns the first valid slot of a block, from slot index `from` on.
    #[inline]
    pub(super) fn next_valid(&self, block: BlockId, from: u32) -> Option<Slot> {
        let words = self.geometry.words_per_block();
        let start = block.0 as usize * words;
        let mut mask = u64::MAX << (from % 64);
        for word in start + from as usize / 64..start + words {
            let bits = self.live[word] & mask;
            if bits != 0 {
                let index = (word - start) * 64 + bits.trailing_zeros() as usize;
                let index = u32::try_from(index).expect("a place in a block");
                return Some(self.geometry.slot(block, index));
            }
            mask = u64::MAX;
        }
        None
    }

    /// Returns the valid slots of a block, in ascending order.
    pub(super) fn valid_slots(&self, block: BlockId) -> impl Iterator<Item = Slot> + '_ {
        let first = self.geometry.slot(block, 0).0;
        let words = self.live[self.words(block)].iter().zip((first..).step_by(64));
        words.flat_map(|(word, first)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < u64::BITS).then_some(Slot(first + bit))
            })
        })
    }

    /// Returns the metadata of a slot, or `None` if the slot holds no readable data.
    pub(super) fn entry(&self, slot: Slot) -> Option<Entry> {
        let first = self.geometry.page(slot);
        let pages = first.index..first.index + self.geometry.pages_per_slot;
        let readable = pages.end <= self.written(first.block)
            && (self.torn.is_empty()
                || pages.into_iter().all(|index| !self.torn.contains(&(first.block.0, index))));
        let lpn = self.logical[slot.0 as usize];
        let stamp = self.stamps.get(slot.0 as usize).copied().unwrap_or_default();
        let zero = self.is_zero(slot.0 as usize);
        (readable && lpn != PADDING).then_some(Entry { lpn: Lpn(lpn), stamp, zero })
    }

    /// Records that the FTL opens a block, with its role and whether it is used as SLC.
    pub(super) fn open(&mut self, block: BlockId, role: u8, slc: bool) {
        self.opened += 1;
        let life = &mut self.lives[block.0 as usize];
        life.opened = self.opened;
        (life.role, life.slc) = (role, slc);
    }

    /// Returns true if a block is used as SLC.
    #[inline]
    pub(super) fn is_slc(&self, block: BlockId) -> bool {
        self.life(block).slc
    }

    pub(super) const fn last_opened(&self) -> u32 {
        self.opened
    }

    pub(super) fn opened(&self, block: BlockId) -> (u32, u8) {
        let life = self.life(block);
        (life.opened, life.role)
    }

    pub(super) fn mark_bad(&mut self, block: BlockId) {
        self.lives[block.0 as usize].bad = true;
    }

    /// Undoes [`Blocks::mark_bad`].
    pub(super) fn unmark_bad(&mut self, block: BlockId) {
        self.lives[block.0 as usize].bad = false;
    }

    pub(super) fn is_bad(&self, block: BlockId) -> bool {
        self.life(block).bad
    }

    pub(super) fn erases(&self, block: BlockId) -> u32 {
        self.life(block).erases
    }

    pub(super) fn erase_counts(&self) -> impl ExactSizeIterator<Item = u32> {
        self.lives.iter().map(|life| life.erases)
    }

    /// Returns the unreadable pages of a block, from `page` on.
    fn torn_from(&self, page: Page) -> impl Iterator<Item = (u32, u32)> {
        let block = page.block.0;
        self.torn.range((block, page.index)..=(block, u32::MAX)).copied()
    }

    pub(super) fn is_torn(&self, page: Page) -> bool {
        self.torn.contains(&(page.block.0, page.index))
    }
}
