//! Locality-aware sector translation: log blocks tied to data blocks for long writes, and for short
//! ones others that all data blocks share, with those that are written again soon apart from the
//! rest.
//!
//! Pages that are written again soon leave blocks behind that hold nothing, which are erased without a
//! merge. How the shared log blocks divide into hot and cold ones follows from which are the
//! cheapest to merge.

use std::collections::VecDeque;

use flashscope_block::{Errno, Nanos};

use super::core::{Core, HostPage, Log};
use super::tied::{Placing, Tied, Ties};
use super::{LogBlock, Role, Room, Scheme};
use crate::footprint::{Size, fixed, grown};
use crate::ftl::{AnyFtl, Family, Kind, Layout, LogUse};
use crate::nand::{Array, BlockId, Event};

/// See [`KIND`].
pub type Last = LogBlock<Localities>;

pub(in crate::ftl) const KIND: Kind = Kind {
    name: "last",
    summary: "data by whole blocks; long writes go to log.sequential log blocks, each in the order \
              of one data block, all others to log blocks that all data blocks share, up to \
              log.hot of them for pages that are written again soon, and of which the one is \
              merged that has pages of the fewest data blocks",
    source: "Lee, Shin, Kim and Kim, \"LAST\", ACM SIGOPS OSR 42(6), 2008; what of it was chosen \
             here stands with the fields of [log]",
    family: Family::LogBlock(LogUse {
        least: 3,
        groups: false,
        any_order: false,
        localities: true,
    }),
    new: |layout, nand| AnyFtl::Last(LogBlock::new(layout, nand, Localities::new(layout))),
    footprint: |layout| Core::footprint(layout) + Localities::footprint(layout),
};

/// When pages were last written by short writes: the temporal locality.
struct Recency {
    /// For each place in the map, when, as a count of such writes; 0 if not within what is known.
    written: Vec<u32>,
    count: u32,
    /// How many writes ago a page must have been written at most to be hot.
    interval: u32,
}

impl Recency {
    fn new(interval: u32) -> Self {
        Recency { written: Vec::new(), count: 0, interval }
    }

    /// The partition for a page that is written next.
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

/// The log blocks of a pool that all data blocks share, those of each partition the oldest first: the last
/// one is written to.
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

/// Finds the data blocks that log blocks hold newest pages of.
#[derive(Default)]
struct Associated {
    /// For each logical block, the search that has found it last.
    found_by: Vec<u64>,
    search: u64,
    found: Vec<u32>,
}

impl Associated {
    /// The data blocks that `block` holds newest pages of, as logical blocks.
    fn find(&mut self, core: &Core, nand: &Array, block: BlockId) -> Result<&[u32], Errno> {
        self.found_by.resize(core.data.len(), 0);
        self.search += 1;
        self.found.clear();
        let mut next = nand.next_valid(block, 0);
        while let Some(slot) = next {
            // What is valid was programmed, and has not been torn since.
            let logical = core.page(nand.entry(slot).ok_or(Errno::EIO)?.lpn).logical;
            let found_by = &mut self.found_by[logical as usize];
            if std::mem::replace(found_by, self.search) != self.search {
                self.found.push(logical);
            }
            next = nand.next_valid(block, nand.geometry().index(slot) + 1);
        }
        Ok(&self.found)
    }
}

/// The log blocks of a drive, by the locality of what they take.
pub struct Localities {
    sequential: Tied,
    /// How many sequential ones a pool may have, how many others, and how many hot ones of those.
    most_sequential: usize,
    most_random: usize,
    most_hot: usize,
    pools: Vec<Random>,
    recency: Recency,
    associated: Associated,
}

impl Localities {
    /// What one takes.
    fn footprint(layout: &Layout) -> Size {
        let (logs, entries) = (layout.logs, Core::map_entries(layout));
        let places = layout.slots_per_block();
        let random = grown::<Log>(logs.per_pool - logs.sequential) + grown::<Log>(logs.hot);
        Tied::footprint(layout, 1, logs.sequential)
            + (fixed::<Random>(1u32) + random) * layout.pools.into()
            + fixed::<u32>(entries)
            + grown::<u64>(entries / u64::from(places))
            + grown::<u32>(places)
    }

    fn new(layout: &Layout) -> Self {
        let logs = layout.logs;
        let ties = Ties { group: 1, per_group: 1, placing: Placing::InOrder };
        Localities {
            sequential: Tied::new(layout, ties, logs.sequential),
            most_sequential: logs.sequential as usize,
            most_random: (logs.per_pool - logs.sequential) as usize,
            most_hot: logs.hot as usize,
            pools: (0..layout.pools).map(|_| Random::default()).collect(),
            recency: Recency::new(logs.hot_interval),
            associated: Associated::default(),
        }
    }

    fn random(&mut self, pool: u32) -> &mut Random {
        &mut self.pools[pool as usize]
    }

    /// The place for a page of a short write.
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
        while role == Role::Hot && self.random(pool).hot.len() >= self.most_hot {
            at = self.give_up_cheapest(core, nand, pool, &[Role::Hot], at)?;
        }
        while self.random(pool).count() >= self.most_random {
            at = self.give_up_cheapest(core, nand, pool, &[Role::Hot, Role::Shared], at)?;
        }
        while core.free_in(pool) < 2 {
            at = self.free_one(core, nand, pool, at)?;
        }
        let block = core.open(nand, pool, role, at)?;
        let log = Log::new(nand, block, role, page.logical);
        self.random(pool).partition(role).push_back(log);
        Ok(log.room(at))
    }

    /// Gives up any log block of a pool, for a block where the pool has too few left.
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
        self.give_up_cheapest(core, nand, pool, &[Role::Hot, Role::Shared], at)
    }

    /// Merges the log block of these partitions that has newest pages of the fewest data blocks, the
    /// oldest of those: one that has none is erased. The sequential log blocks of these data blocks go
    /// first: they can be completed as long as their data block was not made anew.
    fn give_up_cheapest(
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
        for logical in self.associated.find(core, nand, victim)?.to_vec() {
            at = self.sequential.give_up_all_of(core, nand, logical, at)?;
        }
        let logs = self.random(pool).partition(role);
        at = core.merge(nand, &mut logs[nth], at)?;
        logs.remove(nth);
        nand.count(Event::LogEviction);
        Ok(at)
    }

    /// Which log block costs the least to merge; one that has room left only if all have.
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
                let data_blocks = associated.find(core, nand, log.block)?.len();
                let cost = (log.has_room(core.places()), data_blocks);
                if cheapest.is_none_or(|known| cost < known.0) {
                    cheapest = Some((cost, *role, nth));
                }
            }
        }
        cheapest.map(|(_, role, nth)| (role, nth)).ok_or(Errno::ENOSPC)
    }

    /// The shared log block of a pool that is written to and is `block`.
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
                // There is nothing more to give up among these.
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
            let fits = !known && in_pool.count() < self.most_sequential;
            match log.role {
                Role::Log if fits => sequential.push(log),
                role => self.random(pool).partition(role).push_back(log),
            }
        }
        self.sequential.adopt(core, sequential);
    }
}
