use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Kind, Policy, VictimPolicy};
use crate::footprint::{Size, fixed, grown};
use crate::nand::BlockId;
use crate::setup::Layout;

pub(super) const KIND: Kind = Kind {
    name: "cost-benefit",
    summary: "the block with the highest (1 - u) age / (1 + u), where u is the fraction of its \
              pages that are valid, and age the number of blocks that its lane has filled after it",
    source: "Rosenblum and Ousterhout, ACM TOCS 10(1), 1992: the cost-benefit policy",
    new: |layout| Policy::CostBenefit(CostBenefit::new(layout)),
    footprint: CostBenefit::footprint,
};

/// The candidates, grouped by lane and number of valid pages, oldest first. The oldest candidate of
/// a group is also its best. The best candidate of a lane is therefore the oldest of one of its
/// groups.
///
/// The clock of a lane counts the blocks closed in it, whether the host or garbage collection
/// filled them. It measures the pages written to the lane, in blocks.
pub struct CostBenefit {
    /// One heap for each lane and number of valid pages up to `max_valid`.
    ages: Vec<Ages>,
    /// For each lane, the number of blocks closed so far.
    clocks: Vec<u64>,
    blocks: Vec<Block>,
    slots_per_block: u32,
    max_valid: u32,
}

/// The time when a block was closed, and the block. No two blocks of a lane have the same time.
type ClosedBlock = (u64, BlockId);

/// A heap of blocks by age. If a block is removed or loses a page, its entry stays in the heap as a
/// *ghost*. A ghost is dropped when it reaches the top, or once ghosts outnumber blocks by more
/// than 16.
#[derive(Clone, Default)]
struct Ages {
    heap: BinaryHeap<Reverse<ClosedBlock>>,
    /// Number of entries that are not ghosts.
    present: usize,
}

#[derive(Clone, Copy)]
struct Block {
    /// The time when the block was closed, or [`NEVER`] if it is not a candidate.
    closed: u64,
    valid: u32,
}

const NEVER: u64 = u64::MAX;

impl CostBenefit {
    fn new(layout: &Layout) -> Self {
        let lanes = layout.lanes() as usize;
        CostBenefit {
            ages: vec![Ages::default(); lanes * (layout.max_valid() as usize + 1)],
            clocks: vec![0; lanes],
            blocks: vec![Block { closed: NEVER, valid: 0 }; layout.geometry.blocks() as usize],
            slots_per_block: layout.slots_per_block(),
            max_valid: layout.max_valid(),
        }
    }

    fn footprint(layout: &Layout) -> Size {
        let (lanes, blocks) = (u64::from(layout.lanes()), layout.geometry.blocks());
        let heaps = lanes * (u64::from(layout.max_valid()) + 1);
        // With its ghosts, a heap holds at most twice its blocks plus 17.
        let entries = Size(size_of::<Reverse<ClosedBlock>>() as u64)
            * heaps.saturating_mul(17).saturating_add(2 * u64::from(blocks))
            * 2;
        fixed::<Ages>(heaps)
            + entries
            + fixed::<u64>(lanes)
            + fixed::<Block>(blocks)
            + grown::<(u32, ClosedBlock)>(layout.blocks_per_lane())
    }

    fn index(&self, lane: u32, valid: u32) -> usize {
        lane as usize * (self.max_valid as usize + 1) + valid as usize
    }

    #[inline]
    fn push(&mut self, lane: u32, valid: u32, entry: ClosedBlock) {
        if valid > self.max_valid {
            return;
        }
        let index = self.index(lane, valid);
        let ages = &mut self.ages[index];
        if ages.heap.len() > 2 * ages.present + 16 {
            let blocks = &self.blocks;
            ages.heap.retain(|Reverse(entry)| is_present(blocks, valid, *entry));
        }
        ages.heap.push(Reverse(entry));
        ages.present += 1;
    }

    /// Records that a block no longer has `valid` valid pages.
    #[inline]
    fn leave(&mut self, lane: u32, valid: u32) {
        if valid <= self.max_valid {
            let index = self.index(lane, valid);
            self.ages[index].present -= 1;
        }
    }

    /// Returns the oldest block with `valid` valid pages.
    #[inline]
    fn oldest(&mut self, lane: u32, valid: u32) -> Option<ClosedBlock> {
        let index = self.index(lane, valid);
        let heap = &mut self.ages[index].heap;
        while let Some(Reverse(entry)) = heap.peek() {
            if is_present(&self.blocks, valid, *entry) {
                return Some(*entry);
            }
            heap.pop();
        }
        None
    }

    /// Removes the best block of a lane from its heap, and returns it with its number of valid
    /// pages. Among equals, this is the block with fewer valid pages.
    fn pop(&mut self, lane: u32) -> Option<(u32, ClosedBlock)> {
        let clock = self.clocks[lane as usize];
        let mut best: Option<(u32, ClosedBlock, Benefit)> = None;
        for valid in 0..=self.max_valid {
            if let Some(entry) = self.oldest(lane, valid) {
                let benefit = Benefit::new(self.slots_per_block, valid, clock - entry.0);
                if best.is_none_or(|(_, _, most)| benefit.exceeds(most)) {
                    best = Some((valid, entry, benefit));
                }
            }
        }
        let (valid, entry, _) = best?;
        let index = self.index(lane, valid);
        self.ages[index].heap.pop();
        Some((valid, entry))
    }
}

#[inline]
fn is_present(blocks: &[Block], valid: u32, (closed, block): ClosedBlock) -> bool {
    let block = &blocks[block.0 as usize];
    block.closed == closed && block.valid == valid
}

/// The benefit-to-cost ratio of collecting a block, (1 - u) age / (1 + u), as a fraction.
#[derive(Clone, Copy)]
struct Benefit {
    numerator: u128,
    denominator: u128,
}

impl Benefit {
    fn new(slots: u32, valid: u32, age: u64) -> Self {
        Benefit {
            numerator: u128::from(slots - valid) * u128::from(age),
            denominator: u128::from(slots) + u128::from(valid),
        }
    }

    fn exceeds(self, other: Benefit) -> bool {
        self.numerator * other.denominator > other.numerator * self.denominator
    }
}

impl VictimPolicy for CostBenefit {
    #[inline]
    fn closed(&mut self, lane: u32, block: BlockId, valid: u32) {
        let clock = &mut self.clocks[lane as usize];
        *clock += 1;
        let closed = *clock;
        self.blocks[block.0 as usize] = Block { closed, valid };
        self.push(lane, valid, (closed, block));
    }

    #[inline]
    fn superseded(&mut self, lane: u32, block: BlockId, valid: u32) {
        let state = &mut self.blocks[block.0 as usize];
        if state.closed == NEVER {
            return;
        }
        state.valid = valid;
        let closed = state.closed;
        self.leave(lane, valid + 1);
        self.push(lane, valid, (closed, block));
    }

    fn take(&mut self, lane: u32, mut accept: impl FnMut(BlockId) -> bool) -> Option<BlockId> {
        let (mut taken, mut turned_down) = (None, Vec::new());
        while let Some((valid, entry)) = self.pop(lane) {
            if accept(entry.1) {
                self.remove(lane, entry.1, valid);
                taken = Some(entry.1);
                break;
            }
            turned_down.push((valid, entry));
        }
        for (valid, entry) in turned_down {
            let index = self.index(lane, valid);
            self.ages[index].heap.push(Reverse(entry));
        }
        taken
    }

    fn remove(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.blocks[block.0 as usize].closed = NEVER;
        self.leave(lane, valid);
    }
}

#[cfg(test)]
mod tests {
    use crate::gc::testing::{OPTIONS, agrees_with, design};

    #[test]
    fn agrees_with_a_full_search() {
        let design = design("cost-benefit", OPTIONS);
        let slots = u64::from(design.slots_per_block());
        agrees_with(&design, |candidates, closed| {
            candidates.sort_by(|a, b| {
                let (va, vb) = (u64::from(a.valid), u64::from(b.valid));
                let (age_a, age_b) = (closed - a.closed, closed - b.closed);
                let (a, b) = (
                    ((slots - va) * age_a * (slots + vb), va, age_a),
                    ((slots - vb) * age_b * (slots + va), vb, age_b),
                );
                b.0.cmp(&a.0).then(a.1.cmp(&b.1)).then(b.2.cmp(&a.2))
            });
        });
    }
}
