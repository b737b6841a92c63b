use super::lists::Lists;
use super::{Kind, Policy, VictimPolicy};
use crate::footprint::fixed;
use crate::nand::BlockId;
use crate::setup::Layout;

pub(super) const KIND: Kind = Kind {
    name: "fifo",
    summary: "the block that was filled first (also called LRU or least recently written)",
    source: "Desnoyers, SYSTOR'12: LRU cleaning, equation 4",
    new: |layout| Policy::Fifo(Fifo::new(layout)),
    footprint: |layout| {
        let blocks = layout.geometry.blocks();
        Lists::footprint(blocks, layout.lanes().into()) + fixed::<bool>(blocks)
    },
};

/// The candidates of each lane, in the order in which they were closed.
pub struct Fifo {
    /// One queue for each lane.
    queues: Lists,
    /// For each block, true if its collection would gain a page.
    gains: Vec<bool>,
    max_valid: u32,
}

impl Fifo {
    fn new(layout: &Layout) -> Self {
        let blocks = layout.geometry.blocks();
        Fifo {
            queues: Lists::new(blocks, layout.lanes() as usize),
            gains: vec![false; blocks as usize],
            max_valid: layout.max_valid(),
        }
    }
}

impl VictimPolicy for Fifo {
    #[inline]
    fn closed(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.queues.push(lane as usize, block);
        self.gains[block.0 as usize] = valid <= self.max_valid;
    }

    #[inline]
    fn superseded(&mut self, _: u32, block: BlockId, valid: u32) {
        // No block skips this number, because pages are superseded one at a time.
        if valid == self.max_valid {
            self.gains[block.0 as usize] = true;
        }
    }

    #[inline]
    fn take(&mut self, lane: u32, mut accept: impl FnMut(BlockId) -> bool) -> Option<BlockId> {
        let mut next = self.queues.front(lane as usize);
        while let Some(block) = next {
            if self.gains[block.0 as usize] && accept(block) {
                self.queues.unlink(lane as usize, block);
                return Some(block);
            }
            next = self.queues.next(block);
        }
        None
    }

    fn remove(&mut self, lane: u32, block: BlockId, _: u32) {
        self.queues.unlink(lane as usize, block);
    }
}

#[cfg(test)]
mod tests {
    use crate::gc::testing::{OPTIONS, agrees_with, design};

    // The policy offers blocks in the order in which they were closed.
    #[test]
    fn agrees_with_a_full_search() {
        agrees_with(&design("fifo", OPTIONS), |candidates, _| {
            candidates.sort_by_key(|block| block.closed);
        });
    }
}
