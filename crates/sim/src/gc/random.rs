use super::d_choices::DChoices;
use super::sample::Sample;
use super::{Kind, Policy};

pub(super) const KIND: Kind = Kind {
    name: "random",
    summary: "a random block among those with a superseded page, all equally likely",
    source: "Van Houdt, SIGMETRICS'13: the random GC algorithm, d = 1",
    new: |layout| Policy::Random(DChoices::new(layout, 1)),
    footprint: Sample::footprint,
};

/// The d-choices policy with one draw.
///
/// If the drawn block has no superseded page, the policy draws again. The paper's policy instead
/// collects the drawn block without any gain. Under uniform random writes, the write amplification
/// is `1/(1-rho+rho/b)`, where b is the number of pages in a block and rho the fraction of pages
/// that are valid. The paper's policy has a write amplification of `1/(1-rho)`.
pub(super) type Random = DChoices;

#[cfg(test)]
mod tests {
    use crate::gc::VictimPolicy;
    use crate::gc::testing::{OPTIONS, design};
    use crate::nand::BlockId;

    // Each candidate is taken equally often, however many valid pages it has. A block without
    // superseded pages is never taken.
    #[test]
    fn draws_are_uniform() {
        let design = design("random", OPTIONS);
        let mut policy = (design.policies.victim.new)(&design);
        (0..10).for_each(|block| policy.closed(0, BlockId(block), block));
        policy.closed(0, BlockId(10), design.slots_per_block());
        let mut drawn = [0i32; 11];
        for _ in 0..100_000 {
            let block = policy.take(0, |_| true).expect("ten are left");
            drawn[block.0 as usize] += 1;
            policy.closed(0, block, block.0);
        }
        // Each count has an expected value of 10,000 and a standard deviation of 95.
        assert!(drawn[..10].iter().all(|count| (count - 10_000).abs() < 500), "{drawn:?}");
        assert_eq!(drawn[10], 0);
    }
}
