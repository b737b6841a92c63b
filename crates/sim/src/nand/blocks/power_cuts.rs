//! Undoing commands after a power cut, and marking the valid slots that recovery finds.

use flashscope_block::Nanos;

use super::{Blocks, Note, Stamp};
use crate::nand::{BlockId, Page, Slot};

/// The contents of a block before an erase, needed to undo the erase.
#[derive(Debug, Clone)]
pub(in crate::nand) struct Image {
    written: u32,
    opened: u32,
    role: u8,
    slc: bool,
    logical: Box<[u32]>,
    stamps: Box<[Stamp]>,
    zeros: Box<[u64]>,
    notes: Vec<(u32, Note)>,
    torn: Vec<u32>,
}

impl Image {
    pub(in crate::nand) fn renumber_stamps(&mut self, old: &[Stamp]) {
        renumber(&mut self.stamps, old);
    }
}

/// Replaces each stamp by its rank in `old`, from 1.
fn renumber(stamps: &mut [Stamp], old: &[Stamp]) {
    for stamp in stamps {
        let rank = old.partition_point(|other| other < stamp);
        *stamp = Stamp::try_from(rank).expect("at most one rank for each slot") + 1;
    }
}

impl Blocks {
    /// Renumbers the stamps from 1, keeping their order. Returns the old stamps in that order.
    pub(in crate::nand) fn renumber_stamps(&mut self) -> Vec<Stamp> {
        let mut old = self.stamps.clone();
        old.sort_unstable();
        old.dedup();
        renumber(&mut self.stamps, &old);
        old
    }

    pub(in crate::nand) fn keep_stamps(&mut self) {
        self.stamps.resize(self.logical.len(), 0);
    }

    pub(in crate::nand) fn image(&self, block: BlockId) -> Image {
        let places = self.places(block);
        let life = self.life(block);
        let torn = self.torn_from(Page { block, index: 0 });
        Image {
            written: self.written(block),
            opened: life.opened,
            role: life.role,
            slc: life.slc,
            logical: self.logical[places.clone()].into(),
            stamps: self.stamps.get(places).unwrap_or_default().into(),
            zeros: self.zeros.get(self.words(block)).unwrap_or_default().into(),
            notes: self.notes_of(block).collect(),
            torn: torn.map(|page| page.1).collect(),
        }
    }

    /// Restores a block to its contents before its last erase.
    pub(in crate::nand) fn restore(&mut self, block: BlockId, image: &Image) {
        let places = self.places(block);
        self.blocks[block.0 as usize].written = image.written;
        let life = &mut self.lives[block.0 as usize];
        (life.erases, life.opened) = (life.erases - 1, image.opened);
        (life.role, life.slc) = (image.role, image.slc);
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

    /// Restores the pages of a block from `page` on to their erased state.
    pub(in crate::nand) fn unprogram(&mut self, page: Page) {
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

    /// Marks pages as programmed but unreadable.
    pub(in crate::nand) fn tear(&mut self, page: Page, pages: u32) {
        self.torn.extend((page.index..page.index + pages).map(|index| (page.block.0, index)));
        let block = &mut self.blocks[page.block.0 as usize];
        block.written = block.written.max(page.index + pages);
    }

    /// Forgets which slots are valid. The FTL must mark them again: see [`Blocks::revalidate`].
    pub(in crate::nand) fn forget_validity(&mut self) {
        self.live.fill(0);
        self.blocks.iter_mut().for_each(|block| (block.valid, block.settles) = (0, Nanos(0)));
    }

    /// Marks an already programmed slot as the newest copy of its logical page.
    pub(in crate::nand) fn revalidate(&mut self, slot: Slot) {
        let place = slot.0 as usize;
        self.live[place / 64] |= 1 << (place % 64);
        self.blocks[self.geometry.block(slot).0 as usize].valid += 1;
    }
}
