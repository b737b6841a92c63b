use super::sample::Sample;
use super::{Kind, Policy, VictimPolicy};
use crate::nand::BlockId;
use crate::setup::Layout;

pub(super) const KIND: Kind = Kind {
    name: "d-choices",
    summary: "the block with the fewest valid pages among `cleaning.choices` random blocks",
    source: "Van Houdt, SIGMETRICS'13: the d-choices GC algorithm",
    new: |layout| Policy::DChoices(DChoices::new(layout, layout.cleaning.choices)),
    footprint: Sample::footprint,
};

/// The d-choices policy. It draws `choices` different candidates and takes the one with the fewest
/// valid pages, or the first drawn among equals. If that block is rejected, the policy offers the
/// next best block of the draw. If no block of the draw is accepted, the policy draws again among
/// the other candidates.
pub struct DChoices {
    candidates: Sample,
    choices: usize,
    max_valid: u32,
}

impl DChoices {
    pub(super) fn new(layout: &Layout, choices: u32) -> Self {
        DChoices {
            candidates: Sample::new(layout),
            choices: choices as usize,
            max_valid: layout.max_valid(),
        }
    }
}

impl VictimPolicy for DChoices {
    #[inline]
    fn closed(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.candidates.insert(lane, block, valid);
    }

    #[inline]
    fn superseded(&mut self, _: u32, block: BlockId, valid: u32) {
        self.candidates.superseded(block, valid);
    }

    #[inline]
    fn take(&mut self, lane: u32, mut accept: impl FnMut(BlockId) -> bool) -> Option<BlockId> {
        let all = self.candidates.len(lane);
        let mut drawn = 0;
        while drawn < all {
            let draw = drawn..all.min(drawn.saturating_add(self.choices));
            drawn = draw.end;
            draw.clone().for_each(|place| _ = self.candidates.draw(lane, place));
            self.candidates.sort(lane, draw.clone());
            for place in draw {
                let block = self.candidates.at(lane, place);
                if self.candidates.valid(block) <= self.max_valid && accept(block) {
                    self.candidates.remove(lane, block);
                    return Some(block);
                }
            }
        }
        None
    }

    fn remove(&mut self, lane: u32, block: BlockId, _: u32) {
        self.candidates.remove(lane, block);
    }
}

#[cfg(test)]
mod tests {
    use crate::gc::testing::{OPTIONS, design};
    use crate::gc::{VictimOptions, VictimPolicy};
    use crate::nand::BlockId;

    // Ten candidates have 0 to 9 valid pages. The candidate with v valid pages is the best of three
    // in C(9 - v, 2) of the C(10, 3) possible draws.
    #[test]
    fn takes_the_best_of_the_drawn() {
        let design = design("d-choices", VictimOptions { choices: 3, ..OPTIONS });
        let mut policy = (design.policies.victim.new)(&design);
        (0..10).for_each(|block| policy.closed(0, BlockId(block), block));
        let mut taken = [0i32; 10];
        for _ in 0..120_000 {
            let block = policy.take(0, |_| true).expect("ten are left");
            taken[block.0 as usize] += 1;
            policy.closed(0, block, block.0);
        }
        for (worse, count) in (0..10).rev().zip(taken) {
            let expected = 1000 * worse * (worse - 1) / 2;
            assert!((count - expected).abs() < 900, "{taken:?}");
        }
        assert_eq!(taken[8..], [0, 0]);
    }

    // With as many choices as candidates the policy is greedy, even after rejections.
    #[test]
    fn is_greedy_with_many_choices() {
        let design = design("d-choices", VictimOptions { choices: u32::MAX, ..OPTIONS });
        let mut policy = (design.policies.victim.new)(&design);
        (0..10).for_each(|block| policy.closed(0, BlockId(block), block));
        assert_eq!(policy.take(0, |block| block.0 > 3), Some(BlockId(4)));
        let order: Vec<_> = std::iter::from_fn(|| policy.take(0, |_| true)).collect();
        assert_eq!(order, [0, 1, 2, 3, 5, 6, 7, 8, 9].map(BlockId));
    }
}
