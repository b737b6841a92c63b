use super::sample::Sample;
use super::{Kind, Policy, VictimPolicy};
use crate::nand::BlockId;

pub(super) const KIND: Kind = Kind {
    name: "random",
    summary: "any block that holds a superseded page, all equally likely",
    source: "Van Houdt, SIGMETRICS'13: the random GC algorithm, d = 1",
    new: |layout| {
        Policy::Random(Random { candidates: Sample::new(layout), most_valid: layout.most_valid() })
    },
};

/// Draws from all candidates, again and again, until one does.
///
/// A block without a superseded page is drawn again, while the paper cleans it for nothing: uniform
/// random writes have a write amplification of 1/(1 - rho + rho/b) for b pages a block, the share
/// rho of them valid, where the paper has 1/(1 - rho).
pub struct Random {
    candidates: Sample,
    most_valid: u32,
}

impl VictimPolicy for Random {
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
        for drawn in 0..self.candidates.len(lane) {
            let block = self.candidates.draw(lane, drawn);
            if self.candidates.valid(block) <= self.most_valid && accept(block) {
                self.candidates.remove(lane, block);
                return Some(block);
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
    use crate::gc::VictimPolicy;
    use crate::gc::testing::{OPTIONS, layout};
    use crate::nand::BlockId;

    // Is every candidate drawn equally often, whatever its valid pages, the full one never?
    #[test]
    fn draws_are_uniform() {
        let layout = layout("random", OPTIONS);
        let mut policy = (layout.policy.new)(&layout);
        (0..10).for_each(|block| policy.closed(0, BlockId(block), block));
        policy.closed(0, BlockId(10), layout.slots_per_block());
        let mut drawn = [0i32; 11];
        for _ in 0..100_000 {
            let block = policy.take(0, |_| true).expect("ten are left");
            drawn[block.0 as usize] += 1;
            policy.closed(0, block, block.0);
        }
        // 10,000 each; a standard deviation is 95.
        assert!(drawn[..10].iter().all(|count| (count - 10_000).abs() < 500), "{drawn:?}");
        assert_eq!(drawn[10], 0);
    }
}
