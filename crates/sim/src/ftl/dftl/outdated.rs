//! Tracks and writes the translation pages that garbage collection has made out of date.

use std::collections::{BTreeSet, VecDeque};

use flashscope_block::{Errno, Nanos};

use super::{CachedMap, Dftl, Layout, write};
use crate::footprint::{Size, fixed, grown};
use crate::ftl::page_map::{NOWHERE, Role};
use crate::gc::VictimPolicy;
use crate::nand::{Array, Cause, Lpn, Slot, Stamp};

/// The translation pages that are out of date: some of their entries changed while these entries
/// were not in memory, mostly because garbage collection moved pages.
pub(super) struct OutdatedPages {
    is_outdated: Vec<bool>,
    pub(super) count: u32,
    /// Maximum number of outdated pages that may wait to be written.
    pub(super) most: u32,
    /// The waiting pages of each pool, longest wait first. Some may have been written since they
    /// were queued.
    queues: Vec<VecDeque<u32>>,
    /// The batch being written: translation pages, by logical page number, with their slots.
    taken: Vec<(Lpn, Slot)>,
}

/// The capacity of a pool's queue: the first number times the pool's translation pages, plus the
/// second number. When a queue reaches its capacity, pages that were written after they were queued
/// are removed.
const QUEUED: (usize, usize) = (2, 64);

impl OutdatedPages {
    /// Returns the size of the memory that an [`OutdatedPages`] allocates.
    pub(super) fn footprint(layout: &Layout) -> Size {
        let (pages, pools) = (u64::from(layout.translation_pages()), u64::from(layout.pools));
        let queued = QUEUED.0 as u64 * pages.div_ceil(pools) + QUEUED.1 as u64;
        fixed::<bool>(pages)
            + (fixed::<VecDeque<u32>>(1u32) + grown::<u32>(queued)) * pools
            + grown::<(Lpn, Slot)>(layout.slots_per_block())
    }

    pub(super) fn new(layout: &Layout) -> Self {
        OutdatedPages {
            is_outdated: vec![false; layout.translation_pages() as usize],
            count: 0,
            most: if layout.background_below > 0 { layout.slots_per_block() } else { 0 },
            queues: vec![VecDeque::new(); layout.pools as usize],
            taken: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn add(&mut self, page: u32, pool: u32) {
        if !std::mem::replace(&mut self.is_outdated[page as usize], true) {
            self.count += 1;
            let most = QUEUED.0 * self.is_outdated.len().div_ceil(self.queues.len()) + QUEUED.1;
            if self.queues[pool as usize].len() >= most {
                self.forget_written(pool);
            }
            self.queues[pool as usize].push_back(page);
        }
    }

    /// Removes duplicates from a pool's queue, and pages that were written after they were queued.
    #[cold]
    fn forget_written(&mut self, pool: u32) {
        let mut seen = BTreeSet::new();
        let is = &self.is_outdated;
        self.queues[pool as usize].retain(|page| is[*page as usize] && seen.insert(*page));
    }

    #[inline]
    pub(super) fn remove(&mut self, page: u32) {
        self.count -= u32::from(std::mem::take(&mut self.is_outdated[page as usize]));
    }

    /// Returns the page of a pool that has waited the longest.
    pub(super) fn oldest(&mut self, pool: u32) -> Option<u32> {
        let queue = &mut self.queues[pool as usize];
        while let Some(page) = queue.front().copied() {
            if self.is_outdated[page as usize] {
                return Some(page);
            }
            queue.pop_front();
        }
        None
    }

    /// Moves up to `most` pages of a pool that have waited the longest into `taken`, with their
    /// slots from `map`. Stops before a page without a slot. `first` is the logical page number of
    /// the first translation page.
    fn take(&mut self, pool: u32, most: u32, first: u32, map: &[u32]) {
        self.taken.clear();
        while self.taken.len() < most as usize
            && let Some(page) = self.oldest(pool)
            && map[(first + page) as usize] != NOWHERE
        {
            self.remove(page);
            let lpn = first + page;
            self.taken.push((Lpn(lpn), Slot(map[lpn as usize] - 1)));
        }
    }
}

/// Writes all translation pages that are out of date. Returns the time at which they are written,
/// or `None` if some pages had no room.
pub(super) fn catch_up(
    ftl: &mut Dftl,
    nand: &mut Array,
    at: Nanos,
) -> Result<Option<Nanos>, Errno> {
    let mut done = at;
    // Writes for one pool may need garbage collection, which makes translation pages of other pools
    // out of date.
    while ftl.mapping.outdated.count > 0 {
        for pool in 0..ftl.layout.pools {
            while let Some(page) = ftl.mapping.outdated.oldest(pool) {
                let written = match write_many(ftl, nand, pool, at) {
                    Ok(None) => write(ftl, nand, page, None, at),
                    Ok(Some(written)) => Ok(written),
                    Err(errno) => Err(errno),
                };
                done = match written {
                    Ok(written) => done.max(written),
                    Err(Errno::ENOSPC) => return Ok(None),
                    Err(errno) => return Err(errno),
                };
            }
        }
    }
    Ok(Some(done))
}

/// Does the same as [`write`] for as many of the pool's out-of-date pages as fit in the open block.
/// Returns `None` if they must be written one by one.
fn write_many(
    ftl: &mut Dftl,
    nand: &mut Array,
    pool: u32,
    at: Nanos,
) -> Result<Option<Nanos>, Errno> {
    let places = ftl.lanes[pool as usize].places;
    let waits = ftl.mapping.memory.access() > Nanos(0);
    if waits || ftl.layout.lanes_per_pool > 1 || !nand.can_rewrite(places.0, places.1) {
        return Ok(None);
    }
    let front = ftl.make_room(nand, pool, Role::Map, at)?;
    let frontier = ftl.frontier(nand, front, at)?;
    let room = frontier.places - frontier.next;
    if room > Stamp::MAX - ftl.stamp {
        return Ok(None);
    }
    let CachedMap { outdated, blocks, first, .. } = &mut ftl.mapping;
    outdated.take(pool, room, *first, &ftl.map);
    let Ok(count @ 1..) = u32::try_from(outdated.taken.len()) else { return Ok(None) };
    let to = nand.geometry().slot(frontier.block, frontier.next);
    let moves = (&outdated.taken[..], to);
    let done = nand.rewrite(moves, ftl.stamp + 1, at, Cause::Mapping, |block, valid| {
        blocks.policy.superseded(front.lane, block, valid);
    })?;
    for ((lpn, _), place) in outdated.taken.iter().zip(to.0 + 1..) {
        ftl.map[lpn.0 as usize] = place;
    }
    if ftl.mapping.batch {
        for nth in 0..count as usize {
            let page = ftl.mapping.outdated.taken[nth].0.0 - ftl.mapping.first;
            let lpns = ftl.mapping.lpns(page);
            ftl.mapping.memory.settle(lpns);
        }
    }
    let heat =
        u64::from(count) * u64::from(ftl.stamp) + u64::from(count) * u64::from(count + 1) / 2;
    ftl.stamp += count;
    ftl.advance(nand, front, count, heat, done);
    Ok(Some(done))
}
