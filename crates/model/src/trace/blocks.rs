//! The block of each page, without its position in the block.
//!
//! When GC collects a block, all its valid pages move to one other block, and stay together from
//! then on. It is therefore enough to store two links: for each page, the block that the host wrote
//! it to, and for each collected block, the block that received its pages. These links form a
//! forest. A collection adds one link, for any number of moved pages.

use std::ops::Range;

use super::victims::{GcPolicy, Victims, small};

/// The block number that means "no block".
const NONE: u32 = u32::MAX;

/// The blocks of one write frontier, numbered in the order in which they were opened.
pub(super) struct Blocks {
    per_block: u32,
    /// For each page, the block that the host last wrote it to, or [`NONE`].
    written_to: Vec<u32>,
    /// For each block, the block that took its pages; before its collection, the block itself.
    taken_by: Vec<u32>,
    victims: Victims,
    /// The number of the next block.
    next: u32,
    /// The open block, or [`NONE`].
    open: u32,
    /// The number of pages in the open block.
    filled: u32,
    /// The ranges of pages of the open block that are not in `written_to` yet.
    pending: Vec<Range<u32>>,
    /// Blocks that lose pages to pending writes, with the number of pages lost; empty between
    /// operations.
    superseded: Vec<(u32, u32)>,
    closed: u32,
}

impl Blocks {
    /// Creates the blocks of a drive without data, with `pages` logical pages and at most `most`
    /// blocks in use.
    pub(super) fn new(pages: u32, per_block: u32, most: u32, policy: GcPolicy) -> Self {
        // Blocks are renumbered when the numbers run out. With four numbers for each block, this
        // happens about once in three passes over the drive.
        let numbers = 4 * most + 4;
        Blocks {
            per_block,
            written_to: vec![NONE; pages as usize],
            taken_by: (0..numbers).collect(),
            victims: Victims::new(numbers, per_block, policy),
            next: 0,
            open: NONE,
            filled: 0,
            pending: Vec::new(),
            superseded: Vec::new(),
            closed: 0,
        }
    }

    /// Returns the number of pages that still fit into the open block; 0 without an open block.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        if self.open == NONE { 0 } else { self.per_block - self.filled }
    }

    /// Returns the number of closed and open blocks.
    #[inline]
    pub(super) fn in_use(&self) -> u32 {
        self.closed + u32::from(self.open != NONE)
    }

    /// Writes pages to the open block, which must have room for all of them.
    #[inline]
    pub(super) fn write(&mut self, pages: Range<u32>) {
        self.filled += pages.end - pages.start;
        self.pending.push(pages);
        if self.filled == self.per_block {
            self.fill();
        }
    }

    /// Drops pages, which no longer belong to any block.
    pub(super) fn trim(&mut self, pages: Range<u32>) {
        self.settle();
        self.point(pages, NONE);
        self.supersede();
    }

    /// Closes the full open block. The block becomes a candidate for GC before the old version of
    /// its last page is superseded, as in drives that update the map afterwards. This order can
    /// decide between two candidates with equally few valid pages.
    fn fill(&mut self) {
        let open = self.open;
        self.victims.gain(open, 1);
        let last = self.pending.last_mut().map(|pages| {
            pages.end -= 1;
            pages.end
        });
        self.settle();
        self.close_if_full();
        if let Some(last) = last {
            self.point(last..last + 1, open);
            self.supersede();
        }
    }

    /// Updates the positions of pending pages. Waiting until the block is full or GC runs batches
    /// the updates, whose time is dominated by cache misses.
    fn settle(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        for pages in pending.drain(..) {
            self.victims.gain(self.open, pages.end - pages.start);
            self.point(pages, self.open);
        }
        self.pending = pending;
        self.supersede();
    }

    /// Moves pages to a block, and counts the pages that their old blocks lose.
    #[inline]
    fn point(&mut self, pages: Range<u32>, block: u32) {
        for written_to in &mut self.written_to[pages.start as usize..pages.end as usize] {
            let before = std::mem::replace(written_to, block);
            match self.superseded.last_mut() {
                Some((last, count)) if *last == before => *count += 1,
                _ => self.superseded.push((before, 1)),
            }
        }
    }

    /// Subtracts the superseded pages from their blocks.
    fn supersede(&mut self) {
        let mut superseded = std::mem::take(&mut self.superseded);
        superseded.retain(|(written_to, _)| *written_to != NONE);
        for (block, _) in &mut superseded {
            *block = self.taken_by[*block as usize];
        }
        for (written_to, count) in superseded.drain(..) {
            let block = self.block(written_to);
            if block == self.open {
                self.victims.lose_open(block, count);
            } else {
                self.victims.lose(block, count);
            }
        }
        self.superseded = superseded;
    }

    /// Returns the block that now holds the pages written to `written_to`, a union-find lookup.
    #[inline]
    fn block(&mut self, written_to: u32) -> u32 {
        let mut at = written_to;
        loop {
            let taker = self.taken_by[at as usize];
            if taker == at {
                return at;
            }
            // Path halving shortens later lookups.
            let next = self.taken_by[taker as usize];
            self.taken_by[at as usize] = next;
            at = next;
        }
    }

    /// Opens a block. No block may be open.
    pub(super) fn open(&mut self) {
        if self.next as usize == self.taken_by.len() {
            self.renumber();
        }
        self.open = self.next;
        self.taken_by[self.open as usize] = self.open;
        self.victims.open(self.open);
        self.next += 1;
    }

    /// Closes the open block if it is full. Pages beyond its end count towards the next block.
    fn close_if_full(&mut self) {
        if self.filled >= self.per_block {
            self.victims.close(std::mem::replace(&mut self.open, NONE));
            self.closed += 1;
            self.filled -= self.per_block;
        }
    }

    /// Collects a block and returns the number of pages moved, or `None` if no block has a
    /// superseded page.
    ///
    /// The valid pages move to the open block, or to a newly opened block. If they do not fit, the
    /// open block holds more pages than its size, and the next block, opened here, correspondingly
    /// fewer.
    pub(super) fn collect(&mut self) -> Option<u32> {
        self.settle();
        // Keeps block numbers unchanged during the collection.
        if self.next as usize + 2 > self.taken_by.len() {
            self.renumber();
        }
        let victim = self.victims.take()?;
        self.closed -= 1;
        let valid = self.victims.valid(victim);
        if valid == 0 {
            self.taken_by[victim as usize] = NONE;
            return Some(0);
        }
        if self.open == NONE {
            self.open();
        }
        let room = self.room();
        self.filled += valid;
        self.taken_by[victim as usize] = self.open;
        self.victims.gain(self.open, valid);
        self.close_if_full();
        if self.open == NONE && valid > room {
            self.open();
        }
        Some(valid)
    }

    /// Renumbers the existing blocks from 0, in the same order.
    #[cold]
    fn renumber(&mut self) {
        let numbers = small(self.taken_by.len());
        for at in 0..self.written_to.len() {
            if self.written_to[at] != NONE {
                self.written_to[at] = self.block(self.written_to[at]);
            }
        }
        let mut names: Vec<u32> = (0..numbers).collect();
        let mut next = 0;
        for block in 0..self.next {
            if self.taken_by[block as usize] == block {
                names[block as usize] = next;
                next += 1;
            }
        }
        let written = self.written_to.iter_mut().filter(|block| **block != NONE);
        written.for_each(|block| *block = names[*block as usize]);
        self.victims.rename(&names);
        self.taken_by = (0..numbers).collect();
        self.next = next;
        self.open = if self.open == NONE { NONE } else { names[self.open as usize] };
    }
}
