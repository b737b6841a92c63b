use std::collections::VecDeque;
use std::ops::Range;

use flashscope_block::Nanos;

use crate::nand::{Array, BlockId, Place};
use crate::setup::Layout;

/// The kind of data that a block is written for. Each lane has at most one open block of each role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl) enum Role {
    /// Host data; with separate temperatures, only hot data; with placement, data of handle 0.
    Host,
    /// Data moved by garbage collection; with separate temperatures, cold data.
    Other,
    /// Host data in a block used as SLC.
    Slc,
    /// Cold data that wear levelling moved to a worn block.
    Wear,
    /// Translation pages, if the mapping table is on the flash.
    Map,
    /// Data of this placement handle, from 1 on.
    Handle(u8),
}

impl Role {
    /// The number of roles besides handles.
    const COUNT: usize = 5;

    /// Returns the number under which the flash keeps the role of a block.
    #[inline]
    pub(in crate::ftl) const fn number(self) -> u8 {
        match self {
            Role::Host => 0,
            Role::Other => 1,
            Role::Slc => 2,
            Role::Wear => 3,
            Role::Map => 4,
            Role::Handle(handle) => 4 + handle,
        }
    }

    /// Returns the role with this number.
    pub(super) const fn of(number: u8) -> Role {
        match number {
            0 => Role::Host,
            1 => Role::Other,
            2 => Role::Slc,
            3 => Role::Wear,
            4 => Role::Map,
            _ => Role::Handle(number - 4),
        }
    }

    /// Returns the role of the data of a placement handle.
    #[inline]
    pub(super) const fn of_handle(handle: u8) -> Role {
        if handle == 0 { Role::Host } else { Role::Handle(handle) }
    }

    /// Returns the placement handle whose data a block of this role holds, or `None` for a role
    /// without a handle.
    pub(super) const fn handle(self) -> Option<u8> {
        match self {
            Role::Host => Some(0),
            Role::Handle(handle) => Some(handle),
            Role::Other | Role::Slc | Role::Wear | Role::Map => None,
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
    /// The [`Place`] of its first block, and that of its last block.
    pub(in crate::ftl) places: (Place, Place),
    /// Erased blocks in the order of next use. The block that has been free for the longest time
    /// comes first.
    pub(super) free: VecDeque<BlockId>,
    /// Erased blocks of the static SLC region.
    pub(super) slc_free: VecDeque<BlockId>,
    /// Full blocks that are used as SLC, oldest first.
    pub(super) slc_full: VecDeque<BlockId>,
    /// Failed blocks, to be emptied and marked bad.
    pub(super) failed: VecDeque<BlockId>,
    /// Failed blocks whose data fitted nowhere else when their zone gave back its handle. The data
    /// stays in the block until the zone is reset.
    pub(super) stranded: Vec<BlockId>,
    /// True if a block must not hold data of several zones.
    is_zoned: bool,
    frontiers: [Option<Frontier>; Role::COUNT],
    /// The frontiers of placement handles, from handle 1 on.
    handles: Box<[Option<Frontier>]>,
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
    pub(super) fn new(layout: &Layout, index: u32, nand: &Array) -> Self {
        let (first, size) = (layout.first_block(index).0, layout.blocks_per_lane());
        let (slc, blocks) = (layout.slc_blocks_per_lane, layout.blocks_of_lane(index));
        let slc_blocks = &blocks[..slc as usize];
        let good = |block: &&BlockId| !nand.is_bad(**block);
        Lane {
            index,
            places: (nand.place(BlockId(first)), nand.place(BlockId(first + size - 1))),
            free: blocks[slc as usize..].iter().filter(good).copied().collect(),
            slc_free: slc_blocks.iter().filter(good).copied().collect(),
            slc_full: VecDeque::new(),
            failed: VecDeque::new(),
            stranded: Vec::new(),
            is_zoned: layout.zones.is_some(),
            frontiers: [None; Role::COUNT],
            handles: vec![None; layout.placement.handles as usize - 1].into(),
            victim: None,
            likely: None,
            settled: Nanos(0),
            erases: 0,
            blocks,
        }
    }

    /// Returns the number of free blocks outside the static SLC region. The thresholds of garbage
    /// collection refer to this number.
    #[inline]
    pub(super) fn free_blocks(&self) -> u32 {
        u32::try_from(self.free.len()).expect("fewer than the blocks of a lane, a u32")
    }

    /// Returns the blocks outside the static SLC region.
    pub(super) fn usual_blocks(&self, layout: &Layout) -> &[BlockId] {
        &self.blocks[layout.slc_blocks_per_lane as usize..]
    }

    #[inline]
    pub(super) fn frontier(&mut self, role: Role) -> &mut Option<Frontier> {
        match role {
            Role::Handle(handle) => &mut self.handles[usize::from(handle) - 1],
            role => &mut self.frontiers[usize::from(role.number())],
        }
    }

    /// Returns the open block of a role, if there is one.
    #[inline]
    pub(super) fn open_block(&self, role: Role) -> Option<&Frontier> {
        match role {
            Role::Handle(handle) => self.handles[usize::from(handle) - 1].as_ref(),
            role => self.frontiers[usize::from(role.number())].as_ref(),
        }
    }

    /// Forgets which blocks are open, without closing them.
    pub(super) fn forget_frontiers(&mut self) {
        self.frontiers = [None; Role::COUNT];
        self.handles.fill(None);
    }

    /// Returns the roles of the frontiers to which pages of a block of this role may move. The
    /// order is: the role of host data, the role of moved data, the handles. Data of a zone keeps
    /// its handle.
    pub(super) fn moves_to(&self, role: Role) -> impl Iterator<Item = Role> + use<> {
        let handles = u8::try_from(self.handles.len()).expect("at most 128 handles");
        let stays = self.is_zoned || role == Role::Map;
        let own = stays.then_some(role);
        let data = (!stays).then(|| {
            let handles = (1..=handles).map(Role::Handle);
            [Role::Host, Role::Other].into_iter().chain(handles)
        });
        own.into_iter().chain(data.into_iter().flatten())
    }

    /// Returns true if a block may be a victim. It must have data, must not be used as SLC, and
    /// must not be open, bad, failed or the current victim.
    pub(super) fn is_candidate(&self, nand: &Array, block: BlockId) -> bool {
        let mut frontiers = self.frontiers.iter().chain(&self.handles).flatten();
        let open = frontiers.any(|frontier| frontier.block == block);
        nand.written(block) > 0
            && !open
            && self.victim != Some(block)
            && !nand.is_bad(block)
            && !self.failed.contains(&block)
            && !self.stranded.contains(&block)
            && nand.opened(block).1 != Role::Slc.number()
    }
}
