//! Which block each page is in, without saying where in it: what of a block is valid when it is cleaned goes
//! to the same block, and stays together from then on. So for each page it is enough to know which block it was
//! written to by the host, and for each block that was cleaned which one took its pages: a forest, in which
//! cleaning is one step, however many pages it moves.

use std::ops::Range;

/// Which block is cleaned, of those that have a superseded page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaning {
    /// The one with the fewest valid pages; among equals the one that has had that few for longest.
    Greedy,
    /// The one that was opened first.
    Fifo,
}

/// No block.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

/// The blocks of one frontier, numbered as they are opened, with a note on each.
pub(super) struct Blocks<N = ()> {
    per_block: u32,
    cleaning: Cleaning,
    /// For each page the block that it was last written to, or [`NONE`].
    written_to: Vec<u32>,
    /// For each block the one that took its pages; itself while it is not cleaned.
    taken_by: Vec<u32>,
    valid: Vec<u32>,
    notes: Vec<N>,
    /// Rings of closed blocks, one for each number of valid pages, which is its place after all blocks: the one
    /// that has had so many for longest comes first. For greedy cleaning alone.
    rings: Vec<Link>,
    /// No closed block has fewer valid pages.
    fewest: u32,
    /// A bit for each block, whether it is closed and has a superseded page, and the word before which there is
    /// none. For FIFO alone.
    gaining: Vec<u64>,
    oldest: usize,
    /// The next number.
    next: u32,
    /// The open block, or [`NONE`].
    open: u32,
    /// Pages written to it, and those of them that are not in `written_to`.
    filled: u32,
    pending: Vec<u32>,
    /// The blocks that lose pages by them; empty but while that is noted.
    superseded: Vec<u32>,
    closed: u32,
}

impl<N: Default> Blocks<N> {
    /// For so many pages, none of them written yet, with `most` blocks in use at a time.
    pub(super) fn new(pages: u32, per_block: u32, most: u32, cleaning: Cleaning) -> Self {
        // Numbers are given anew when they run out: with four for each block about once in three turns.
        let numbers = 4 * most + 4;
        let (rings, words) = match cleaning {
            Cleaning::Greedy => (numbers + 2 * per_block + 1, 0),
            Cleaning::Fifo => (0, numbers.div_ceil(64)),
        };
        Blocks {
            per_block,
            cleaning,
            written_to: vec![NONE; pages as usize],
            taken_by: (0..numbers).collect(),
            valid: vec![0; numbers as usize],
            notes: (0..numbers).map(|_| N::default()).collect(),
            rings: (0..rings).map(|at| Link { before: at, after: at }).collect(),
            fewest: per_block,
            gaining: vec![0; words as usize],
            oldest: 0,
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

    /// Writes pages, as many as there is room for at most, to the open block.
    #[inline]
    pub(super) fn write(&mut self, pages: Range<u32>) {
        let count = pages.end - pages.start;
        self.valid[self.open as usize] += count;
        self.filled += count;
        self.pending.extend(pages);
        if self.filled == self.per_block {
            self.fill();
        }
    }

    /// The open block is full. It is among the full ones before what its last page was before is out of date, as
    /// in drives that note that afterwards: by that may be decided which of two blocks with equally few valid
    /// pages is cleaned.
    fn fill(&mut self) {
        let last = self.pending.pop();
        self.settle();
        let open = self.open;
        self.close_if_full();
        self.point(last.as_slice(), open);
    }

    /// Notes where pages that were written are. That is put off until the block is full or somebody asks, so that
    /// all of them are looked for at once: most of the time goes by waiting for memory.
    #[inline]
    pub(super) fn settle(&mut self) {
        if !self.pending.is_empty() {
            let mut pages = std::mem::take(&mut self.pending);
            self.point(&pages, self.open);
            pages.clear();
            self.pending = pages;
        }
    }

    /// Notes that pages are in another block now.
    fn point(&mut self, pages: &[u32], block: u32) {
        let mut blocks = std::mem::take(&mut self.superseded);
        let written_to = &mut self.written_to;
        let before = |page: &u32| std::mem::replace(&mut written_to[*page as usize], block);
        blocks.extend(pages.iter().map(before).filter(|block| *block != NONE));
        for _ in 0..2 {
            blocks.iter_mut().for_each(|block| *block = self.taken_by[*block as usize]);
        }
        for alike in blocks.chunk_by(|one, other| one == other) {
            self.supersede(alike[0], small(alike.len()));
        }
        blocks.clear();
        self.superseded = blocks;
    }

    /// What is noted of the block that a page is in; none where it was never written.
    #[inline]
    pub(super) fn note_of(&mut self, page: usize) -> Option<&mut N> {
        self.settle();
        let written_to = self.written_to[page];
        if written_to == NONE {
            return None;
        }
        let block = self.block(written_to);
        Some(&mut self.notes[block as usize])
    }

    /// What is noted of the block that a page is in, where it was moved to that by cleaning.
    #[inline]
    pub(super) fn note_if_moved(&mut self, page: usize) -> Option<&N> {
        self.settle();
        let written_to = self.written_to[page];
        if written_to == NONE {
            return None;
        }
        let block = self.block(written_to);
        (block != written_to).then(|| &self.notes[block as usize])
    }

    /// Some pages that were written to a block are out of date.
    #[inline]
    fn supersede(&mut self, written_to: u32, pages: u32) {
        let block = self.block(written_to);
        let before = self.valid[block as usize];
        self.valid[block as usize] = before - pages;
        if block == self.open {
            return;
        }
        match self.cleaning {
            Cleaning::Greedy => {
                self.unlink(block);
                self.link(block);
            }
            Cleaning::Fifo => self.gains(block),
        }
    }

    /// A closed block has a superseded page.
    #[inline]
    fn gains(&mut self, block: u32) {
        let word = (block / 64) as usize;
        self.gaining[word] |= 1 << (block % 64);
        self.oldest = self.oldest.min(word);
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
        self.valid[self.open as usize] = 0;
        self.notes[self.open as usize] = N::default();
        self.next += 1;
    }

    /// Closes the open block if it is full. What was written beyond its end then fills the next.
    fn close_if_full(&mut self) {
        if self.filled < self.per_block {
            return;
        }
        let full = std::mem::replace(&mut self.open, NONE);
        self.closed += 1;
        self.filled -= self.per_block;
        match self.cleaning {
            Cleaning::Greedy => self.link(full),
            Cleaning::Fifo if self.valid[full as usize] < self.per_block => self.gains(full),
            Cleaning::Fifo => {}
        }
    }

    /// Cleans a block, whose valid pages go to the open one, or to one that is opened; if they do not fit, that has
    /// more pages than others, and the next, which is opened, fewer. Says how many these are, what was noted of
    /// the block, and what is of the one that took them; none where no block has a superseded page.
    pub(super) fn clean(&mut self) -> Option<(u32, N, &mut N)> {
        self.settle();
        // So that no number changes here.
        if self.next as usize + 2 > self.taken_by.len() {
            self.number_anew();
        }
        let victim = self.victim()?;
        self.closed -= 1;
        let (valid, note) =
            (self.valid[victim as usize], std::mem::take(&mut self.notes[victim as usize]));
        if valid == 0 {
            self.taken_by[victim as usize] = NONE;
            return Some((0, note, &mut self.notes[victim as usize]));
        }
        if self.open == NONE {
            self.open();
        }
        let room = self.room();
        self.filled += valid;
        let taker = self.open;
        self.taken_by[victim as usize] = taker;
        self.valid[taker as usize] += valid;
        self.close_if_full();
        if self.open == NONE && valid > room {
            self.open();
        }
        Some((valid, note, &mut self.notes[taker as usize]))
    }

    fn victim(&mut self) -> Option<u32> {
        match self.cleaning {
            Cleaning::Greedy => loop {
                if self.fewest >= self.per_block {
                    return None;
                }
                let ring = self.ring(self.fewest);
                let first = self.rings[ring as usize].after;
                if first != ring {
                    self.unlink(first);
                    return Some(first);
                }
                self.fewest += 1;
            },
            Cleaning::Fifo => {
                let words = &self.gaining[self.oldest..];
                self.oldest += words.iter().position(|word| *word != 0)?;
                let word = &mut self.gaining[self.oldest];
                let block = small(self.oldest) * 64 + word.trailing_zeros();
                *word &= *word - 1;
                Some(block)
            }
        }
    }

    /// The blocks that gain, in order.
    fn gaining_blocks(&self) -> impl Iterator<Item = u32> {
        let numbers = 0..small(64 * self.gaining.len());
        numbers.filter(|block| self.gaining[(block / 64) as usize] >> (block % 64) & 1 == 1)
    }

    /// The ring of blocks with so many valid pages.
    fn ring(&self, valid: u32) -> u32 {
        small(self.taken_by.len()) + valid
    }

    fn link(&mut self, block: u32) {
        let valid = self.valid[block as usize];
        self.fewest = self.fewest.min(valid);
        let ring = self.ring(valid);
        let last = std::mem::replace(&mut self.rings[ring as usize].before, block);
        self.rings[last as usize].after = block;
        self.rings[block as usize] = Link { before: last, after: ring };
    }

    fn unlink(&mut self, block: u32) {
        let Link { before, after } = self.rings[block as usize];
        self.rings[before as usize].after = after;
        self.rings[after as usize].before = before;
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
        let mut names: Vec<u32> = (0..small(self.rings.len()).max(numbers)).collect();
        let mut next = 0;
        for block in 0..self.next {
            if self.taken_by[block as usize] == block {
                names[block as usize] = next;
                self.valid[next as usize] = self.valid[block as usize];
                self.notes.swap(next as usize, block as usize);
                if let Some(link) = self.rings.get(block as usize).copied() {
                    self.rings[next as usize] = link;
                }
                next += 1;
            }
        }
        let written = self.written_to.iter_mut().filter(|block| **block != NONE);
        written.for_each(|block| *block = names[*block as usize]);
        for link in &mut self.rings {
            link.before = names[link.before as usize];
            link.after = names[link.after as usize];
        }
        self.taken_by = (0..numbers).collect();
        self.next = next;
        self.open = if self.open == NONE { NONE } else { names[self.open as usize] };
        let gaining: Vec<u32> = self.gaining_blocks().map(|block| names[block as usize]).collect();
        self.gaining.fill(0);
        gaining.into_iter().for_each(|block| self.gains(block));
        self.oldest = 0;
    }
}

/// A number of pages or blocks, which are below 2^32.
#[allow(clippy::cast_possible_truncation)]
fn small(number: usize) -> u32 {
    debug_assert!(u32::try_from(number).is_ok());
    number as u32
}
