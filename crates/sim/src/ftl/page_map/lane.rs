use std::collections::VecDeque;
use std::ops::Range;

use flashscope_block::Nanos;

use crate::ftl::Layout;
use crate::nand::{Array, BlockId, Place};

/// What a block is written for. Each lane has at most one open block for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl) enum Role {
    /// Data of the host; with separate temperatures, what it does not say is cold.
    Host = 0,
    /// What cleaning moves, or data that is cold.
    Other = 1,
    /// Data of the host, in the SLC region.
    Slc = 2,
    /// Cold data that was moved to a worn block.
    Wear = 3,
    /// Pages of the map, where that is on the flash.
    Map = 4,
}

impl Role {
    pub(super) const COUNT: usize = 5;

    /// The frontiers that pages of a block for it may be moved to.
    pub(super) fn moves_to(self) -> &'static [Role] {
        match self {
            Role::Map => &[Role::Map],
            Role::Host | Role::Other | Role::Slc | Role::Wear => &[Role::Host, Role::Other],
        }
    }

    pub(super) fn of(number: u8) -> Role {
        match number {
            0 => Role::Host,
            1 => Role::Other,
            2 => Role::Slc,
            3 => Role::Wear,
            _ => Role::Map,
        }
    }
}

/// One of the frontiers of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl) struct Front {
    pub(in crate::ftl) lane: u32,
    pub(in crate::ftl) role: Role,
}

/// A block that is being filled.
#[derive(Debug, Clone, Copy)]
pub(in crate::ftl) struct Frontier {
    pub(in crate::ftl) block: BlockId,
    pub(super) place: Place,
    /// The next place in it.
    pub(in crate::ftl) next: u32,
    /// Places in it.
    pub(in crate::ftl) places: u32,
    /// The temperatures of what it holds, added up.
    pub(super) temperature: u64,
}

/// Part of an allocation pool that is written to and cleaned for itself.
pub(in crate::ftl) struct Lane {
    /// Its number, which policies know it by.
    pub(super) index: u32,
    /// Its blocks, in the order in which they are used first.
    pub(super) blocks: Vec<BlockId>,
    /// Where its first and its last block are.
    pub(in crate::ftl) places: (Place, Place),
    /// Erased blocks; the one that has been free for longest is used first.
    pub(super) free: VecDeque<BlockId>,
    /// Erased blocks of the SLC region.
    pub(super) slc_free: VecDeque<BlockId>,
    /// Full blocks of the SLC region, the oldest first.
    pub(super) slc_full: VecDeque<BlockId>,
    /// Blocks that have failed, to be emptied and marked bad.
    pub(super) failed: VecDeque<BlockId>,
    pub(super) frontiers: [Option<Frontier>; Role::COUNT],
    /// The block that is being cleaned.
    pub(super) victim: Option<BlockId>,
    /// The places that will be cleaned next, as it looks, from the first on that nothing was fetched
    /// for; none where that is to be guessed anew.
    pub(super) likely: Option<Range<u32>>,
    /// Until when background work has been worked out.
    pub(super) settled: Nanos,
    /// Erases of all its blocks.
    pub(super) erases: u64,
}

impl Lane {
    /// Lane `index`, all of it free but for bad blocks.
    pub(super) fn new(layout: &Layout, index: u32, nand: &mut Array) -> Self {
        let (first, size) = (layout.first_block(index).0, layout.blocks_per_lane());
        let (slc, blocks) = (layout.slc_blocks_per_lane, layout.blocks_of_lane(index));
        let slc_blocks = &blocks[..slc as usize];
        slc_blocks.iter().for_each(|block| nand.make_slc(*block));
        let good = |block: &&BlockId| !nand.is_bad(**block);
        Lane {
            index,
            places: (nand.place(BlockId(first)), nand.place(BlockId(first + size - 1))),
            free: blocks[slc as usize..].iter().filter(good).copied().collect(),
            slc_free: slc_blocks.iter().filter(good).copied().collect(),
            slc_full: VecDeque::new(),
            failed: VecDeque::new(),
            frontiers: [None; Role::COUNT],
            victim: None,
            likely: None,
            settled: Nanos(0),
            erases: 0,
            blocks,
        }
    }

    /// The free blocks, as many as a threshold counts.
    #[inline]
    pub(super) fn free_blocks(&self) -> u32 {
        u32::try_from(self.free.len()).expect("fewer than the blocks of a lane, a u32")
    }

    /// Its blocks that are not of the SLC region.
    pub(super) fn usual_blocks(&self, layout: &Layout) -> &[BlockId] {
        &self.blocks[layout.slc_blocks_per_lane as usize..]
    }

    pub(super) fn frontier(&mut self, role: Role) -> &mut Option<Frontier> {
        &mut self.frontiers[role as usize]
    }

    /// Whether a block is full of data and nothing works on it.
    pub(super) fn is_candidate(&self, nand: &Array, block: BlockId) -> bool {
        let open = self.frontiers.iter().flatten().any(|frontier| frontier.block == block);
        nand.written(block) > 0
            && !open
            && self.victim != Some(block)
            && !nand.is_bad(block)
            && !self.failed.contains(&block)
            && nand.opened(block).1 != Role::Slc as u8
    }
}
