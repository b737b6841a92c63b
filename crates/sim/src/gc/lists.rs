use crate::footprint::{Size, fixed};
use crate::memory::prefetch;
use crate::nand::BlockId;

/// The value for "no block", at the end of a list.
const NONE: u32 = u32::MAX;
/// The value of `next` for a block that is in no list.
const DETACHED: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

#[derive(Clone, Copy)]
struct Ends {
    front: u32,
    back: u32,
}

/// Doubly linked lists of blocks. Each block is in at most one of them. Every operation is O(1).
pub(super) struct Lists {
    /// One link for each block of the drive.
    links: Vec<Link>,
    ends: Vec<Ends>,
}

const fn some(block: u32) -> Option<BlockId> {
    if block == NONE { None } else { Some(BlockId(block)) }
}

impl Lists {
    /// Returns the memory that `lists` lists over `blocks` blocks need.
    pub(super) fn footprint(blocks: u32, lists: u64) -> Size {
        fixed::<Link>(blocks) + fixed::<Ends>(lists)
    }

    /// Creates `lists` empty lists for the blocks 0 to `blocks - 1`.
    pub(super) fn new(blocks: u32, lists: usize) -> Self {
        Lists {
            links: vec![Link { previous: NONE, next: DETACHED }; blocks as usize],
            ends: vec![Ends { front: NONE, back: NONE }; lists],
        }
    }

    /// Appends a block that is in no list.
    #[inline]
    pub(super) fn push(&mut self, list: usize, block: BlockId) {
        let previous = std::mem::replace(&mut self.ends[list].back, block.0);
        if previous == NONE {
            self.ends[list].front = block.0;
        } else {
            self.links[previous as usize].next = block.0;
        }
        self.links[block.0 as usize] = Link { previous, next: NONE };
    }

    /// Removes a block from `list`, which must contain it.
    #[inline]
    pub(super) fn unlink(&mut self, list: usize, block: BlockId) {
        let Link { previous, next } = self.links[block.0 as usize];
        self.links[block.0 as usize].next = DETACHED;
        if previous == NONE {
            self.ends[list].front = next;
        } else {
            self.links[previous as usize].next = next;
        }
        if next == NONE {
            self.ends[list].back = previous;
        } else {
            self.links[next as usize].previous = previous;
        }
    }

    /// Prefetches the link of a block that will soon move.
    #[inline]
    pub(super) fn prefetch(&self, block: BlockId) {
        prefetch(&self.links, block.0 as usize);
    }

    /// Returns true if a block is in any list.
    #[inline]
    pub(super) fn contains(&self, block: BlockId) -> bool {
        self.links[block.0 as usize].next != DETACHED
    }

    /// Returns the first block of a list, which has been in it the longest.
    #[inline]
    pub(super) fn front(&self, list: usize) -> Option<BlockId> {
        some(self.ends[list].front)
    }

    /// Returns the last block of a list.
    #[inline]
    pub(super) fn back(&self, list: usize) -> Option<BlockId> {
        some(self.ends[list].back)
    }

    /// Returns the block that follows `block` in its list.
    #[inline]
    pub(super) fn next(&self, block: BlockId) -> Option<BlockId> {
        some(self.links[block.0 as usize].next)
    }

    /// Returns the block that precedes `block` in its list.
    #[inline]
    pub(super) fn previous(&self, block: BlockId) -> Option<BlockId> {
        some(self.links[block.0 as usize].previous)
    }
}
