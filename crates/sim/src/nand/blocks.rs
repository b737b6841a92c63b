use super::{BlockId, Geometry, Lpn, Page};

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
        /// Its pages that are not superseded.
        valid: u32,
    },
}

#[derive(Debug, Clone, Copy, Default)]
struct Block {
    /// Pages programmed since the last erase: the next page to be programmed.
    written: u32,
    /// Pages programmed and not superseded.
    valid: u32,
    erases: u32,
}

/// The state of every block and the metadata of every page, and the rules of what may follow what.
pub(super) struct Blocks {
    geometry: Geometry,
    blocks: Vec<Block>,
    /// One bit a page: programmed and not superseded.
    live: Vec<u64>,
    /// Words of `live` in a block.
    words: usize,
    /// What the metadata of each programmed page says: the logical page it holds (section 3.4).
    logical: Vec<u32>,
}

impl Blocks {
    pub(super) fn new(geometry: Geometry) -> Self {
        let words = geometry.pages_per_block.div_ceil(64) as usize;
        Blocks {
            blocks: vec![Block::default(); geometry.blocks() as usize],
            live: vec![0; words * geometry.blocks() as usize],
            words,
            logical: vec![0; geometry.pages() as usize],
            geometry,
        }
    }

    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn state(&self, block: BlockId) -> &Block {
        &self.blocks[block.0 as usize]
    }

    fn live_word(&mut self, page: Page) -> (&mut u64, u64) {
        let word = page.block.0 as usize * self.words + (page.index / 64) as usize;
        (&mut self.live[word], 1 << (page.index % 64))
    }

    /// The logical page that `page` holds.
    #[inline]
    pub(super) fn read(&self, page: Page) -> Result<Lpn, Illegal> {
        if page.index >= self.state(page.block).written {
            return Err(Illegal::ReadOfErasedPage(page));
        }
        Ok(Lpn(self.logical[self.geometry.ppn(page).0 as usize]))
    }

    #[inline]
    pub(super) fn program(&mut self, page: Page, lpn: Lpn) -> Result<(), Illegal> {
        let block = &mut self.blocks[page.block.0 as usize];
        if page.index != block.written || page.index >= self.geometry.pages_per_block {
            return Err(Illegal::ProgramOutOfOrder { page, next: block.written });
        }
        block.written += 1;
        block.valid += 1;
        let (word, bit) = self.live_word(page);
        *word |= bit;
        self.logical[self.geometry.ppn(page).0 as usize] = lpn.0;
        Ok(())
    }

    #[inline]
    pub(super) fn erase(&mut self, block: BlockId) -> Result<(), Illegal> {
        let state = &mut self.blocks[block.0 as usize];
        if state.valid > 0 {
            return Err(Illegal::EraseOfValidPages { block, valid: state.valid });
        }
        state.written = 0;
        state.erases += 1;
        Ok(())
    }

    #[inline]
    pub(super) fn supersede(&mut self, page: Page) -> u32 {
        let (word, bit) = self.live_word(page);
        debug_assert!(*word & bit != 0, "{page:?} is superseded twice");
        *word &= !bit;
        let block = &mut self.blocks[page.block.0 as usize];
        block.valid -= 1;
        block.valid
    }

    pub(super) fn valid(&self, block: BlockId) -> u32 {
        self.state(block).valid
    }

    pub(super) fn is_valid(&self, page: Page) -> bool {
        let word = page.block.0 as usize * self.words + (page.index / 64) as usize;
        self.live[word] >> (page.index % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn first_valid(&self, block: BlockId) -> Option<Page> {
        let start = block.0 as usize * self.words;
        let mut base = 0;
        for word in &self.live[start..start + self.words] {
            if *word != 0 {
                return Some(Page { block, index: base + word.trailing_zeros() });
            }
            base += 64;
        }
        None
    }

    pub(super) fn erase_counts(&self) -> impl ExactSizeIterator<Item = u32> {
        self.blocks.iter().map(|block| block.erases)
    }
}
