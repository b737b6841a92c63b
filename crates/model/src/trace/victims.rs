//! The choice of the next block for GC to collect.

/// The GC policy: the rule that chooses among closed blocks with a superseded page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcPolicy {
    /// The block with the fewest valid pages; among equals, the block that reached this number
    /// first.
    Greedy,
    /// The block that was opened first.
    Fifo,
}

/// The block number that means "no block".
const NONE: u32 = u32::MAX;

/// A block, or the head of a ring of blocks. The fields are stored together because they are used
/// together.
#[derive(Debug, Clone, Copy)]
struct Block {
    valid: u32,
    before: u32,
    after: u32,
}

/// Blocks with their numbers of valid pages. A block is opened, gains pages, is closed, loses
/// pages, and is taken.
pub(super) struct Victims {
    per_block: u32,
    /// The blocks, followed by the heads of rings of closed blocks, one ring for each number of
    /// valid pages. In a ring, blocks follow the order in which they reached that number. Only
    /// greedy GC uses the rings.
    blocks: Vec<Block>,
    count: u32,
    /// A lower bound for the valid pages of closed blocks.
    fewest: u32,
    /// The order of the blocks by age; `None` for greedy GC.
    ages: Option<Ages>,
}

impl Victims {
    /// Creates `count` blocks of `per_block` pages, none of them open.
    pub(super) fn new(count: u32, per_block: u32, policy: GcPolicy) -> Victims {
        let alone = |at| Block { valid: 0, before: at, after: at };
        Victims {
            per_block,
            blocks: (0..=count + per_block).map(alone).collect(),
            count,
            fewest: per_block,
            ages: (policy == GcPolicy::Fifo).then(|| Ages::new(count)),
        }
    }

    /// Returns the number of valid pages in a block.
    #[inline]
    pub(super) fn valid(&self, block: u32) -> u32 {
        self.blocks[block as usize].valid
    }

    /// Opens a block without pages.
    pub(super) fn open(&mut self, block: u32) {
        self.blocks[block as usize].valid = 0;
        if let Some(ages) = &mut self.ages {
            ages.open(block);
        }
    }

    /// Adds pages to an open block.
    #[inline]
    pub(super) fn gain(&mut self, block: u32, pages: u32) {
        self.blocks[block as usize].valid += pages;
    }

    /// Closes an open block.
    pub(super) fn close(&mut self, block: u32) {
        match &mut self.ages {
            None => self.link(block),
            Some(ages) if self.blocks[block as usize].valid < self.per_block => ages.mark(block),
            Some(_) => {}
        }
    }

    /// Subtracts superseded pages from an open block.
    #[inline]
    pub(super) fn lose_open(&mut self, block: u32, pages: u32) {
        self.blocks[block as usize].valid -= pages;
    }

    /// Subtracts superseded pages from a closed block.
    #[inline]
    pub(super) fn lose(&mut self, block: u32, pages: u32) {
        let Block { valid, before, after } = &mut self.blocks[block as usize];
        *valid -= pages;
        let (before, after) = (*before, *after);
        match &mut self.ages {
            None => {
                self.unlink(before, after);
                self.link(block);
            }
            Some(ages) => ages.mark(block),
        }
    }

    /// Removes and returns the next victim, or `None` if no closed block has lost a page.
    pub(super) fn take(&mut self) -> Option<u32> {
        if let Some(ages) = &mut self.ages {
            return ages.take();
        }
        while self.fewest < self.per_block {
            let ring = self.ring(self.fewest);
            let first = self.blocks[ring as usize].after;
            if first != ring {
                let Block { before, after, .. } = self.blocks[first as usize];
                self.unlink(before, after);
                return Some(first);
            }
            self.fewest += 1;
        }
        None
    }

    /// Returns the head of the ring for a number of valid pages.
    #[inline]
    fn ring(&self, valid: u32) -> u32 {
        self.count + valid
    }

    #[inline]
    fn link(&mut self, block: u32) {
        let valid = self.blocks[block as usize].valid;
        self.fewest = self.fewest.min(valid);
        let ring = self.ring(valid);
        let last = std::mem::replace(&mut self.blocks[ring as usize].before, block);
        self.blocks[last as usize].after = block;
        let own = &mut self.blocks[block as usize];
        (own.before, own.after) = (last, ring);
    }

    #[inline]
    fn unlink(&mut self, before: u32, after: u32) {
        self.blocks[before as usize].after = after;
        self.blocks[after as usize].before = before;
    }

    /// Renumbers the blocks. `names` has the new number of each block, which must not exceed the
    /// old number. Blocks that are not in use may share a number.
    pub(super) fn rename(&mut self, names: &[u32]) {
        let renamed = |at: u32| names.get(at as usize).copied().unwrap_or(at);
        for at in 0..self.blocks.len() {
            let Block { valid, before, after } = self.blocks[at];
            let to = names.get(at).map_or(at, |name| *name as usize);
            self.blocks[to] = Block { valid, before: renamed(before), after: renamed(after) };
        }
        if let Some(ages) = &mut self.ages {
            ages.order
                .iter_mut()
                .filter(|block| **block != NONE)
                .for_each(|block| *block = renamed(*block));
            ages.compact();
        }
    }
}

/// Blocks in the order in which they were opened.
struct Ages {
    /// The blocks in the order in which they were opened, with [`NONE`] in place of blocks that GC
    /// has taken.
    order: Vec<u32>,
    /// For each block, its index in `order`.
    nth: Vec<u32>,
    /// A bit for each index in `order`: true if the block is closed and has lost a page. All words
    /// before `oldest` are 0.
    marked: Vec<u64>,
    oldest: usize,
}

impl Ages {
    fn new(count: u32) -> Ages {
        // With twice as many entries as blocks, a compaction frees at least half of the entries. It
        // runs at most once for every `count` blocks that are opened.
        let places = 2 * count as usize;
        Ages {
            order: Vec::with_capacity(places),
            nth: vec![NONE; count as usize],
            marked: vec![0; places.div_ceil(64)],
            oldest: 0,
        }
    }

    fn open(&mut self, block: u32) {
        if self.order.len() == 64 * self.marked.len() {
            self.compact();
        }
        self.nth[block as usize] = small(self.order.len());
        self.order.push(block);
    }

    #[inline]
    fn mark(&mut self, block: u32) {
        let nth = self.nth[block as usize];
        let word = (nth / 64) as usize;
        self.marked[word] |= 1 << (nth % 64);
        self.oldest = self.oldest.min(word);
    }

    fn take(&mut self) -> Option<u32> {
        let words = &self.marked[self.oldest..];
        self.oldest += words.iter().position(|word| *word != 0)?;
        let word = &mut self.marked[self.oldest];
        let nth = self.oldest * 64 + word.trailing_zeros() as usize;
        *word &= *word - 1;
        Some(std::mem::replace(&mut self.order[nth], NONE))
    }

    /// Removes the gaps in `order`.
    #[cold]
    fn compact(&mut self) {
        let marked = std::mem::take(&mut self.marked);
        self.marked = vec![0; marked.len()];
        self.oldest = 0;
        for (nth, block) in std::mem::take(&mut self.order).into_iter().enumerate() {
            if block != NONE {
                self.nth[block as usize] = small(self.order.len());
                self.order.push(block);
                if marked[nth / 64] >> (nth % 64) & 1 == 1 {
                    self.mark(block);
                }
            }
        }
    }
}

/// Narrows a number of pages or blocks, which is below 2^32.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn small(number: usize) -> u32 {
    debug_assert!(u32::try_from(number).is_ok());
    number as u32
}
