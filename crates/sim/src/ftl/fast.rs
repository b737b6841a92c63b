//! FAST, fully associative sector translation: one log block for sequential writes from the start
//! of a data block, and a ring of log blocks for all other writes.

use std::collections::VecDeque;

use flashscope_block::{Errno, Nanos};

use super::log_block::core::Core;
use super::log_block::log::{HostPage, Log};
use super::log_block::{LogBlock, Role, Room, Scheme};
use super::{AnyFtl, Family, Kind, LogSharing, LogUse, NO_FIELDS};
use crate::footprint::{fixed, grown};
use crate::nand::{Array, BlockId, Event};
use crate::setup::{Layout, Merge};

/// The FAST FTL; see [`KIND`].
pub(super) type Fast = LogBlock<Ring>;

pub(in crate::ftl) const KIND: Kind = Kind {
    name: "fast",
    summary: "data mapped by whole blocks; a write to the first page of a data block starts the \
              sequential log block, writes that continue in order go there too, and all other \
              writes go to a ring of log blocks that all data blocks share",
    source: "Lee et al., ACM TECS 6(3), 2007; Boboila and Desnoyers, MSST'11, section II",
    family: Family::LogBlock(LogUse { min_blocks: 2, sharing: LogSharing::All, any_order: false }),
    check: NO_FIELDS,
    new: |layout, _, nand| AnyFtl::Fast(LogBlock::new(layout, nand, Ring::new(layout))),
    footprint: |layout, _| {
        let logs = fixed::<Logs>(1u32) + grown::<Log>(layout.logs.options.blocks);
        Core::footprint(layout) + logs * layout.pools.into()
    },
};

/// The log blocks of a pool.
#[derive(Default)]
struct Logs {
    sequential: Option<Log>,
    /// The *random* log blocks, which all data blocks share, oldest first. Writes go to the last
    /// one.
    random: VecDeque<Log>,
}

/// The log blocks of each pool: one for sequential writes, and a ring for random writes.
pub struct Ring {
    merge: Merge,
    /// Maximum number of random log blocks in a pool.
    random: usize,
    pools: Vec<Logs>,
}

impl Ring {
    fn new(layout: &Layout) -> Self {
        Ring {
            merge: layout.logs.options.merge,
            random: layout.logs.options.blocks as usize - 1,
            pools: (0..layout.pools).map(|_| Logs::default()).collect(),
        }
    }

    fn logs(&mut self, pool: u32) -> &mut Logs {
        &mut self.pools[pool as usize]
    }

    /// Merges the sequential log block of a pool, if there is one.
    fn merge_sequential(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        pool: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let logs = self.logs(pool);
        let Some(log) = &mut logs.sequential else { return Ok(at) };
        let done = core.merge(nand, log, at)?;
        logs.sequential = None;
        Ok(done)
    }

    /// Merges the oldest random log block of a pool with every data block of which it holds newest
    /// pages. If the sequential log block belongs to one of these data blocks, it is merged first.
    /// After the rewrite of that data block, it could no longer become the data block.
    fn merge_oldest(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        pool: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let mut at = at;
        let Logs { sequential, random } = self.logs(pool);
        let (Some(victim), sequential) = (random.front(), sequential.map(|log| log.logical)) else {
            return Err(Errno::ENOSPC);
        };
        if sequential.is_some_and(|logical| core.holds(nand, victim.block, logical)) {
            at = self.merge_sequential(core, nand, pool, at)?;
        }
        let Some(victim) = self.logs(pool).random.front_mut() else { return Ok(at) };
        let done = core.merge(nand, victim, at)?;
        self.logs(pool).random.pop_front();
        nand.count(Event::LogEviction);
        Ok(done)
    }

    /// Ensures that a pool has a free block in addition to the one that merges need.
    fn free_one(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        pool: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let mut at = at;
        while core.free_in(pool) < 2 {
            at = match self.logs(pool).random.is_empty() && self.logs(pool).sequential.is_some() {
                true => self.merge_sequential(core, nand, pool, at)?,
                false => self.merge_oldest(core, nand, pool, at)?,
            };
        }
        Ok(at)
    }

    /// Starts a new sequential log block, after merging the current one.
    fn begin_sequential(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        at: Nanos,
    ) -> Result<Room, Errno> {
        let at = self.merge_sequential(core, nand, page.pool, at)?;
        let at = self.free_one(core, nand, page.pool, at)?;
        let block = core.open(nand, page.pool, Role::Log, at)?;
        let log = Log::new(nand, block, Role::Log, page.logical);
        self.logs(page.pool).sequential = Some(log);
        Ok(log.room(at))
    }

    /// Returns the next slot of the last random log block, or of a new one if the last one is full.
    fn random_room(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        at: Nanos,
    ) -> Result<Room, Errno> {
        if let Some(log) = self.logs(page.pool).random.back()
            && log.has_room(core.places())
        {
            return Ok(log.room(at));
        }
        let mut at = at;
        while self.logs(page.pool).random.len() >= self.random {
            at = self.merge_oldest(core, nand, page.pool, at)?;
        }
        let at = self.free_one(core, nand, page.pool, at)?;
        let block = core.open(nand, page.pool, Role::Shared, at)?;
        let log = Log::new(nand, block, Role::Shared, page.logical);
        self.logs(page.pool).random.push_back(log);
        Ok(log.room(at))
    }

    /// Returns the log block `block` of a pool, the target of the pool's last host program.
    fn log(&mut self, pool: u32, block: BlockId) -> Option<&mut Log> {
        let Logs { sequential, random } = self.logs(pool);
        sequential.as_mut().filter(|log| log.block == block).or_else(|| random.back_mut())
    }
}

impl Scheme for Ring {
    #[inline]
    fn room(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        _long: bool,
        at: Nanos,
    ) -> Result<Room, Errno> {
        if page.index == 0 {
            return self.begin_sequential(core, nand, page, at);
        }
        let goes_on = |log: &&Log| {
            (log.logical, log.next) == (page.logical, page.index) && log.has_room(core.places())
        };
        match self.logs(page.pool).sequential.as_ref().filter(goes_on) {
            Some(log) => Ok(log.room(at)),
            None => self.random_room(core, nand, page, at),
        }
    }

    #[inline]
    fn written(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        block: BlockId,
        done: Nanos,
    ) -> Result<Nanos, Errno> {
        let places = core.places();
        let Some(log) = self.log(page.pool, block) else { return Ok(done) };
        log.append(page, log.next);
        if log.role == Role::Shared || log.next < places || self.merge == Merge::Lazy {
            return Ok(done);
        }
        self.merge_sequential(core, nand, page.pool, done)
    }

    fn failed(&mut self, nand: &Array, page: HostPage, block: BlockId) {
        if let Some(log) = self.log(page.pool, block) {
            log.fail(nand);
        }
    }

    fn adopt(&mut self, core: &mut Core, found: Vec<Log>) {
        self.pools.fill_with(Logs::default);
        for log in found {
            let logs = self.logs(core.pool_of(log.logical));
            match log.role {
                Role::Log if logs.sequential.is_none() => logs.sequential = Some(log),
                _ => logs.random.push_back(log),
            }
        }
    }
}
