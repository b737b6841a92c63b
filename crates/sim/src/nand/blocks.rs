mod gathering;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flashscope_block::Nanos;

use crate::footprint::{Size, fixed, tree};
use crate::memory::prefetch;

use super::{BlockId, Geometry, Lpn, Page, Slot};

/// A command that the flash refuses. It is a bug of the FTL that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// The page was not programmed since its block was erased.
    #[error("read of {0:?}, which holds nothing")]
    ReadOfErasedPage(Page),
    /// The page is not the next one of its block: either it was programmed already and needs an
    /// erase first, or it would leave a gap.
    #[error("program of {page:?} while page {next} of the block is next")]
    ProgramOutOfOrder {
        /// The page that was to be programmed.
        page: Page,
        /// The only page of that block that may be.
        next: u32,
    },
    /// The block still holds pages that are not superseded.
    #[error("erase of {block:?}, which holds {valid} valid pages")]
    EraseOfValidPages {
        /// The block that was to be erased.
        block: BlockId,
        /// Its logical pages that are not superseded.
        valid: u32,
    },
    /// A copy-back works within a plane.
    #[error("copy-back from {from:?} to {to:?}, which is on another plane")]
    CopyBackAcrossPlanes {
        /// The block that was to be read.
        from: BlockId,
        /// The block that was to be programmed.
        to: BlockId,
    },
    /// The block is marked bad.
    #[error("command on {0:?}, which is marked bad")]
    BadBlock(BlockId),
}

/// When data was written by the host, in logical pages written to the drive before, counted from
/// 1. It travels with the data, so of two copies of a logical page the newer has the larger.
pub type Stamp = u32;

/// What the metadata of a programmed page says (section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The logical page that it holds.
    pub lpn: Lpn,
    /// When its data was written.
    pub stamp: Stamp,
    /// Whether its data is zeros; false where that is of no consequence.
    pub zero: bool,
}

/// What is written to a page beside its place: an internal page of the FTL.
pub type Note = Arc<[u64]>;

/// The logical page of a place that was programmed without data for it.
const PADDING: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, Default)]
struct Block {
    /// Pages programmed since the last erase: the next page to be programmed.
    written: u32,
    /// Logical pages programmed and not superseded.
    valid: u32,
    /// Until when programs run that supersede a page of it: an erase before would destroy the only
    /// copy if they failed.
    settles: Nanos,
}

/// What of a block does not change with its pages.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    erases: u32,
    /// The count of blocks opened when it was: part of the metadata of its first page.
    opened: u32,
    /// What the FTL uses it for: as above.
    role: u8,
    bad: bool,
}

/// The contents of a block: what an erase that does not take place must bring back.
#[derive(Debug, Clone)]
pub(super) struct Image {
    written: u32,
    opened: u32,
    role: u8,
    logical: Box<[u32]>,
    stamps: Box<[Stamp]>,
    zeros: Box<[u64]>,
    notes: Vec<(u32, Note)>,
    torn: Vec<u32>,
}

impl Image {
    pub(super) fn renumber_stamps(&mut self, old: &[Stamp]) {
        renumber(&mut self.stamps, old);
    }
}

/// Makes stamps their rank among `old`, from 1.
fn renumber(stamps: &mut [Stamp], old: &[Stamp]) {
    for stamp in stamps {
        let rank = old.partition_point(|other| other < stamp);
        *stamp = Stamp::try_from(rank).expect("at most as many as places") + 1;
    }
}

/// The state of every block and the metadata of every page, and the rules of what may follow what.
pub(super) struct Blocks {
    geometry: Geometry,
    blocks: Vec<Block>,
    lives: Vec<Life>,
    /// Whether erases wait for programs; not where the order of commands sees to it.
    settling: bool,
    /// One bit a place: programmed and not superseded.
    live: Vec<u64>,
    /// For each place, the logical page it holds.
    logical: Vec<u32>,
    /// For each place, the stamp of its data; empty where the map survives without.
    stamps: Vec<Stamp>,
    /// One bit a place: its data is zeros. Empty where that is of no consequence.
    zeros: Vec<u64>,
    /// What internal pages hold.
    notes: BTreeMap<u32, Note>,
    /// Pages whose program was cut short: they cannot be read.
    torn: BTreeSet<(u32, u32)>,
    opened: u32,
}

impl Blocks {
    pub(super) fn new(geometry: Geometry, stamped: bool, settling: bool, zeros: bool) -> Self {
        let (blocks, slots) = (geometry.blocks() as usize, geometry.slot_numbers());
        Blocks {
            blocks: vec![Block::default(); blocks],
            lives: vec![Life::default(); blocks],
            settling,
            live: vec![0; slots / 64],
            logical: vec![0; slots],
            stamps: vec![0; if stamped { slots } else { 0 }],
            zeros: vec![0; if zeros { slots / 64 } else { 0 }],
            notes: BTreeMap::new(),
            torn: BTreeSet::new(),
            opened: 0,
            geometry,
        }
    }

    /// What one takes: see [`Blocks::new`]. `torn` pages cannot be read.
    pub(super) fn footprint(geometry: &Geometry, stamped: bool, zeros: bool, torn: u64) -> Size {
        let (blocks, slots) = (geometry.blocks(), geometry.slot_numbers() as u64);
        let bits = fixed::<u64>(slots / 64);
        // All stamps once more, when they are numbered anew.
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

    /// Refuses to read a page that was not programmed.
    #[inline]
    pub(super) fn check_read(&self, page: Page) -> Result<(), Illegal> {
        if page.index >= self.written(page.block) {
            return Err(Illegal::ReadOfErasedPage(page));
        }
        Ok(())
    }

    /// Takes note that `pages` pages from `page` on are programmed.
    #[inline]
    pub(super) fn advance(&mut self, page: Page, pages: u32) -> Result<(), Illegal> {
        let pages_per_block = self.geometry.pages_per_block;
        let block = &mut self.blocks[page.block.0 as usize];
        if page.index != block.written || page.index + pages > pages_per_block {
            return Err(Illegal::ProgramOutOfOrder { page, next: block.written });
        }
        if page.index == 0 && self.lives[page.block.0 as usize].bad {
            return Err(Illegal::BadBlock(page.block));
        }
        block.written += pages;
        Ok(())
    }

    /// Puts data into a place that was just programmed.
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

    /// Leaves a place that was just programmed without data.
    pub(super) fn pad(&mut self, slot: Slot) {
        self.logical[slot.0 as usize] = PADDING;
    }

    /// Leaves the places of pages that were just programmed, if they have any, without data.
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

    /// Moves the first `count` valid places of `from` to places `to` and after, one a page, and
    /// calls `moved` with some logical pages and the place of the first, the others of which
    /// follow, until it has had all.
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
        debug_assert_eq!(target, end, "{from:?} has fewer valid places");
        self.set_live(to.0 as usize, end);
        self.blocks[from.0 as usize].valid -= count;
        self.blocks[self.geometry.block(to).0 as usize].valid += count;
    }

    /// Copies what the metadata of places says to those from `target` on.
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

    /// Whether the data of a place is zeros, where that is of consequence.
    #[inline]
    pub(super) fn is_zero(&self, place: usize) -> bool {
        self.zeros.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// Marks the places from `start` to before `end` as valid.
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

    pub(super) fn check_erase(&self, block: BlockId) -> Result<(), Illegal> {
        if self.life(block).bad {
            return Err(Illegal::BadBlock(block));
        }
        match self.valid(block) {
            0 => Ok(()),
            valid => Err(Illegal::EraseOfValidPages { block, valid }),
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

    /// Those places, 64 in a word.
    fn words(&self, block: BlockId) -> std::ops::Range<usize> {
        let std::ops::Range { start, end } = self.places(block);
        start / 64..end / 64
    }

    /// Drops what internal pages of a block hold, from place `from` on.
    fn drop_notes(&mut self, block: BlockId, from: u32) {
        // Pages of the summary have no places.
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

    /// The data of a place is out of date, once a program that runs until `settles` is done.
    /// Returns how many places of the block are still valid.
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

    /// A hint that a place is superseded soon.
    #[inline]
    pub(super) fn expect_supersede(&self, slot: Slot) {
        let block = self.geometry.block(slot).0 as usize;
        prefetch(&self.live, slot.0 as usize / 64);
        prefetch(&self.blocks, block);
    }

    #[inline]
    pub(super) fn metadata(&self, slots: std::ops::Range<u32>) -> &[u32] {
        &self.logical[slots.start as usize..slots.end as usize]
    }

    /// A hint that a block is cleaned soon.
    pub(super) fn expect_cleaning(&self, block: BlockId) {
        const PER_LINE: usize = 16;
        self.places(block).step_by(PER_LINE).for_each(|place| prefetch(&self.logical, place));
        prefetch(&self.live, self.words(block).start);
        prefetch(&self.blocks, block.0 as usize);
        prefetch(&self.lives, block.0 as usize);
    }

    /// Programs that supersede places of a block run until `until`.
    #[inline]
    pub(super) fn settle(&mut self, block: BlockId, until: Nanos) {
        if self.settling {
            let settles = &mut self.blocks[block.0 as usize].settles;
            *settles = until.max(*settles);
        }
    }

    /// From when on a block may be erased.
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

    /// The first valid place of a block, from place `from` on.
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

    /// What the metadata of a place says, if it was programmed with data that can be read.
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

    /// Takes note of what a block is used for, at its first page.
    pub(super) fn open(&mut self, block: BlockId, role: u8) {
        self.opened += 1;
        let life = &mut self.lives[block.0 as usize];
        life.opened = self.opened;
        life.role = role;
    }

    pub(super) fn opened(&self, block: BlockId) -> (u32, u8) {
        let life = self.life(block);
        (life.opened, life.role)
    }

    pub(super) fn mark_bad(&mut self, block: BlockId) {
        self.lives[block.0 as usize].bad = true;
    }

    /// As if the block had not been marked bad.
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

    /// Numbers the stamps anew, from 1, in their order; returns the old ones in that order.
    pub(super) fn renumber_stamps(&mut self) -> Vec<Stamp> {
        let mut old = self.stamps.clone();
        old.sort_unstable();
        old.dedup();
        renumber(&mut self.stamps, &old);
        old
    }

    /// The torn pages of a block from a page on.
    fn torn_from(&self, page: Page) -> impl Iterator<Item = (u32, u32)> {
        let block = page.block.0;
        self.torn.range((block, page.index)..=(block, u32::MAX)).copied()
    }

    pub(super) fn is_torn(&self, page: Page) -> bool {
        self.torn.contains(&(page.block.0, page.index))
    }

    // What follows is for power cuts.

    pub(super) fn keep_stamps(&mut self) {
        self.stamps.resize(self.logical.len(), 0);
    }

    pub(super) fn image(&self, block: BlockId) -> Image {
        let places = self.places(block);
        let life = self.life(block);
        let torn = self.torn_from(Page { block, index: 0 });
        Image {
            written: self.written(block),
            opened: life.opened,
            role: life.role,
            logical: self.logical[places.clone()].into(),
            stamps: self.stamps.get(places).unwrap_or_default().into(),
            zeros: self.zeros.get(self.words(block)).unwrap_or_default().into(),
            notes: self.notes_of(block).collect(),
            torn: torn.map(|page| page.1).collect(),
        }
    }

    /// As if the last erase of the block had never begun.
    pub(super) fn restore(&mut self, block: BlockId, image: &Image) {
        let places = self.places(block);
        self.blocks[block.0 as usize].written = image.written;
        let life = &mut self.lives[block.0 as usize];
        (life.erases, life.opened, life.role) = (life.erases - 1, image.opened, image.role);
        self.logical[places.clone()].copy_from_slice(&image.logical);
        if let Some(stamps) = self.stamps.get_mut(places) {
            stamps.copy_from_slice(&image.stamps);
        }
        let words = self.words(block);
        if let Some(zeros) = self.zeros.get_mut(words) {
            zeros.copy_from_slice(&image.zeros);
        }
        self.notes.extend(image.notes.iter().cloned());
        self.torn.extend(image.torn.iter().map(|index| (block.0, *index)));
    }

    /// As if `pages` pages from `page` on had never been programmed.
    pub(super) fn unprogram(&mut self, page: Page) {
        self.blocks[page.block.0 as usize].written = page.index;
        let torn: Vec<_> = self.torn_from(page).collect();
        for page in &torn {
            self.torn.remove(page);
        }
        if !self.notes.is_empty() {
            let slots = self.geometry.slots_per_page;
            self.drop_notes(page.block, page.index * slots / self.geometry.pages_per_slot);
        }
    }

    /// Leaves pages of a block that cannot be read.
    pub(super) fn tear(&mut self, page: Page, pages: u32) {
        self.torn.extend((page.index..page.index + pages).map(|index| (page.block.0, index)));
        let block = &mut self.blocks[page.block.0 as usize];
        block.written = block.written.max(page.index + pages);
    }

    /// Forgets which places are valid: the FTL has to find out.
    pub(super) fn forget_validity(&mut self) {
        self.live.fill(0);
        self.blocks.iter_mut().for_each(|block| (block.valid, block.settles) = (0, Nanos(0)));
    }

    /// Notes that a place that was programmed before holds the newest copy of its page.
    pub(super) fn revalidate(&mut self, slot: Slot) {
        let place = slot.0 as usize;
        self.live[place / 64] |= 1 << (place % 64);
        self.blocks[self.geometry.block(slot).0 as usize].valid += 1;
    }
}
