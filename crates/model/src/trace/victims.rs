//! Which of the full blocks is cleaned next.

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

/// A block, or the begin of a ring of them: together, as all of it is looked at at once.
#[derive(Debug, Clone, Copy)]
struct Block {
    valid: u32,
    before: u32,
    after: u32,
}

/// Blocks with how many valid pages each has. A block is opened, gets pages, is closed, loses pages and is taken.
pub(super) struct Victims {
    per_block: u32,
    /// First the blocks, and then a ring of closed ones for each number of valid pages: the one that has had so
    /// many for longest comes first. For greedy cleaning alone.
    blocks: Vec<Block>,
    count: u32,
    /// No closed block has fewer valid pages.
    fewest: u32,
    /// For FIFO alone.
    ages: Option<Ages>,
}

impl Victims {
    /// For so many blocks of so many pages, none of them open.
    pub(super) fn new(count: u32, per_block: u32, cleaning: Cleaning) -> Victims {
        let alone = |at| Block { valid: 0, before: at, after: at };
        Victims {
            per_block,
            blocks: (0..=count + per_block).map(alone).collect(),
            count,
            fewest: per_block,
            ages: (cleaning == Cleaning::Fifo).then(|| Ages::new(count)),
        }
    }

    /// Valid pages of a block.
    #[inline]
    pub(super) fn valid(&self, block: u32) -> u32 {
        self.blocks[block as usize].valid
    }

    /// A block is opened, without pages.
    pub(super) fn open(&mut self, block: u32) {
        self.blocks[block as usize].valid = 0;
        if let Some(ages) = &mut self.ages {
            ages.open(block);
        }
    }

    /// The open block gets pages.
    #[inline]
    pub(super) fn gain(&mut self, block: u32, pages: u32) {
        self.blocks[block as usize].valid += pages;
    }

    /// The open block is full.
    pub(super) fn close(&mut self, block: u32) {
        match &mut self.ages {
            None => self.link(block),
            Some(ages) if self.blocks[block as usize].valid < self.per_block => ages.mark(block),
            Some(_) => {}
        }
    }

    /// A block loses pages while it is open.
    #[inline]
    pub(super) fn lose_open(&mut self, block: u32, pages: u32) {
        self.blocks[block as usize].valid -= pages;
    }

    /// A closed block loses pages.
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

    /// Takes the block that is cleaned next; none where no closed block has lost a page.
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

    /// The ring of blocks with so many valid pages.
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

    /// Gives blocks other numbers, none of them a higher one; those that are not in use may all get the same.
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
            ages.tidy();
        }
    }
}

/// Blocks in the order in which they were opened.
struct Ages {
    /// Those that were opened, or [`NONE`] where one was taken since.
    order: Vec<u32>,
    /// For each block where it is in that order.
    nth: Vec<u32>,
    /// A bit for each place in that order, whether the block is closed and has lost a page, and the word before
    /// which there is none.
    marked: Vec<u64>,
    oldest: usize,
}

impl Ages {
    fn new(count: u32) -> Ages {
        // Room for as many again as are in use, so that it is tidied up once for each at most.
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
            self.tidy();
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

    /// Leaves out those that were taken.
    #[cold]
    fn tidy(&mut self) {
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

/// A number of pages or blocks, which are below 2^32.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn small(number: usize) -> u32 {
    debug_assert!(u32::try_from(number).is_ok());
    number as u32
}
