//! The superblock FTL: pages are mapped one by one, but only within a group of blocks.

use flashscope_block::{Errno, Nanos};

use super::log_block::core::Core;
use super::log_block::grouping::Grouping;
use super::log_block::log::{HostPage, Log};
use super::log_block::{LogBlock, Role, Room, Scheme};
use super::{AnyFtl, Family, Kind, LogSharing, LogUse};
use crate::arithmetic::draw_index;
use crate::footprint::{Size, fixed, grown};
use crate::nand::{Array, BlockId, Cause, Event};
use crate::setup::{self, Eviction, Layout, Merge, Profile};

/// The superblock FTL; see [`KIND`].
pub(super) type Superblock = LogBlock<Groups>;

pub(in crate::ftl) const KIND: Kind = Kind {
    name: "superblock",
    summary: "a group of log.group consecutive logical blocks has as many flash blocks, and up to \
              log.per_group log blocks more; a page may be anywhere in the blocks of its group; \
              when the group needs room, its block with the fewest valid pages is collected",
    source: "Kang et al., EMSOFT'06: superblocks of D-blocks and U-blocks",
    family: Family::LogBlock(LogUse {
        min_blocks: 1,
        sharing: LogSharing::Group,
        any_order: false,
    }),
    check: Profile::check_group,
    new: |layout, _, nand| AnyFtl::Superblock(LogBlock::new(layout, nand, Groups::new(layout))),
    footprint: |layout, _| Core::footprint(layout) + Groups::footprint(layout),
};

/// A group of logical blocks.
#[derive(Default)]
struct Group {
    /// Number of logical blocks in the group. Flash blocks beyond this number count as log blocks.
    logical: usize,
    /// The flash blocks of the group. Writes go to the last one.
    blocks: Vec<Log>,
}

impl Group {
    fn extra(&self) -> usize {
        self.blocks.len().saturating_sub(self.logical)
    }
}

/// The log blocks of a pool.
#[derive(Default)]
struct Pool {
    count: usize,
    /// The groups that have log blocks. Unless eviction is random, the first group is the next to
    /// give up a log block.
    extended: Vec<u32>,
}

/// The groups of a drive.
pub struct Groups {
    logs: setup::Log,
    random: fastrand::Rng,
    grouping: Grouping,
    groups: Vec<Group>,
    pools: Vec<Pool>,
}

impl Groups {
    /// Returns the size of the memory that the groups need.
    fn footprint(layout: &Layout) -> Size {
        let groups = Grouping::all(layout, layout.logs.options.group);
        // Each group has a list of its blocks. No block is in two lists.
        let lists = grown::<Log>(0u32) * groups + grown::<Log>(layout.geometry.blocks());
        grown::<Group>(groups)
            + lists
            + (fixed::<Pool>(1u32) + grown::<u32>(layout.logs.options.blocks)) * layout.pools.into()
    }

    fn new(layout: &Layout) -> Self {
        let mut groups = Groups {
            logs: layout.logs.options,
            random: fastrand::Rng::with_seed(layout.logs.seed),
            grouping: Grouping::new(layout, layout.logs.options.group),
            groups: Vec::new(),
            pools: (0..layout.pools).map(|_| Pool::default()).collect(),
        };
        groups.clear();
        groups
    }

    /// Forgets all blocks.
    fn clear(&mut self) {
        let grouping = self.grouping;
        let in_pool = |nth| Group { logical: grouping.blocks_in(nth) as usize, blocks: Vec::new() };
        let pools = self.pools.len();
        self.groups = (0..pools).flat_map(|_| (0..grouping.groups).map(in_pool)).collect();
        self.pools.fill_with(Pool::default);
    }

    fn group(&mut self, group: u32) -> &mut Group {
        &mut self.groups[group as usize]
    }

    fn pool(&mut self, group: u32) -> &mut Pool {
        &mut self.pools[self.grouping.pool_of(group) as usize]
    }

    /// Adds a block to a group. Later writes of the group go to this block.
    fn extend(&mut self, group: u32, log: Log) {
        self.group(group).blocks.push(log);
        let extra = self.group(group).extra();
        let pool = self.pool(group);
        pool.count += usize::from(extra > 0);
        if extra == 1 {
            pool.extended.push(group);
        }
    }

    /// Removes block `nth` from a group.
    fn shorten(&mut self, group: u32, nth: usize) {
        let extra = self.group(group).extra();
        self.group(group).blocks.remove(nth);
        let pool = self.pool(group);
        pool.count -= usize::from(extra > 0);
        if extra == 1 {
            pool.extended.retain(|other| *other != group);
        }
    }

    /// Returns the group that must give up a log block for another group.
    fn victim(&mut self, pool: u32) -> Option<u32> {
        let extended = &self.pools[pool as usize].extended;
        match self.logs.eviction {
            Eviction::Random if !extended.is_empty() => {
                Some(extended[draw_index(&mut self.random, 0..extended.len())])
            }
            _ => extended.first().copied(),
        }
    }

    /// Returns true if a group has its maximum number of log blocks.
    fn is_complete(&self, group: u32) -> bool {
        self.groups[group as usize].extra() >= self.logs.per_group as usize
    }

    /// Returns true if a group may take another block.
    fn may_extend(&self, core: &Core, pool: u32, group: u32) -> bool {
        let Group { logical, blocks } = &self.groups[group as usize];
        let left = self.pools[pool as usize].count < self.logs.blocks as usize;
        let spare = left && !self.is_complete(group);
        (blocks.len() < *logical || spare) && core.free_in(pool) >= 2
    }

    /// Collects the block of a group that has the fewest valid pages. Moves these pages to the open
    /// block, and to a new block if the open block fills up. Then erases the emptied block. The
    /// open block, which takes the group's writes, is never collected.
    fn clean(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        group: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let places = core.places();
        let blocks = &self.group(group).blocks;
        let open = blocks.last().is_some_and(|log| log.has_room(places));
        let closed = &blocks[..blocks.len() - usize::from(open)];
        let fewest = closed.iter().map(|log| nand.valid(log.block)).enumerate();
        let (nth, valid) = fewest.min_by_key(|(_, valid)| *valid).ok_or(Errno::ENOSPC)?;
        if valid == places {
            return Err(Errno::ENOSPC);
        }
        let victim = closed[nth];
        let mut at = at;
        while nand.valid(victim.block) > 0 {
            at = self.move_some(core, nand, group, victim, at)?;
        }
        let pool = core.pool_of(victim.logical);
        // The index of the victim is still `nth`, because moving pages only appends blocks to the
        // group.
        self.shorten(group, nth);
        core.release(nand, pool, &victim, at, Cause::Cleaning)
    }

    /// Moves as many valid pages of `victim` as fit to the open block of its group.
    fn move_some(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        group: u32,
        victim: Log,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let places = core.places();
        if !self.group(group).blocks.last().is_some_and(|log| log.has_room(places)) {
            let block = core.open(nand, core.pool_of(victim.logical), Role::Data, at)?;
            self.extend(group, Log::new(nand, block, Role::Data, victim.logical));
        }
        let Some(log) = self.group(group).blocks.last_mut() else { return Ok(at) };
        core.append_from(nand, victim.block, log, at, Cause::Cleaning)
    }

    /// Collects blocks of a group until the group has one block less.
    fn compact(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        group: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let (blocks, mut at) = (self.group(group).blocks.len(), at);
        while self.group(group).blocks.len() >= blocks {
            at = self.clean(core, nand, group, at)?;
        }
        nand.count(Event::LogEviction);
        Ok(at)
    }
}

impl Scheme for Groups {
    const KEEPS_ORDER: bool = false;

    fn room(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        _long: bool,
        at: Nanos,
    ) -> Result<Room, Errno> {
        let (group, places, mut at) = (self.grouping.group_of(page.logical), core.places(), at);
        loop {
            let last = self.group(group).blocks.last();
            if let Some(log) = last.filter(|log| log.has_room(places)) {
                return Ok(log.room(at));
            }
            if self.may_extend(core, page.pool, group) {
                let block = core.open(nand, page.pool, Role::Log, at)?;
                self.extend(group, Log::new(nand, block, Role::Log, page.logical));
                continue;
            }
            at = match self.victim(page.pool).filter(|_| !self.is_complete(group)) {
                Some(victim) => self.compact(core, nand, victim, at)?,
                None => self.clean(core, nand, group, at)?,
            };
        }
    }

    fn written(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        _block: BlockId,
        done: Nanos,
    ) -> Result<Nanos, Errno> {
        let group = self.grouping.group_of(page.logical);
        let Some(log) = self.group(group).blocks.last_mut() else { return Ok(done) };
        log.append(page, log.next);
        let full = log.next == core.places();
        if self.logs.eviction == Eviction::Lru && self.group(group).extra() > 0 {
            let extended = &mut self.pool(group).extended;
            extended.retain(|other| *other != group);
            extended.push(group);
        }
        if !full || self.logs.merge == Merge::Lazy || !self.is_complete(group) {
            return Ok(done);
        }
        self.clean(core, nand, group, done)
    }

    fn failed(&mut self, nand: &Array, page: HostPage, _block: BlockId) {
        let group = self.grouping.group_of(page.logical);
        if let Some(log) = self.group(group).blocks.last_mut() {
            log.fail(nand);
        }
    }

    fn adopt(&mut self, _core: &mut Core, found: Vec<Log>) {
        self.clear();
        for log in found {
            self.extend(self.grouping.group_of(log.logical), log);
        }
    }
}
