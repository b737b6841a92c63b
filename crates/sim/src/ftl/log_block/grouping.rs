//! Groups of logical blocks.

use crate::setup::Layout;

/// The division of logical blocks into groups. A group is consecutive logical blocks of a pool; the
/// last group of a pool may be smaller.
#[derive(Debug, Clone, Copy)]
pub(in crate::ftl) struct Grouping {
    size: u32,
    /// Logical blocks in each pool.
    blocks: u32,
    /// Groups in each pool.
    pub(in crate::ftl) groups: u32,
}

impl Grouping {
    /// Returns the number of groups in all pools.
    pub(in crate::ftl) fn all(layout: &Layout, size: u32) -> u64 {
        u64::from(layout.pools) * u64::from(Grouping::new(layout, size).groups)
    }

    pub(in crate::ftl) fn new(layout: &Layout, size: u32) -> Self {
        let blocks = logical_blocks(layout);
        Grouping { size, blocks, groups: blocks.div_ceil(size) }
    }

    /// Returns the group of a logical block. Groups are numbered over the drive, pool by pool.
    #[inline]
    pub(in crate::ftl) fn group_of(&self, logical: u32) -> u32 {
        let (pool, within) = (logical / self.blocks, logical % self.blocks);
        pool * self.groups + within / self.size
    }

    /// Returns the pool of a group.
    pub(in crate::ftl) fn pool_of(&self, group: u32) -> u32 {
        group / self.groups
    }

    /// Returns the number of logical blocks in group `nth` of a pool.
    pub(in crate::ftl) fn blocks_in(&self, nth: u32) -> u32 {
        self.size.min(self.blocks - nth * self.size)
    }
}

/// Returns the number of logical blocks in each pool.
pub(super) fn logical_blocks(layout: &Layout) -> u32 {
    layout.logical_pages_per_pool.div_ceil(layout.slots_per_block())
}
