use super::buckets::Buckets;
use super::lists::Lists;
use super::{Kind, Policy, VictimPolicy};
use crate::footprint::fixed;
use crate::nand::BlockId;
use crate::setup::Layout;

pub(super) const KIND: Kind = Kind {
    name: "windowed-greedy",
    summary: "the block with the fewest valid pages among the `cleaning.window` blocks of its lane \
              that were filled first",
    source: "Hu et al., SYSTOR'09: windowed greedy cleaning",
    new: |layout| Policy::WindowedGreedy(WindowedGreedy::new(layout)),
    footprint: |layout| {
        let (blocks, lanes) = (layout.geometry.blocks(), layout.lanes());
        Lists::footprint(blocks, lanes.into())
            + Buckets::footprint(layout)
            + fixed::<Lane>(lanes)
            + fixed::<Block>(blocks)
    },
};

/// The candidates of each lane in the order in which they were closed. The first `size` candidates
/// form the *window* and are also queued by number of valid pages.
///
/// The tie-break compares the times at which blocks reached their number of valid pages. For a
/// block that entered the window with that number, it uses the time of entry. If no block of the
/// window is accepted, the policy offers the other blocks in the order in which they were closed.
pub struct WindowedGreedy {
    /// One queue for each lane.
    queues: Lists,
    window: Buckets,
    lanes: Vec<Lane>,
    /// The state of each block: its number of valid pages, and a flag that is true if it is in the
    /// window.
    blocks: Vec<Block>,
    size: u32,
    max_valid: u32,
}

#[derive(Clone, Copy, Default)]
struct Lane {
    /// Number of blocks in the window.
    inside: u32,
    /// The first block of the queue that is outside the window.
    outside: Option<BlockId>,
}

#[derive(Clone, Copy, Default)]
struct Block {
    valid: u32,
    inside: bool,
}

impl WindowedGreedy {
    fn new(layout: &Layout) -> Self {
        let blocks = layout.geometry.blocks();
        WindowedGreedy {
            queues: Lists::new(blocks, layout.lanes() as usize),
            window: Buckets::new(layout),
            lanes: vec![Lane::default(); layout.lanes() as usize],
            blocks: vec![Block::default(); blocks as usize],
            size: layout.cleaning.window,
            max_valid: layout.max_valid(),
        }
    }

    fn enter(&mut self, lane: u32, block: BlockId) {
        let state = &mut self.blocks[block.0 as usize];
        state.inside = true;
        self.window.insert(lane, block, state.valid);
        self.lanes[lane as usize].inside += 1;
    }

    /// Removes a block from the queue. If it was in the window, the caller has removed it from its
    /// bucket, and the oldest block outside the window moves in.
    fn leave(&mut self, lane: u32, block: BlockId) {
        let outside = &mut self.lanes[lane as usize].outside;
        if *outside == Some(block) {
            *outside = self.queues.next(block);
        }
        self.queues.unlink(lane as usize, block);
        if !std::mem::take(&mut self.blocks[block.0 as usize].inside) {
            return;
        }
        self.lanes[lane as usize].inside -= 1;
        if let Some(next) = self.lanes[lane as usize].outside {
            self.lanes[lane as usize].outside = self.queues.next(next);
            self.enter(lane, next);
        }
    }

    /// Returns the oldest block outside the window that `accept` accepts.
    fn first_outside(
        &self,
        lane: u32,
        accept: &mut impl FnMut(BlockId) -> bool,
    ) -> Option<BlockId> {
        let first = self.lanes[lane as usize].outside;
        std::iter::successors(first, |block| self.queues.next(*block))
            .find(|block| self.blocks[block.0 as usize].valid <= self.max_valid && accept(*block))
    }
}

impl VictimPolicy for WindowedGreedy {
    #[inline]
    fn closed(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.queues.push(lane as usize, block);
        self.blocks[block.0 as usize].valid = valid;
        let state = &mut self.lanes[lane as usize];
        if state.inside < self.size {
            self.enter(lane, block);
        } else if state.outside.is_none() {
            state.outside = Some(block);
        }
    }

    #[inline]
    fn superseded(&mut self, lane: u32, block: BlockId, valid: u32) {
        let state = &mut self.blocks[block.0 as usize];
        state.valid = valid;
        if state.inside {
            self.window.superseded(lane, block, valid);
        }
    }

    #[inline]
    fn take(&mut self, lane: u32, mut accept: impl FnMut(BlockId) -> bool) -> Option<BlockId> {
        let block = self.window.take(lane, &mut accept);
        let block = block.or_else(|| self.first_outside(lane, &mut accept))?;
        self.leave(lane, block);
        Some(block)
    }

    fn remove(&mut self, lane: u32, block: BlockId, valid: u32) {
        if self.blocks[block.0 as usize].inside {
            self.window.remove(lane, block, valid);
        }
        self.leave(lane, block);
    }
}

#[cfg(test)]
mod tests {
    use crate::gc::testing::{Candidate, OPTIONS, agrees_with, design};
    use crate::gc::{Ties, VictimOptions};

    /// Sorts the blocks of the window by preference, followed by the other blocks. The field
    /// `entered` is the time when a block entered the window.
    fn order(candidates: &mut [Candidate], window: usize, ties: Ties) {
        candidates.sort_by_key(|block| block.closed);
        let window = window.min(candidates.len());
        candidates[..window].sort_by_key(|block| {
            let since = block.reached.max(block.entered);
            (block.valid, if ties == Ties::Oldest { since } else { u64::MAX - since })
        });
    }

    // Covers windows of one block, of some blocks, and of more blocks than there are candidates.
    #[test]
    fn agrees_with_a_full_search() {
        for (window, ties) in
            [(1, Ties::Oldest), (7, Ties::Oldest), (7, Ties::Youngest), (99, Ties::Oldest)]
        {
            let options = VictimOptions { window, ties, ..OPTIONS };
            agrees_with(&design("windowed-greedy", options), |candidates, _| {
                order(candidates, window as usize, ties);
            });
        }
    }
}
