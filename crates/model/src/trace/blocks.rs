//! Which block each page is in, without saying where in it: what of a block is valid when it is cleaned goes
//! to the same block, and stays together from then on. So for each page it is enough to know which block it was
//! written to by the host, and for each block that was cleaned which one took its pages: a forest, in which
//! cleaning is one step, however many pages it moves.

use std::ops::Range;

use super::victims::{Cleaning, Victims, small};

/// No block.
const NONE: u32 = u32::MAX;

/// The blocks of one frontier, numbered as they are opened.
pub(super) struct Blocks {
    per_block: u32,
    /// For each page the block that it was last written to, or [`NONE`].
    written_to: Vec<u32>,
    /// For each block the one that took its pages; itself while it is not cleaned.
    taken_by: Vec<u32>,
    victims: Victims,
    /// The next number.
    next: u32,
    /// The open block, or [`NONE`].
    open: u32,
    /// Pages written to it, and those of them that are not in `written_to`.
    filled: u32,
    pending: Vec<Range<u32>>,
    /// The blocks that lose pages by them, and how many; empty but while that is noted.
    superseded: Vec<(u32, u32)>,
    closed: u32,
}

impl Blocks {
    /// For so many pages, none of them written yet, with `most` blocks in use at a time.
    pub(super) fn new(pages: u32, per_block: u32, most: u32, cleaning: Cleaning) -> Self {
        // Numbers are given anew when they run out: with four for each block about once in three turns.
        let numbers = 4 * most + 4;
        Blocks {
            per_block,
            written_to: vec![NONE; pages as usize],
            taken_by: (0..numbers).collect(),
            victims: Victims::new(numbers, per_block, cleaning),
            next: 0,
            open: NONE,
            filled: 0,
            pending: Vec::new(),
            superseded: Vec::new(),
            closed: 0,
        }
    }

    /// Pages that the open block has room for; 0 where none is open.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        if self.open == NONE { 0 } else { self.per_block - self.filled }
    }

    /// Blocks that are full or open.
    #[inline]
    pub(super) fn in_use(&self) -> u32 {
        self.closed + u32::from(self.open != NONE)
    }

    /// Writes pages, as many as there is room for at most, to the open block.
    #[inline]
    pub(super) fn write(&mut self, pages: Range<u32>) {
        self.filled += pages.end - pages.start;
        self.pending.push(pages);
        if self.filled == self.per_block {
            self.fill();
        }
    }

    /// The open block is full. It is among the full ones before what its last page was before is out of date, as
    /// in drives that note that afterwards: by that may be decided which of two blocks with equally few valid
    /// pages is cleaned.
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

    /// Notes where pages that were written are. That is put off until the block is full or one is cleaned, so that
    /// all of them are looked for at once: most of the time goes by waiting for memory.
    fn settle(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        for pages in pending.drain(..) {
            self.victims.gain(self.open, pages.end - pages.start);
            self.point(pages, self.open);
        }
        self.pending = pending;
        self.supersede();
    }

    /// Notes that pages are in another block now, and which they were in.
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

    /// Blocks lose the pages that were superseded.
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

    /// Where the pages are that were written to a block.
    #[inline]
    fn block(&mut self, written_to: u32) -> u32 {
        let mut at = written_to;
        loop {
            let taker = self.taken_by[at as usize];
            if taker == at {
                return at;
            }
            // Paths are halved as they are gone.
            let next = self.taken_by[taker as usize];
            self.taken_by[at as usize] = next;
            at = next;
        }
    }

    /// Opens a block, where none is open.
    pub(super) fn open(&mut self) {
        if self.next as usize == self.taken_by.len() {
            self.number_anew();
        }
        self.open = self.next;
        self.taken_by[self.open as usize] = self.open;
        self.victims.open(self.open);
        self.next += 1;
    }

    /// Closes the open block if it is full. What was written beyond its end then fills the next.
    fn close_if_full(&mut self) {
        if self.filled >= self.per_block {
            self.victims.close(std::mem::replace(&mut self.open, NONE));
            self.closed += 1;
            self.filled -= self.per_block;
        }
    }

    /// Cleans a block, whose valid pages go to the open one, or to one that is opened; if they do not fit, that has
    /// more pages than others, and the next, which is opened, fewer. Says how many these are; none where no block
    /// has a superseded page.
    pub(super) fn clean(&mut self) -> Option<u32> {
        self.settle();
        // So that no number changes here.
        if self.next as usize + 2 > self.taken_by.len() {
            self.number_anew();
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

    /// Gives the blocks that there are the first numbers, in the same order.
    #[cold]
    fn number_anew(&mut self) {
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
