use super::buckets::Buckets;
use super::{Kind, Policy, VictimPolicy};
use crate::nand::BlockId;

pub(super) const KIND: Kind = Kind {
    name: "greedy",
    summary: "the block with the fewest valid pages; among equals, the first or the last to reach \
              that number, as `cleaning.ties` says",
    source: "Agrawal et al., USENIX ATC'08, section 3.2",
    new: |layout| Policy::Greedy(Greedy { buckets: Buckets::new(layout) }),
    footprint: Buckets::footprint,
};

/// The candidates of each lane, in queues by number of valid pages.
pub struct Greedy {
    buckets: Buckets,
}

impl VictimPolicy for Greedy {
    #[inline]
    fn prefetch_supersede(&self, block: BlockId) {
        self.buckets.prefetch_supersede(block);
    }

    #[inline]
    fn closed(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.buckets.insert(lane, block, valid);
    }

    #[inline]
    fn superseded(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.buckets.superseded(lane, block, valid);
    }

    #[inline]
    fn take(&mut self, lane: u32, mut accept: impl FnMut(BlockId) -> bool) -> Option<BlockId> {
        self.buckets.take(lane, &mut accept)
    }

    fn likely(&self, lane: u32) -> Option<BlockId> {
        self.buckets.likely(lane)
    }

    fn remove(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.buckets.remove(lane, block, valid);
    }
}

#[cfg(test)]
mod tests {
    use crate::gc::testing::{Candidate, OPTIONS, agrees_with, design};
    use crate::gc::{Ties, VictimOptions};

    // Covers both tie-breaks.
    #[test]
    fn agrees_with_a_full_search() {
        let oldest = VictimOptions { ties: Ties::Oldest, ..OPTIONS };
        agrees_with(&design("greedy", oldest), |candidates: &mut [Candidate], _| {
            candidates.sort_by_key(|block| (block.valid, block.reached));
        });
        let youngest = VictimOptions { ties: Ties::Youngest, ..OPTIONS };
        agrees_with(&design("greedy", youngest), |candidates: &mut [Candidate], _| {
            candidates.sort_by_key(|block| (block.valid, u64::MAX - block.reached));
        });
    }
}
