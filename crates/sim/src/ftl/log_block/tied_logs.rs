//! Log blocks that belong to groups of data blocks. `bast`, `block-map` (for its replacement
//! blocks) and `last` (for its sequential log blocks) have at most one log block for each data
//! block. `n-k` has up to K log blocks for N data blocks.

use flashscope_block::{Errno, Nanos};

use super::core::Core;
use super::grouping::Grouping;
use super::log::{HostPage, Log};
use super::{Role, Room, Scheme};
use crate::footprint::{Size, fixed};
use crate::list::List;
use crate::nand::{Array, BlockId, Event};
use crate::setup::{Eviction, Layout, Merge};

/// The end of a chain of log blocks.
const NONE: u32 = u32::MAX;

/// The rule that determines at which slot of a log block a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl) enum Placement {
    /// The next slot.
    Any,
    /// The slot at the index that the page has in its data block. Free slots before it are skipped.
    InPlace,
    /// The same slot as with `InPlace`, but the free slots before it receive copies of their pages.
    /// The log block is therefore always in order.
    InOrder,
}

/// The assignment of log blocks to data blocks.
#[derive(Debug, Clone, Copy)]
pub(in crate::ftl) struct Ties {
    /// Number of consecutive logical blocks of a pool that share log blocks.
    pub(in crate::ftl) group: u32,
    /// Maximum number of log blocks of a group.
    pub(in crate::ftl) per_group: u32,
    pub(in crate::ftl) placement: Placement,
}

/// A log block, and the number of the next older log block of its group, or [`NONE`].
struct Link {
    log: Log,
    older: u32,
}

/// The log blocks of a pool in order of eviction, and the unused log block numbers.
struct EvictionOrder {
    order: List,
    unused: Vec<u32>,
}

/// Log blocks that belong to groups of data blocks.
pub struct TiedLogs {
    ties: Ties,
    merge: Merge,
    eviction: Eviction,
    per_pool: u32,
    /// Maximum number of pages in a log block that is not in order.
    unordered: u32,
    random: fastrand::Rng,
    grouping: Grouping,
    /// For each group, the number of its newest log block, or [`NONE`].
    newest: Vec<u32>,
    /// The log blocks by number, pool by pool.
    logs: Vec<Option<Link>>,
    pools: Vec<EvictionOrder>,
}

impl TiedLogs {
    /// Returns the size of the memory for groups of `group` logical blocks: see [`TiedLogs::new`].
    pub(in crate::ftl) fn footprint(layout: &Layout, group: u32, per_pool: u32) -> Size {
        let lists =
            fixed::<EvictionOrder>(1u32) + List::footprint(per_pool) + fixed::<u32>(per_pool);
        fixed::<u32>(Grouping::all(layout, group))
            + (fixed::<Option<Link>>(per_pool) + lists) * layout.pools.into()
    }

    /// Creates the state for up to `per_pool` log blocks in each pool.
    pub(in crate::ftl) fn new(layout: &Layout, ties: Ties, per_pool: u32) -> Self {
        let logs = layout.logs;
        let mut tied = TiedLogs {
            ties,
            merge: logs.options.merge,
            eviction: logs.options.eviction,
            per_pool,
            unordered: logs.options.max_unordered(),
            random: fastrand::Rng::with_seed(logs.seed),
            grouping: Grouping::new(layout, ties.group),
            newest: Vec::new(),
            logs: Vec::new(),
            pools: (0..layout.pools)
                .map(|_| EvictionOrder { order: List::new(0), unused: vec![] })
                .collect(),
        };
        tied.clear();
        tied
    }

    /// Forgets all log blocks.
    fn clear(&mut self) {
        let pools = self.pools.len();
        self.newest = vec![NONE; pools * self.grouping.groups as usize];
        self.logs.clear();
        self.logs.resize_with(pools * self.per_pool as usize, || None);
        for pool in &mut self.pools {
            pool.order = List::new(self.per_pool);
            pool.unused = (0..self.per_pool).rev().collect();
        }
    }

    fn link(&self, number: u32) -> &Link {
        self.logs[number as usize].as_ref().expect("a log block in use")
    }

    /// Returns the log blocks of a group, newest first.
    fn chain(&self, group: u32) -> impl Iterator<Item = u32> {
        let known = |number: u32| (number != NONE).then_some(number);
        let newest = known(self.newest[group as usize]);
        std::iter::successors(newest, move |number| known(self.link(*number).older))
    }

    /// Returns true if a log block can take a page. `places` is the number of slots in a block.
    #[inline]
    fn takes(&self, log: &Log, page: HostPage, places: u32) -> bool {
        let fits = self.ties.placement == Placement::Any || page.index >= log.next;
        let goes_on = (log.logical, log.next) == (page.logical, page.index);
        log.has_room(self.most(log.in_order && goes_on, places)) && fits
    }

    /// Returns the maximum number of pages in a log block.
    #[inline]
    fn most(&self, in_order: bool, places: u32) -> u32 {
        if in_order { places } else { places.min(self.unordered) }
    }

    /// Returns true if a group has its maximum number of log blocks.
    fn is_complete(&self, group: u32) -> bool {
        self.chain(group).count() >= self.ties.per_group as usize
    }

    /// Merges a log block and removes it.
    fn merge_and_remove(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        number: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let link = self.logs[number as usize].as_mut().expect("a log block in use");
        let done = core.merge(nand, &mut link.log, at)?;
        let (older, group) = (link.older, self.grouping.group_of(self.link(number).log.logical));
        let newer = self.chain(group).find(|other| self.link(*other).older == number);
        match newer {
            Some(newer) => {
                if let Some(link) = &mut self.logs[newer as usize] {
                    link.older = older;
                }
            }
            None => self.newest[group as usize] = older,
        }
        self.logs[number as usize] = None;
        let pool = &mut self.pools[(number / self.per_pool) as usize];
        pool.order.remove(number % self.per_pool);
        pool.unused.push(number % self.per_pool);
        Ok(done)
    }

    /// Evicts a log block of a pool: merges it to make room for another.
    pub(in crate::ftl) fn evict(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        pool: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let victim = self.victim(pool).ok_or(Errno::ENOSPC)?;
        let done = self.merge_and_remove(core, nand, victim, at)?;
        nand.count(Event::LogEviction);
        Ok(done)
    }

    /// Merges all log blocks of a logical block's group.
    pub(in crate::ftl) fn merge_all_of(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        logical: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let (group, mut at) = (self.grouping.group_of(logical), at);
        while let Some(oldest) = self.chain(group).last() {
            at = self.merge_and_remove(core, nand, oldest, at)?;
        }
        Ok(at)
    }

    /// Returns the log block of a pool to evict, if there is one.
    fn victim(&mut self, pool: u32) -> Option<u32> {
        let first = pool * self.per_pool;
        let oldest = self.pools[pool as usize].order.oldest()?;
        if self.eviction != Eviction::Random {
            return Some(first + oldest);
        }
        loop {
            let number = first + self.random.u32(..self.per_pool);
            if self.logs[number as usize].is_some() {
                return Some(number);
            }
        }
    }

    /// Adds a log block as the newest of its group and pool. Returns its number, or `None` if the
    /// pool has its maximum number of log blocks.
    fn add(&mut self, pool: u32, log: Log) -> Option<u32> {
        let number = self.pools[pool as usize].unused.pop()?;
        self.pools[pool as usize].order.make_newest(number);
        let (number, group) = (pool * self.per_pool + number, self.grouping.group_of(log.logical));
        let older = std::mem::replace(&mut self.newest[group as usize], number);
        self.logs[number as usize] = Some(Link { log, older });
        Some(number)
    }

    /// Allocates a log block for a page. Evicts other log blocks while the pool has its maximum
    /// number of log blocks, or only one free block, which merges need.
    fn allocate(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        at: Nanos,
    ) -> Result<(u32, Nanos), Errno> {
        let mut at = at;
        while self.pools[page.pool as usize].unused.is_empty() || core.free_in(page.pool) < 2 {
            at = self.evict(core, nand, page.pool, at)?;
        }
        let block = core.open(nand, page.pool, Role::Log, at)?;
        let number = self.add(page.pool, Log::new(nand, block, Role::Log, page.logical));
        Ok((number.ok_or(Errno::ENOSPC)?, at))
    }

    /// Returns the number of the log block that takes a page, and the time from which the log block
    /// is available.
    #[inline]
    fn log_for(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        at: Nanos,
    ) -> Result<(u32, Nanos), Errno> {
        let group = self.grouping.group_of(page.logical);
        let newest = self.newest[group as usize];
        if newest == NONE {
            return self.allocate(core, nand, page, at);
        }
        if self.takes(&self.link(newest).log, page, core.places()) {
            return Ok((newest, at));
        }
        let mut at = at;
        if self.is_complete(group)
            && let Some(oldest) = self.chain(group).last()
        {
            at = self.merge_and_remove(core, nand, oldest, at)?;
        }
        self.allocate(core, nand, page, at)
    }
}

impl Scheme for TiedLogs {
    #[inline]
    fn room(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        _long: bool,
        at: Nanos,
    ) -> Result<Room, Errno> {
        let mut at = at;
        loop {
            let (number, free) = self.log_for(core, nand, page, at)?;
            let Some(Link { log, .. }) = &mut self.logs[number as usize] else { continue };
            match self.ties.placement {
                Placement::Any => return Ok(log.room(free)),
                Placement::InPlace => {
                    nand.skip_pages(log.block, page.index)?;
                    return Ok(Room { index: page.index, ..log.room(free) });
                }
                Placement::InOrder => at = core.fill(nand, log, page.index, free)?,
            }
            if !log.failed {
                return Ok(log.room(at));
            }
        }
    }

    #[inline]
    fn written(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        _block: BlockId,
        done: Nanos,
    ) -> Result<Nanos, Errno> {
        let group = self.grouping.group_of(page.logical);
        let number = self.newest[group as usize];
        let Some(Link { log, .. }) = &mut self.logs[number as usize] else { return Ok(done) };
        let index = if self.ties.placement == Placement::Any { log.next } else { page.index };
        log.append(page, index);
        if self.eviction == Eviction::Lru {
            self.pools[page.pool as usize].order.make_newest(number % self.per_pool);
        }
        let log = &self.link(number).log;
        let full = log.next >= self.most(log.in_order, core.places());
        if !full || self.merge == Merge::Lazy || !self.is_complete(group) {
            return Ok(done);
        }
        let oldest = self.chain(group).last().unwrap_or(number);
        self.merge_and_remove(core, nand, oldest, done)
    }

    fn failed(&mut self, nand: &Array, page: HostPage, _block: BlockId) {
        let number = self.newest[self.grouping.group_of(page.logical) as usize];
        if let Some(Link { log, .. }) = &mut self.logs[number as usize] {
            log.fail(nand);
        }
    }

    fn adopt(&mut self, core: &mut Core, found: Vec<Log>) {
        self.clear();
        for log in found {
            let added = self.add(core.pool_of(log.logical), log);
            debug_assert!(added.is_some(), "more log blocks than there may be");
        }
    }
}
