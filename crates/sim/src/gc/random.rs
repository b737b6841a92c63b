use super::d_choices::DChoices;
use super::sample::Sample;
use super::{Kind, Policy};

pub(super) const KIND: Kind = Kind {
    name: "random",
    summary: "any block that holds a superseded page, all equally likely",
    source: "Van Houdt, SIGMETRICS'13: the random GC algorithm, d = 1",
    new: |layout| Policy::Random(DChoices::new(layout, 1)),
    footprint: Sample::footprint,
};

/// The best of one that is drawn.
///
/// A block without a superseded page is drawn again, while the paper cleans it for nothing: uniform
/// random writes have a write amplification of 1/(1 - rho + rho/b) for b pages a block, the share
/// rho of them valid, where the paper has 1/(1 - rho).
pub type Random = DChoices;

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
