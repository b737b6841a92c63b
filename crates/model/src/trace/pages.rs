//! The pages in each block, for predictors that need the identity of the pages GC moves.

use super::victims::{GcPolicy, Victims};

/// The block number that means "no block".
const NONE: u32 = u32::MAX;

/// The blocks of one write frontier, with their pages.
pub(super) struct Pages {
    per_block: u32,
    /// For each page, its block, or [`NONE`].
    block_of: Vec<u32>,
    /// The pages written to each block, in `per_block` slots for each block.
    written: Vec<u32>,
    victims: Victims,
    free: Vec<u32>,
    /// The open block, or [`NONE`].
    open: u32,
    /// The number of pages written to the open block.
    filled: u32,
    /// The number of these pages that `block_of` records.
    settled: u32,
    /// Blocks that lose pages, with the number of pages lost; empty between operations.
    superseded: Vec<(u32, u32)>,
    /// The valid pages of the block being collected.
    valid: Vec<u32>,
    closed: u32,
}

impl Pages {
    /// Creates the blocks of a drive without data, with `pages` logical pages and at most `most`
    /// blocks in use.
    pub(super) fn new(pages: u32, per_block: u32, most: u32, policy: GcPolicy) -> Self {
        // Two blocks more than `most`: a block opens before GC reclaims one for it, and another
        // block opens if GC fills the first.
        let blocks = most + 2;
        Pages {
            per_block,
            block_of: vec![NONE; pages as usize],
            written: vec![0; blocks as usize * per_block as usize],
            victims: Victims::new(blocks, per_block, policy),
            free: (0..blocks).rev().collect(),
            open: NONE,
            filled: 0,
            settled: 0,
            superseded: Vec::new(),
            valid: Vec::new(),
            closed: 0,
        }
    }

    /// Returns the number of pages that still fit into the open block; 0 without an open block.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        if self.open == NONE { 0 } else { self.per_block - self.filled }
    }

    /// Returns the number of closed blocks.
    #[inline]
    pub(super) fn closed(&self) -> u32 {
        self.closed
    }

    /// Returns the number of closed and open blocks.
    #[inline]
    pub(super) fn in_use(&self) -> u32 {
        self.closed + u32::from(self.open != NONE)
    }

    /// Opens a block. No block may be open, and one must be free.
    pub(super) fn open(&mut self) {
        let free = self.free.pop().expect("the caller stays within the maximum number of blocks");
        self.victims.open(free);
        (self.open, self.filled, self.settled) = (free, 0, 0);
    }

    /// Returns the index of a slot of a block.
    #[inline]
    fn place(&self, block: u32, nth: u32) -> usize {
        block as usize * self.per_block as usize + nth as usize
    }

    /// Writes a page to the open block, which must have room.
    #[inline]
    pub(super) fn write(&mut self, page: u32) {
        let place = self.place(self.open, self.filled);
        self.written[place] = page;
        self.filled += 1;
        if self.filled == self.per_block {
            self.fill();
        }
    }

    /// Closes the full open block. See `fill` in [`super::blocks::Blocks`] for the order in which
    /// its last page is recorded.
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

    /// Records the blocks of pages written so far, up to slot `end`. Batches the updates, whose
    /// time is dominated by cache misses.
    fn settle(&mut self, end: u32) {
        if self.settled < end {
            let from = std::mem::replace(&mut self.settled, end);
            self.victims.gain(self.open, end - from);
            self.point(self.open, from, end);
        }
    }

    /// Moves pages to a block and subtracts them from their old blocks.
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

    /// Drops a page, which no longer belongs to any block. Returns false if it belonged to no
    /// block.
    pub(super) fn trim(&mut self, page: u32) -> bool {
        self.settle(self.filled);
        let before = std::mem::replace(&mut self.block_of[page as usize], NONE);
        if before == NONE {
            return false;
        }
        if before == self.open {
            self.victims.lose_open(before, 1);
        } else {
            self.victims.lose(before, 1);
        }
        true
    }

    /// Collects a block and moves its valid pages to the open block, and to another block if
    /// needed. Calls `moved` with each moved page. Returns the number of valid pages, or `None` if
    /// no block has a superseded page.
    pub(super) fn collect(&mut self, mut moved: impl FnMut(u32)) -> Option<u32> {
        self.settle(self.filled);
        let victim = self.victims.take()?;
        let valid = self.victims.valid(victim);
        if valid > 0 {
            self.find_valid(victim);
            for nth in 0..self.valid.len() {
                let page = self.valid[nth];
                // A page that was written to the victim twice appears twice in `valid`. Its first
                // move changes `block_of`.
                if self.block_of[page as usize] == victim {
                    moved(page);
                    self.append(page);
                }
            }
        }
        self.closed -= 1;
        self.free.push(victim);
        Some(valid)
    }

    /// Collects the pages still valid in a block into `valid`. The loop has no branch on loaded
    /// data, which the processor would often mispredict while it waits for memory.
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

    /// Appends a page that GC moves to the open block.
    #[inline]
    fn append(&mut self, page: u32) {
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
