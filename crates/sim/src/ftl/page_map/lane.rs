use std::collections::VecDeque;
use std::ops::Range;

use flashscope_block::Nanos;

use crate::nand::{Array, BlockId, Place};
use crate::setup::Layout;

/// The kind of data that a block is written for. Each lane has at most one open block of each role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl) enum Role {
    /// Host data; with separate temperatures, only hot data.
    Host = 0,
    /// Data moved by garbage collection; with separate temperatures, cold data.
    Other = 1,
    /// Host data in the SLC region.
    Slc = 2,
    /// Cold data that wear levelling moved to a worn block.
    Wear = 3,
    /// Translation pages, if the mapping table is on the flash.
    Map = 4,
}

impl Role {
    pub(super) const COUNT: usize = 5;

    /// Returns the roles of the frontiers to which pages of a block of this role may move.
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

/// The identifier of a frontier: its lane and role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl) struct Front {
    pub(in crate::ftl) lane: u32,
    pub(in crate::ftl) role: Role,
}

/// An open block, which is being filled.
#[derive(Debug, Clone, Copy)]
pub(in crate::ftl) struct Frontier {
    pub(in crate::ftl) block: BlockId,
    pub(super) place: Place,
    /// Index of the next slot to program.
    pub(in crate::ftl) next: u32,
    /// Number of slots in the block.
    pub(in crate::ftl) places: u32,
    /// The sum of the temperatures of its data.
    pub(super) temperature: u64,
}

/// A part of an allocation pool with its own open blocks and garbage collection.
pub(in crate::ftl) struct Lane {
    /// The number of the lane in the drive. Policies use the same number.
    pub(super) index: u32,
    /// Its blocks, in the order of first use.
    pub(super) blocks: Vec<BlockId>,
    /// The places of its first and its last block.
    pub(in crate::ftl) places: (Place, Place),
    /// Erased blocks in the order of next use. The block that has been free for the longest time
    /// comes first.
    pub(super) free: VecDeque<BlockId>,
    /// Erased blocks of the SLC region.
    pub(super) slc_free: VecDeque<BlockId>,
    /// Full blocks of the SLC region, oldest first.
    pub(super) slc_full: VecDeque<BlockId>,
    /// Failed blocks, to be emptied and marked bad.
    pub(super) failed: VecDeque<BlockId>,
    pub(super) frontiers: [Option<Frontier>; Role::COUNT],
    /// The block that garbage collection is emptying.
    pub(super) victim: Option<BlockId>,
    /// The slots of the likely next victim that are not prefetched yet; `None` if there is no
    /// guess.
    pub(super) likely: Option<Range<u32>>,
    /// Time up to which background work has been simulated.
    pub(super) settled: Nanos,
    /// Total erases of its blocks.
    pub(super) erases: u64,
}

impl Lane {
    /// Creates lane `index`, with all blocks free except the bad ones.
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

    /// Returns the number of free blocks outside the SLC region, which the thresholds apply to.
    #[inline]
    pub(super) fn free_blocks(&self) -> u32 {
        u32::try_from(self.free.len()).expect("fewer than the blocks of a lane, a u32")
    }

    /// Returns the blocks outside the SLC region.
    pub(super) fn usual_blocks(&self, layout: &Layout) -> &[BlockId] {
        &self.blocks[layout.slc_blocks_per_lane as usize..]
    }

    pub(super) fn frontier(&mut self, role: Role) -> &mut Option<Frontier> {
        &mut self.frontiers[role as usize]
    }

    /// Returns true if a block is full of data and no operation is using it.
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
