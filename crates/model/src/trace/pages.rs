//! Which pages each block has, one by one: for those who have to know which pages cleaning moves.

use super::victims::{Cleaning, Victims};

/// No block.
const NONE: u32 = u32::MAX;

/// The blocks of one frontier, with their pages.
pub(super) struct Pages {
    per_block: u32,
    /// For each page the block that it is in, or [`NONE`].
    block_of: Vec<u32>,
    /// The pages that were written to each block, `per_block` places for each block.
    written: Vec<u32>,
    victims: Victims,
    free: Vec<u32>,
    /// The open block, or [`NONE`]; pages written to it, and those of them that are in `block_of`.
    open: u32,
    filled: u32,
    settled: u32,
    /// The blocks that lose pages, and how many; empty but while that is noted.
    superseded: Vec<(u32, u32)>,
    /// The pages of the block that was cleaned last.
    valid: Vec<u32>,
    closed: u32,
}

impl Pages {
    /// For so many pages, none of them written yet, with `most` blocks in use at a time.
    pub(super) fn new(pages: u32, per_block: u32, most: u32, cleaning: Cleaning) -> Self {
        // One that is opened before another is cleaned for it, and one where that fills the first.
        let blocks = most + 2;
        Pages {
            per_block,
            block_of: vec![NONE; pages as usize],
            written: vec![0; blocks as usize * per_block as usize],
            victims: Victims::new(blocks, per_block, cleaning),
            free: (0..blocks).rev().collect(),
            open: NONE,
            filled: 0,
            settled: 0,
            superseded: Vec::new(),
            valid: Vec::new(),
            closed: 0,
        }
    }

    /// Pages that the open block has room for; 0 where none is open.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        if self.open == NONE { 0 } else { self.per_block - self.filled }
    }

    /// Blocks that are full.
    #[inline]
    pub(super) fn closed(&self) -> u32 {
        self.closed
    }

    /// Blocks that are full or open.
    #[inline]
    pub(super) fn in_use(&self) -> u32 {
        self.closed + u32::from(self.open != NONE)
    }

    /// Opens a block, where none is open and not all are in use.
    pub(super) fn open(&mut self) {
        let free = self.free.pop().expect("no more blocks are in use than the caller allows for");
        self.victims.open(free);
        (self.open, self.filled, self.settled) = (free, 0, 0);
    }

    /// The places of a block.
    #[inline]
    fn place(&self, block: u32, nth: u32) -> usize {
        block as usize * self.per_block as usize + nth as usize
    }

    /// Writes a page to the open block, which has room.
    #[inline]
    pub(super) fn write(&mut self, page: u32) {
        let place = self.place(self.open, self.filled);
        self.written[place] = page;
        self.filled += 1;
        if self.filled == self.per_block {
            self.fill();
        }
    }

    /// The open block is full: see [`super::blocks::Blocks`] for when its last page is noted.
    fn fill(&mut self) {
        let open = self.open;
        self.victims.gain(open, 1);
        self.settle(self.per_block - 1);
        self.settled = self.per_block;
        self.close();
        self.point(open, self.per_block - 1, self.per_block);
    }

    fn close(&mut self) {
        self.victims.close(self.open);
        self.open = NONE;
        self.closed += 1;
    }

    /// Notes where pages that were written are, up to one: many at once, as most of the time goes by waiting for
    /// memory.
    fn settle(&mut self, end: u32) {
        if self.settled < end {
            let from = std::mem::replace(&mut self.settled, end);
            self.victims.gain(self.open, end - from);
            self.point(self.open, from, end);
        }
    }

    /// Notes that pages are in a block now, and that others lose them.
    fn point(&mut self, block: u32, from: u32, end: u32) {
        let mut superseded = std::mem::take(&mut self.superseded);
        for page in &self.written[self.place(block, from)..self.place(block, end)] {
            let before = std::mem::replace(&mut self.block_of[*page as usize], block);
            match superseded.last_mut() {
                Some((last, count)) if *last == before => *count += 1,
                _ => superseded.push((before, 1)),
            }
        }
        for (before, count) in superseded.drain(..).filter(|(before, _)| *before != NONE) {
            if before == self.open {
                self.victims.lose_open(before, count);
            } else {
                self.victims.lose(before, count);
            }
        }
        self.superseded = superseded;
    }

    /// Cleans a block, whose valid pages go to the open one, and to others that are opened. Tells of each, and says how
    /// many these are; none where no block has a superseded page.
    pub(super) fn clean(&mut self, mut moved: impl FnMut(u32)) -> Option<u32> {
        self.settle(self.filled);
        let victim = self.victims.take()?;
        let valid = self.victims.valid(victim);
        if valid > 0 {
            self.find_valid(victim);
            for nth in 0..self.valid.len() {
                let page = self.valid[nth];
                // One that was written to it twice comes twice.
                if self.block_of[page as usize] == victim {
                    moved(page);
                    self.take_in(page);
                }
            }
        }
        self.closed -= 1;
        self.free.push(victim);
        Some(valid)
    }

    /// The pages of a block that are still in it, without a branch that may be mispredicted while memory is waited for.
    fn find_valid(&mut self, block: u32) {
        let written = &self.written[self.place(block, 0)..self.place(block, self.per_block)];
        self.valid.resize(written.len(), 0);
        let mut count = 0;
        for page in written {
            self.valid[count] = *page;
            count += usize::from(self.block_of[*page as usize] == block);
        }
        self.valid.truncate(count);
    }

    /// Moves a page to the open block.
    #[inline]
    fn take_in(&mut self, page: u32) {
        if self.open == NONE {
            self.open();
        }
        let place = self.place(self.open, self.filled);
        self.written[place] = page;
        self.block_of[page as usize] = self.open;
        self.victims.gain(self.open, 1);
        self.filled += 1;
        self.settled = self.filled;
        if self.filled == self.per_block {
            self.close();
        }
    }
}
