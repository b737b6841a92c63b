//! LAST, locality-aware sector translation. Long writes go to log blocks that each belong to one
//! data block. Short writes go to log blocks that all data blocks share. *Hot* pages, which are
//! soon rewritten, have separate shared log blocks.
//!
//! Rewrites often supersede all pages of a hot log block, which is then erased without a merge. The
//! number of hot log blocks varies, up to the limit `log.hot`: eviction chooses the shared log
//! block that is cheapest to merge, hot or cold.

use std::collections::VecDeque;

use flashscope_block::{Bytes, Errno, Nanos};

use super::log_block::core::Core;
use super::log_block::log::{HostPage, Log};
use super::log_block::tied_logs::{Placement, TiedLogs, Ties};
use super::log_block::{LogBlock, Role, Room, Scheme};
use super::{AnyFtl, Family, Kind, LogSharing, LogUse};
use crate::footprint::{Size, fixed, grown};
use crate::nand::{Array, BlockId, Event, Lpn};
use crate::setup::{Layout, Profile, ProfileError, require};

/// The LAST FTL; see [`KIND`].
pub(super) type Last = LogBlock<Localities>;

pub(in crate::ftl) const KIND: Kind = Kind {
    name: "last",
    summary: "data mapped by whole blocks; long writes go to log.sequential log blocks, each with \
              the pages of one data block in order; other writes go to log blocks that all data \
              blocks share, up to log.hot of them for pages that are soon rewritten; the shared \
              log block with pages of the fewest data blocks is merged first",
    source: "Lee, Shin, Kim and Kim, \"LAST\", ACM SIGOPS OSR 42(6), 2008; the fields of [log] say \
             which values flashscope chose",
    family: Family::LogBlock(LogUse {
        min_blocks: 3,
        sharing: LogSharing::ByLocality,
        any_order: false,
    }),
    check,
    new: |layout, _, nand| AnyFtl::Last(LogBlock::new(layout, nand, Localities::new(layout))),
    footprint: |layout, _| Core::footprint(layout) + Localities::footprint(layout),
};

/// Checks the fields that only LAST uses. Long writes, hot pages and other short writes each need
/// at least one log block.
fn check(profile: &Profile) -> Result<(), ProfileError> {
    let log = &profile.log;
    let (field, size) = ("log.sequential_request", log.sequential_request);
    require(size > Bytes(0), field, size.0, "it must be at least 1")?;
    let (field, interval) = ("log.hot_interval", log.hot_interval);
    require(interval > 0, field, interval, "it must be at least 1")?;
    let most = log.blocks - 2;
    let fits = (1..=most).contains(&log.sequential);
    let rule = format!("it must be from 1 to log.blocks - 2, which is {most}");
    require(fits, "log.sequential", log.sequential, rule)?;
    let most = log.blocks - log.sequential - 1;
    let fits = (1..=most).contains(&log.hot);
    let rule = format!("it must be from 1 to log.blocks - log.sequential - 1, which is {most}");
    require(fits, "log.hot", log.hot, rule)
}

/// The temporal locality of pages: when a short write last wrote each page.
struct Recency {
    /// For each map entry, the value of `count` at its last short write; 0 if unknown.
    written: Vec<u32>,
    count: u32,
    /// A page is hot if fewer than this many short writes have followed its own last short write.
    interval: u32,
}

impl Recency {
    fn new(interval: u32) -> Self {
        Recency { written: Vec::new(), count: 0, interval }
    }

    /// Returns the role of the log block that takes the next write of a page.
    #[inline]
    fn role(&self, index: usize) -> Role {
        match self.written.get(index) {
            Some(written @ 1..) if self.count - written < self.interval => Role::Hot,
            _ => Role::Shared,
        }
    }

    #[inline]
    fn note(&mut self, index: usize, entries: usize) {
        if self.count == u32::MAX {
            self.written.fill(0);
            self.count = 0;
        }
        if self.written.is_empty() {
            self.written = vec![0; entries];
        }
        self.count += 1;
        self.written[index] = self.count;
    }
}

/// The shared log blocks of a pool. Each partition, hot or cold, lists its oldest log block first;
/// writes go to the last one.
#[derive(Default)]
struct Random {
    hot: VecDeque<Log>,
    cold: VecDeque<Log>,
}

impl Random {
    fn partition(&mut self, role: Role) -> &mut VecDeque<Log> {
        if role == Role::Hot { &mut self.hot } else { &mut self.cold }
    }

    fn count(&self) -> usize {
        self.hot.len() + self.cold.len()
    }
}

/// A search for the data blocks of which a log block holds the newest pages.
#[derive(Default)]
struct AssociatedBlocks {
    /// For each logical block, the number of the last search that found it.
    found_by: Vec<u64>,
    search: u64,
    found: Vec<u32>,
}

impl AssociatedBlocks {
    /// Returns the logical blocks of which `block` holds newest pages, or the first `most` if there
    /// are more.
    fn find(&mut self, core: &Core, nand: &Array, block: BlockId, most: usize) -> &[u32] {
        self.found_by.resize(core.data.len(), 0);
        self.search += 1;
        self.found.clear();
        let first = nand.geometry().slot(block, 0).0;
        let lpns = nand.metadata(first..first + core.places());
        for slot in nand.valid_slots(block) {
            let logical = core.page(Lpn(lpns[(slot.0 - first) as usize])).logical;
            let found_by = &mut self.found_by[logical as usize];
            if std::mem::replace(found_by, self.search) != self.search {
                self.found.push(logical);
                if self.found.len() == most {
                    break;
                }
            }
        }
        &self.found
    }
}

/// The log blocks of a drive, separated by the locality of their pages.
pub struct Localities {
    sequential: TiedLogs,
    /// Maximum numbers of log blocks in a pool: sequential, shared, and hot among the shared.
    max_sequential: usize,
    max_random: usize,
    max_hot: usize,
    pools: Vec<Random>,
    recency: Recency,
    associated: AssociatedBlocks,
}

impl Localities {
    /// Returns the size of the memory that a [`Localities`] allocates.
    fn footprint(layout: &Layout) -> Size {
        let (log, entries) = (layout.logs.options, Core::map_entries(layout));
        let places = layout.slots_per_block();
        let random = grown::<Log>(log.blocks - log.sequential) + grown::<Log>(log.hot);
        TiedLogs::footprint(layout, 1, log.sequential)
            + (fixed::<Random>(1u32) + random) * layout.pools.into()
            + fixed::<u32>(entries)
            + grown::<u64>(entries / u64::from(places))
            + grown::<u32>(places)
    }

    fn new(layout: &Layout) -> Self {
        let log = layout.logs.options;
        let ties = Ties { group: 1, per_group: 1, placement: Placement::InOrder };
        Localities {
            sequential: TiedLogs::new(layout, ties, log.sequential),
            max_sequential: log.sequential as usize,
            max_random: (log.blocks - log.sequential) as usize,
            max_hot: log.hot as usize,
            pools: (0..layout.pools).map(|_| Random::default()).collect(),
            recency: Recency::new(log.hot_interval),
            associated: AssociatedBlocks::default(),
        }
    }

    fn random(&mut self, pool: u32) -> &mut Random {
        &mut self.pools[pool as usize]
    }

    /// Returns the slot for a page of a short write.
    fn random_room(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        at: Nanos,
    ) -> Result<Room, Errno> {
        let (pool, role) = (page.pool, self.recency.role(core.index_of(page)));
        if let Some(log) = self.random(pool).partition(role).back()
            && log.has_room(core.places())
        {
            return Ok(log.room(at));
        }
        let mut at = at;
        while role == Role::Hot && self.random(pool).hot.len() >= self.max_hot {
            at = self.evict_cheapest(core, nand, pool, &[Role::Hot], at)?;
        }
        while self.random(pool).count() >= self.max_random {
            at = self.evict_cheapest(core, nand, pool, &[Role::Hot, Role::Shared], at)?;
        }
        while core.free_in(pool) < 2 {
            at = self.free_one(core, nand, pool, at)?;
        }
        let block = core.open(nand, pool, role, at)?;
        let log = Log::new(nand, block, role, page.logical);
        self.random(pool).partition(role).push_back(log);
        Ok(log.room(at))
    }

    /// Evicts a log block of a pool that has too few free blocks. This is the cheapest shared log
    /// block, or a sequential log block if the pool has no shared log blocks.
    fn free_one(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        pool: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        if self.random(pool).count() == 0 {
            return self.sequential.evict(core, nand, pool, at);
        }
        self.evict_cheapest(core, nand, pool, &[Role::Hot, Role::Shared], at)
    }

    /// Merges the log block of the partitions `roles` that is cheapest to merge. A log block
    /// without newest pages is only erased. The sequential log blocks of the affected data blocks
    /// are merged first, because they could not become data blocks after the rewrite of their data
    /// blocks.
    fn evict_cheapest(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        pool: u32,
        roles: &[Role],
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let (role, nth) = self.cheapest(core, nand, pool, roles)?;
        let victim = self.random(pool).partition(role)[nth].block;
        let mut at = at;
        for logical in self.associated.find(core, nand, victim, usize::MAX).to_vec() {
            at = self.sequential.merge_all_of(core, nand, logical, at)?;
        }
        let logs = self.random(pool).partition(role);
        at = core.merge(nand, &mut logs[nth], at)?;
        logs.remove(nth);
        nand.count(Event::LogEviction);
        Ok(at)
    }

    /// Returns the partition and the index of the log block that is cheapest to merge. It has
    /// newest pages of the fewest data blocks, and is the oldest among equals of its partition. A
    /// log block with room left is chosen only if all have room.
    fn cheapest(
        &mut self,
        core: &Core,
        nand: &Array,
        pool: u32,
        roles: &[Role],
    ) -> Result<(Role, usize), Errno> {
        let Localities { pools, associated, .. } = self;
        let mut cheapest: Option<((bool, usize), Role, usize)> = None;
        for role in roles {
            for (nth, log) in pools[pool as usize].partition(*role).iter().enumerate() {
                let has_room = log.has_room(core.places());
                let most = match cheapest {
                    Some(((known, _), ..)) if has_room && !known => continue,
                    Some(((known, data_blocks), ..)) if has_room == known => data_blocks,
                    _ => usize::MAX,
                };
                let cost = (has_room, associated.find(core, nand, log.block, most).len());
                if cheapest.is_none_or(|known| cost < known.0) {
                    cheapest = Some((cost, *role, nth));
                }
            }
        }
        cheapest.map(|(_, role, nth)| (role, nth)).ok_or(Errno::ENOSPC)
    }

    /// Returns the log block `block` of a pool if it is a shared log block that takes writes.
    fn log(&mut self, pool: u32, block: BlockId) -> Option<&mut Log> {
        let Random { hot, cold } = self.random(pool);
        [hot, cold].into_iter().filter_map(VecDeque::back_mut).find(|log| log.block == block)
    }
}

impl Scheme for Localities {
    #[inline]
    fn room(
        &mut self,
        core: &mut Core,
        nand: &mut Array,
        page: HostPage,
        long: bool,
        at: Nanos,
    ) -> Result<Room, Errno> {
        if !long {
            return self.random_room(core, nand, page, at);
        }
        let mut at = at;
        loop {
            match self.sequential.room(core, nand, page, long, at) {
                // Evicting sequential log blocks does not free enough blocks.
                Err(Errno::ENOSPC) => at = self.free_one(core, nand, page.pool, at)?,
                found => return found,
            }
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
        let Some(log) = self.log(page.pool, block) else {
            return self.sequential.written(core, nand, page, block, done);
        };
        log.append(page, log.next);
        self.recency.note(core.index_of(page), core.map.len());
        Ok(done)
    }

    fn failed(&mut self, nand: &Array, page: HostPage, block: BlockId) {
        match self.log(page.pool, block) {
            Some(log) => log.fail(nand),
            None => self.sequential.failed(nand, page, block),
        }
    }

    fn adopt(&mut self, core: &mut Core, found: Vec<Log>) {
        self.recency = Recency::new(self.recency.interval);
        let mut sequential: Vec<Log> = Vec::new();
        self.pools.fill_with(Random::default);
        for log in found {
            let pool = core.pool_of(log.logical);
            let in_pool = sequential.iter().filter(|other| core.pool_of(other.logical) == pool);
            let known = sequential.iter().any(|other| other.logical == log.logical);
            let fits = !known && in_pool.count() < self.max_sequential;
            match log.role {
                Role::Log if fits => sequential.push(log),
                role => self.random(pool).partition(role).push_back(log),
            }
        }
        self.sequential.adopt(core, sequential);
    }
}
