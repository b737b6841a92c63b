use std::collections::VecDeque;
use std::ops::RangeInclusive;

use flashscope_block::Nanos;

use super::Layout;
use crate::nand::{BlockId, Page};

/// An allocation pool: the blocks that a fixed share of the logical pages is written to
/// (Agrawal et al., section 3.1).
pub(super) struct Pool {
    /// Every block of the pool.
    pub(super) blocks: RangeInclusive<BlockId>,
    /// Erased blocks; the one that has been free for longest is used first.
    pub(super) free: VecDeque<BlockId>,
    /// The next page of the active block; none while every used block is full.
    pub(super) frontier: Option<Page>,
    /// The block that is being cleaned.
    pub(super) victim: Option<BlockId>,
    /// Until when background cleaning has been worked out.
    pub(super) settled: Nanos,
}

impl Pool {
    /// Pool `index`, all of it free. Blocks are used in turn from every die, then every plane, so
    /// that successive active blocks can work side by side.
    pub(super) fn new(layout: &Layout, index: u32) -> Self {
        let geometry = &layout.geometry;
        let size = layout.blocks_per_pool();
        let package = index % geometry.packages;
        let part = index / geometry.packages;
        let first = package * geometry.blocks_per_package() + part * size;
        let dies = size.div_ceil(geometry.blocks_per_die());
        let planes = size / dies / geometry.blocks_per_plane;
        let mut free = VecDeque::with_capacity(size as usize);
        for block in 0..geometry.blocks_per_plane {
            for plane in 0..planes {
                for die in 0..dies {
                    let start = die * geometry.blocks_per_die() + plane * geometry.blocks_per_plane;
                    free.push_back(BlockId(first + start + block));
                }
            }
        }
        Pool {
            blocks: BlockId(first)..=BlockId(first + size - 1),
            free,
            frontier: None,
            victim: None,
            settled: Nanos(0),
        }
    }

    /// The free blocks, as many as a threshold counts.
    pub(super) fn free_blocks(&self) -> u32 {
        u32::try_from(self.free.len()).expect("fewer than the blocks of a pool, a u32")
    }
}
