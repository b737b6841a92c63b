use super::Ties;
use super::lists::Lists;
use crate::footprint::{Size, fixed};
use crate::nand::BlockId;
use crate::setup::Layout;

/// Queues of blocks, one for each lane and number of valid pages. A superseded page moves its block
/// to the end of the next lower queue. That step is O(1). Taking the best block is O(1) amortized
/// over the steps that lowered `lowest`.
pub(super) struct Buckets {
    /// One list for each lane and each number of valid pages, from 0 to a full block.
    lists: Lists,
    /// For each lane, a number of valid pages below which all queues are empty.
    lowest: Vec<u32>,
    slots_per_block: u32,
    max_valid: u32,
    ties: Ties,
}

impl Buckets {
    pub(super) fn new(layout: &Layout) -> Self {
        let lanes = layout.lanes() as usize;
        let buckets = lanes * (layout.slots_per_block() as usize + 1);
        Buckets {
            lists: Lists::new(layout.geometry.blocks(), buckets),
            lowest: vec![layout.slots_per_block(); lanes],
            slots_per_block: layout.slots_per_block(),
            max_valid: layout.max_valid(),
            ties: layout.cleaning.ties,
        }
    }

    /// Returns the memory that the queues need.
    pub(super) fn footprint(layout: &Layout) -> Size {
        let (lanes, blocks) = (u64::from(layout.lanes()), layout.geometry.blocks());
        let buckets = lanes * (u64::from(layout.slots_per_block()) + 1);
        Lists::footprint(blocks, buckets) + fixed::<u32>(lanes)
    }

    fn list(&self, lane: u32, valid: u32) -> usize {
        lane as usize * (self.slots_per_block as usize + 1) + valid as usize
    }

    #[inline]
    pub(super) fn insert(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.lists.push(self.list(lane, valid), block);
        let lowest = &mut self.lowest[lane as usize];
        *lowest = valid.min(*lowest);
    }

    #[inline]
    pub(super) fn remove(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.lists.unlink(self.list(lane, valid), block);
    }

    /// Prefetches the state of `block`, one of whose pages will soon be superseded.
    #[inline]
    pub(super) fn prefetch_supersede(&self, block: BlockId) {
        self.lists.prefetch(block);
    }

    /// Records that `block` has `valid` valid pages left, if it is in a queue.
    #[inline]
    pub(super) fn superseded(&mut self, lane: u32, block: BlockId, valid: u32) {
        if self.lists.contains(block) {
            self.remove(lane, block, valid + 1);
            self.insert(lane, block, valid);
        }
    }

    /// Returns the block with the fewest valid pages, if it has at most [`Layout::max_valid`].
    pub(super) fn likely(&self, lane: u32) -> Option<BlockId> {
        let mut buckets = self.lowest[lane as usize]..=self.max_valid;
        buckets.find_map(|valid| self.first(self.list(lane, valid)))
    }

    /// Returns the block of a list that the tie-break prefers.
    #[inline]
    fn first(&self, list: usize) -> Option<BlockId> {
        match self.ties {
            Ties::Oldest => self.lists.front(list),
            Ties::Youngest => self.lists.back(list),
        }
    }

    /// Removes and returns the block with the fewest valid pages, at most [`Layout::max_valid`],
    /// that `accept` accepts.
    #[inline]
    pub(super) fn take(
        &mut self,
        lane: u32,
        accept: &mut impl FnMut(BlockId) -> bool,
    ) -> Option<BlockId> {
        let mut all_empty = true;
        for valid in self.lowest[lane as usize]..=self.max_valid {
            let list = self.list(lane, valid);
            let mut next = self.first(list);
            all_empty &= next.is_none();
            if all_empty {
                self.lowest[lane as usize] = valid + 1;
            }
            while let Some(block) = next {
                if accept(block) {
                    self.lists.unlink(list, block);
                    return Some(block);
                }
                next = match self.ties {
                    Ties::Oldest => self.lists.next(block),
                    Ties::Youngest => self.lists.previous(block),
                };
            }
        }
        None
    }
}
