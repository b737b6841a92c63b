//! Log blocks that are tied to groups of data blocks: one to each data block (`bast`, and the
//! replacement blocks of `block-map`), or up to K to each N of them (`n-k`).

use flashscope_block::{Errno, Nanos};

use super::core::{Core, Grouping, HostPage, Log};
use super::{Role, Room, Scheme};
use crate::footprint::{Size, fixed};
use crate::ftl::{Eviction, Layout, Merge};
use crate::list::List;
use crate::nand::{Array, BlockId, Event};

/// The end of a chain of log blocks.
const NONE: u32 = u32::MAX;

/// Which place of a log block takes a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placing {
    /// The next one.
    Any,
    /// That which it has in the data block. The places in between are left out.
    InPlace,
    /// As `InPlace`, with the pages in between copied: the log block is always in order.
    InOrder,
}

/// How log blocks are tied to data blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ties {
    /// Consecutive logical blocks of a pool that share log blocks.
    pub(super) group: u32,
    /// Log blocks that a group may have.
    pub(super) per_group: u32,
    pub(super) placing: Placing,
}

/// A log block, and the one that its group had before it.
struct Link {
    log: Log,
    older: u32,
}

/// The log blocks of a pool, by the order in which they are given up.
struct Listed {
    order: List,
    unused: Vec<u32>,
}

/// Log blocks that are tied to groups of data blocks.
pub struct Tied {
    ties: Ties,
    merge: Merge,
    eviction: Eviction,
    per_pool: u32,
    /// Pages that a log block takes out of order.
    unordered: u32,
    random: fastrand::Rng,
    grouping: Grouping,
    /// For each group, its newest log block, or [`NONE`].
    newest: Vec<u32>,
    /// By number: those of the first pool, then of the next.
    logs: Vec<Option<Link>>,
    pools: Vec<Listed>,
}

impl Tied {
    /// What one takes whose groups have so many logical blocks: see [`Tied::new`].
    pub(super) fn footprint(layout: &Layout, group: u32, per_pool: u32) -> Size {
        let lists = fixed::<Listed>(1u32) + List::footprint(per_pool) + fixed::<u32>(per_pool);
        fixed::<u32>(Grouping::all(layout, group))
            + (fixed::<Option<Link>>(per_pool) + lists) * layout.pools.into()
    }

    /// Up to `per_pool` log blocks of each pool.
    pub(super) fn new(layout: &Layout, ties: Ties, per_pool: u32) -> Self {
        let logs = layout.logs;
        let mut tied = Tied {
            ties,
            merge: logs.merge,
            eviction: logs.eviction,
            per_pool,
            unordered: logs.unordered,
            random: fastrand::Rng::with_seed(logs.seed),
            grouping: Grouping::new(layout, ties.group),
            newest: Vec::new(),
            logs: Vec::new(),
            pools: (0..layout.pools)
                .map(|_| Listed { order: List::new(0), unused: vec![] })
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

    /// The log blocks of a group, the newest first.
    fn chain(&self, group: u32) -> impl Iterator<Item = u32> {
        let known = |number: u32| (number != NONE).then_some(number);
        let newest = known(self.newest[group as usize]);
        std::iter::successors(newest, move |number| known(self.link(*number).older))
    }

    /// Whether a log block takes a page.
    #[inline]
    fn takes(&self, log: &Log, page: HostPage, places: u32) -> bool {
        let fits = self.ties.placing == Placing::Any || page.index >= log.next;
        let goes_on = (log.logical, log.next) == (page.logical, page.index);
        log.has_room(self.most(log.in_order && goes_on, places)) && fits
    }

    /// How many pages a log block takes.
    #[inline]
    fn most(&self, in_order: bool, places: u32) -> u32 {
        if in_order { places } else { places.min(self.unordered) }
    }

    /// Whether a group has all the log blocks that it may.
    fn is_complete(&self, group: u32) -> bool {
        self.chain(group).count() >= self.ties.per_group as usize
    }

    /// Merges a log block and lets go of it.
    fn give_up(
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

    /// Merges the log block of a pool that is given up for another.
    pub(super) fn evict(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        pool: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let victim = self.victim(pool).ok_or(Errno::ENOSPC)?;
        let done = self.give_up(core, nand, victim, at)?;
        nand.count(Event::LogEviction);
        Ok(done)
    }

    /// Merges the log blocks that are tied to a logical block.
    pub(super) fn give_up_all_of(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        logical: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let (group, mut at) = (self.grouping.group_of(logical), at);
        while let Some(oldest) = self.chain(group).last() {
            at = self.give_up(core, nand, oldest, at)?;
        }
        Ok(at)
    }

    /// The log block of a pool that is given up for another, if there is one.
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

    /// Notes a log block, the newest of its group and of its pool.
    fn add(&mut self, pool: u32, log: Log) -> Option<u32> {
        let number = self.pools[pool as usize].unused.pop()?;
        self.pools[pool as usize].order.make_newest(number);
        let (number, group) = (pool * self.per_pool + number, self.grouping.group_of(log.logical));
        let older = std::mem::replace(&mut self.newest[group as usize], number);
        self.logs[number as usize] = Some(Link { log, older });
        Some(number)
    }

    /// Takes a further block as a log block for a page, giving up another where a pool has all it
    /// may, or where the last free block would go, which merges need.
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

    /// The log block that takes a page, and from when on.
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
            at = self.give_up(core, nand, oldest, at)?;
        }
        self.allocate(core, nand, page, at)
    }
}

impl Scheme for Tied {
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
            match self.ties.placing {
                Placing::Any => return Ok(log.room(free)),
                Placing::InPlace => {
                    nand.leave_out(log.block, page.index)?;
                    return Ok(Room { index: page.index, ..log.room(free) });
                }
                Placing::InOrder => at = core.fill(nand, log, page.index, free)?,
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
        let index = if self.ties.placing == Placing::Any { log.next } else { page.index };
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
        self.give_up(core, nand, oldest, done)
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
