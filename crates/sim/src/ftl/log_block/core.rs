//! The state and operations that all FTLs with log blocks share: the map, free blocks and merges.

use std::collections::VecDeque;
use std::ops::Range;

use flashscope_block::{Errno, Nanos};

use super::Role;
use super::grouping::logical_blocks;
use super::log::{HostPage, Log};
use crate::arithmetic::Divisor;
use crate::event::Notice;
use crate::footprint::{Size, fixed, grown};
use crate::ftl::Health;
use crate::nand::{Array, BlockId, Cause, Entry, Event, Fault, Lpn, NOWHERE, Page, Slot, Stamp};
use crate::setup::Layout;

/// The blocks of an allocation pool.
pub(crate) struct Pool {
    /// All blocks, in the order of first use.
    pub(in crate::ftl) blocks: Vec<BlockId>,
    /// Erased blocks in the order of next use. The block that has been free for the longest time
    /// comes first.
    pub(in crate::ftl) free: VecDeque<BlockId>,
    /// Time until which writes and merges wait for the current merge.
    pub(in crate::ftl) busy: Nanos,
}

/// The state of the drive, except for its log blocks.
pub struct Core {
    pub(in crate::ftl) layout: Layout,
    pools: Divisor,
    stripe: Divisor,
    places: Divisor,
    /// Logical blocks in each pool.
    logical_blocks: u32,
    /// For each page of each logical block, 1 + the slot number of its newest copy, or [`NOWHERE`].
    pub(in crate::ftl) map: Vec<u32>,
    /// For each logical block, 1 + the number of its data block, or 0 if it has no data block.
    pub(in crate::ftl) data: Vec<u32>,
    pub(in crate::ftl) pool: Vec<Pool>,
    pub(in crate::ftl) stamp: Stamp,
    pub(in crate::ftl) health: Health,
    /// The sources of the pages that move together. Merges reuse the vector, whose memory is
    /// allocated only once.
    sources: Vec<u32>,
}

/// Converts a number that is below the number of pages.
#[inline]
fn small(number: u64) -> u32 {
    u32::try_from(number).expect("below the number of pages")
}

impl Core {
    /// Returns the size of the memory that a [`Core`] allocates, including the vectors used by
    /// merges.
    pub(in crate::ftl) fn footprint(layout: &Layout) -> Size {
        let (pools, places) = (u64::from(layout.pools), u64::from(layout.slots_per_block()));
        let blocks = layout.geometry.blocks() / layout.pools;
        fixed::<u32>(Core::map_entries(layout))
            + fixed::<u32>(Core::map_entries(layout) / places)
            + (fixed::<Pool>(1u32) + grown::<BlockId>(blocks) * 2) * pools
            + grown::<u64>(places) * 4
    }

    /// Returns the number of entries in the map.
    pub(in crate::ftl) fn map_entries(layout: &Layout) -> u64 {
        let places = u64::from(layout.slots_per_block());
        u64::from(layout.pools) * u64::from(logical_blocks(layout)) * places
    }

    pub(in crate::ftl) fn new(layout: &Layout, nand: &Array) -> Self {
        let places = layout.slots_per_block();
        let logical_blocks = logical_blocks(layout);
        let all = (layout.pools * logical_blocks) as usize;
        let pool = |index| {
            let blocks = layout.blocks_of_lane(index);
            let free = blocks.iter().copied().filter(|block| !nand.is_bad(*block)).collect();
            Pool { blocks, free, busy: Nanos(0) }
        };
        let bad = (0..layout.geometry.blocks()).filter(|block| nand.is_bad(BlockId(*block)));
        Core {
            pools: Divisor::new(layout.pools.into()),
            stripe: Divisor::new(layout.stripe.into()),
            places: Divisor::new(places.into()),
            logical_blocks,
            map: vec![NOWHERE; all * places as usize],
            data: vec![0; all],
            pool: (0..layout.pools).map(pool).collect(),
            stamp: 0,
            health: Health { factory_bad_blocks: bad.count() as u64, ..Health::default() },
            sources: Vec::new(),
            layout: layout.clone(),
        }
    }

    /// Returns the number of slots in a block.
    #[inline]
    pub(in crate::ftl) fn places(&self) -> u32 {
        self.layout.geometry.slots_per_block
    }

    /// Returns the pool of a logical block.
    pub(in crate::ftl) fn pool_of(&self, logical: u32) -> u32 {
        logical / self.logical_blocks
    }

    /// Returns the pool of a logical page, and the number of the page in this pool.
    #[inline]
    fn in_pool(&self, lpn: Lpn) -> (u32, u64) {
        let number = u64::from(lpn.0);
        let stripe = self.stripe.quotient(number);
        let within =
            self.pools.quotient(stripe) * self.stripe.value() + self.stripe.remainder(number);
        (small(self.pools.remainder(stripe)), within)
    }

    /// Returns the position of a logical page.
    #[inline]
    pub(in crate::ftl) fn page(&self, lpn: Lpn) -> HostPage {
        let (pool, within) = self.in_pool(lpn);
        HostPage {
            lpn,
            pool,
            logical: pool * self.logical_blocks + small(self.places.quotient(within)),
            index: small(self.places.remainder(within)),
        }
    }

    /// Returns the index of the map entry of a logical page: [`Core::index_of`] for its
    /// [`Core::page`].
    #[inline]
    fn map_index(&self, lpn: Lpn) -> usize {
        let (pool, within) = self.in_pool(lpn);
        self.pages_of(pool * self.logical_blocks).start + small(within) as usize
    }

    /// Returns the range of map entries of a logical block.
    #[inline]
    pub(in crate::ftl) fn pages_of(&self, logical: u32) -> Range<usize> {
        let places = self.places() as usize;
        let start = logical as usize * places;
        start..start + places
    }

    #[inline]
    pub(in crate::ftl) fn index_of(&self, page: HostPage) -> usize {
        self.pages_of(page.logical).start + page.index as usize
    }

    /// Returns the slot with the newest copy of a page.
    #[inline]
    pub(in crate::ftl) fn slot_of(&self, page: HostPage) -> Option<Slot> {
        let mapped = self.map[self.index_of(page)];
        (mapped != NOWHERE).then(|| Slot(mapped - 1))
    }

    /// Returns the time until which writes to the pool wait for a merge.
    #[inline]
    pub(in crate::ftl) fn busy(&self, pool: u32) -> Nanos {
        self.pool[pool as usize].busy
    }

    pub(in crate::ftl) fn free_blocks(&self) -> Vec<u32> {
        (0..self.layout.pools).map(|pool| self.free_in(pool)).collect()
    }

    /// Returns the number of free blocks in a pool.
    #[inline]
    pub(in crate::ftl) fn free_in(&self, pool: u32) -> u32 {
        let free = self.pool[pool as usize].free.len();
        u32::try_from(free).expect("fewer than the blocks of a pool, a u32")
    }

    /// Returns the metadata for a page that is written now.
    #[inline]
    pub(in crate::ftl) fn next_entry(
        &mut self,
        nand: &mut Array,
        page: HostPage,
        zero: bool,
    ) -> Entry {
        if self.stamp == Stamp::MAX {
            let kept = nand.renumber_stamps().len();
            self.stamp = Stamp::try_from(kept).expect("at most one stamp for each slot");
        }
        self.stamp += 1;
        Entry { lpn: page.lpn, stamp: self.stamp, zero }
    }

    /// Maps a host page to `slot`, whose program runs until `done`, and supersedes its former slot.
    #[inline]
    pub(in crate::ftl) fn put(
        &mut self,
        nand: &mut Array,
        page: HostPage,
        slot: Slot,
        done: Nanos,
    ) {
        let index = self.index_of(page);
        let before = std::mem::replace(&mut self.map[index], slot.0 + 1);
        if before != NOWHERE {
            nand.supersede(Slot(before - 1), done);
        }
    }

    /// Reads the flash pages that hold any of the bytes `wanted` of a logical page. Returns the
    /// time at which the data is in the controller.
    pub(in crate::ftl) fn read(
        &self,
        nand: &mut Array,
        page: HostPage,
        wanted: &[Range<u32>],
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let wanted = || wanted.iter().filter(|range| !range.is_empty());
        if wanted().next().is_none() {
            return Ok(at);
        }
        let Some(slot) = self.slot_of(page) else { return Ok(at) };
        let (page, span) = (nand.geometry().page(slot), nand.geometry().span);
        let part = self.layout.logical_page_size() / span;
        let mut ready = at;
        for member in 0..span {
            let bytes = member * part..(member + 1) * part;
            if wanted().any(|range| range.start < bytes.end && bytes.start < range.end) {
                let read = nand.read(page, member..member + 1, at, Cause::Host)?;
                ready = nand.both(ready, read);
            }
        }
        Ok(ready)
    }

    /// Returns the error for a refused write. A drive that has lost blocks and has no room left is
    /// at its end of life, and refuses writes with `EROFS`.
    #[cold]
    pub(in crate::ftl) fn refusal(&mut self, nand: &Array, errno: Errno, at: Nanos) -> Errno {
        let failures = nand.counters().failed_programs + nand.counters().failed_erases;
        let lost = self.health.expired_blocks + failures;
        if errno != Errno::ENOSPC || lost == 0 {
            return errno;
        }
        self.health.end_of_life.get_or_insert(nand.known(at));
        Errno::EROFS
    }

    /// Reports the number of free blocks of a pool to observers.
    fn announce_free(&self, nand: &mut Array, pool: u32, at: Nanos) {
        if nand.is_observed() {
            let (free, at) = (self.free_in(pool), nand.known(at));
            nand.notify(|| Notice::FreeBlocks { lane: pool, free, at });
        }
    }

    /// Takes a free block into use.
    pub(in crate::ftl) fn open(
        &mut self,
        nand: &mut Array,
        pool: u32,
        role: Role,
        at: Nanos,
    ) -> Result<BlockId, Errno> {
        let block = self.pool[pool as usize].free.pop_front().ok_or(Errno::ENOSPC)?;
        nand.open(block, role as u8, false);
        self.announce_free(nand, pool, at);
        Ok(block)
    }

    /// Erases a block without valid pages. Adds the block to the free blocks if it is still usable.
    /// Returns the time at which the erase is done.
    pub(in crate::ftl) fn recycle(
        &mut self,
        nand: &mut Array,
        pool: u32,
        block: BlockId,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Errno> {
        let (erased, done) = match nand.erase(block, at, cause) {
            Ok(done) => (true, done),
            Err(Fault::Failed(done)) => (false, done),
            Err(Fault::Illegal(illegal)) => return Err(illegal.into()),
        };
        let worn = nand.erases(block) >= self.layout.reliability.block_lifetime;
        if erased && !worn {
            self.pool[pool as usize].free.push_back(block);
            self.announce_free(nand, pool, done);
        } else {
            nand.mark_bad(block, done);
            self.health.failed_blocks += u64::from(!worn);
            self.health.expired_blocks += u64::from(worn);
        }
        self.set_busy_until(nand, pool, done);
        Ok(done)
    }

    /// Retires a block without valid pages after one of its programs failed.
    fn retire(&mut self, nand: &mut Array, pool: u32, block: BlockId, at: Nanos) {
        nand.mark_bad(block, at);
        self.health.failed_blocks += 1;
        self.set_busy_until(nand, pool, at);
    }

    fn set_busy_until(&mut self, nand: &mut Array, pool: u32, until: Nanos) {
        let busy = &mut self.pool[pool as usize].busy;
        *busy = nand.both(*busy, until);
    }

    /// Merges a log block with every data block of which it holds newest pages. Recycles the log
    /// block unless it becomes a data block itself. Returns the time at which the merge is done. If
    /// the pool has no room to continue, the pages not yet merged stay in the log block.
    ///
    /// # Errors
    /// Returns `ENOSPC` if no block is free, `EIO` if the flash refuses a command.
    pub(in crate::ftl) fn merge(
        &mut self,
        nand: &mut Array,
        log: &mut Log,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let mut at = at;
        nand.notify_merge(log.block);
        if self.can_be_completed(nand, log) {
            let (becomes_data, done) = self.complete(nand, log, at)?;
            if becomes_data {
                return Ok(done);
            }
            at = done;
        }
        while let Some(slot) = nand.next_valid(log.block, 0) {
            // This error cannot occur, because a valid page is readable.
            let entry = nand.entry(slot).ok_or(Errno::EIO)?;
            nand.notify_merge(log.block);
            at = self.rewrite(nand, self.page(entry.lpn).logical, at)?;
        }
        self.release(nand, self.pool_of(log.logical), log, at, Cause::FullMerge)
    }

    /// Recycles a log block without valid pages, or retires it if one of its programs failed.
    /// Returns the time at which this is done.
    pub(in crate::ftl) fn release(
        &mut self,
        nand: &mut Array,
        pool: u32,
        log: &Log,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Errno> {
        if log.failed {
            self.retire(nand, pool, log.block, at);
            return Ok(at);
        }
        self.recycle(nand, pool, log.block, at, cause)
    }

    /// Moves as many valid pages as fit from the block `from` to the next slots of `to`. If a
    /// program fails, nothing is moved and `to` takes no more pages.
    pub(in crate::ftl) fn append_from(
        &mut self,
        nand: &mut Array,
        from: BlockId,
        to: &mut Log,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Errno> {
        let room = (self.places() - to.next) as usize;
        let mut sources = std::mem::take(&mut self.sources);
        sources.clear();
        sources.extend(nand.valid_slots(from).map(|slot| slot.0 + 1).take(room));
        let first = nand.geometry().slot(to.block, to.next);
        let gathered = nand.gather(&sources, first, at, cause);
        let count = u32::try_from(sources.len()).expect("at most the slots of a block");
        self.sources = sources;
        match gathered {
            Ok(done) => {
                let slots = first.0..first.0 + count;
                for (slot, lpn) in slots.clone().zip(nand.metadata(slots)) {
                    let index = self.map_index(Lpn(*lpn));
                    self.map[index] = slot + 1;
                }
                to.next += count;
                Ok(done)
            }
            Err(Fault::Failed(done)) => {
                to.fail(nand);
                Ok(done)
            }
            Err(Fault::Illegal(illegal)) => Err(illegal.into()),
        }
    }

    /// Copies to a log block, in order, the pages before `index` that it lacks. The slot at `index`
    /// is then its next slot. Returns the time at which the copies are done. If a program fails,
    /// the log block takes no more pages.
    pub(in crate::ftl) fn fill(
        &mut self,
        nand: &mut Array,
        log: &mut Log,
        index: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        if index == log.next {
            return Ok(at);
        }
        let start = self.pages_of(log.logical).start;
        let gap = start + log.next as usize..start + index as usize;
        let to = nand.geometry().slot(log.block, log.next);
        match self.move_to(nand, gap, to, at, Cause::PartialMerge) {
            Ok(done) => {
                nand.skip_pages(log.block, index)?;
                log.next = index;
                self.set_busy_until(nand, self.pool_of(log.logical), done);
                Ok(done)
            }
            Err(Fault::Failed(done)) => {
                log.fail(nand);
                Ok(done)
            }
            Err(Fault::Illegal(illegal)) => Err(illegal.into()),
        }
    }

    /// Returns true if a log block can become a data block. The log block must be in order, and the
    /// data block must not hold a newer copy of any of its pages. After a full merge, the data
    /// block may hold such a copy.
    fn can_be_completed(&self, nand: &Array, log: &Log) -> bool {
        let may = self.layout.logs.options.switch && log.in_order && !log.failed;
        if !may || nand.valid(log.block) == 0 {
            return false;
        }
        let pages = self.pages_of(log.logical);
        let data = self.data[log.logical as usize];
        let newer = |mapped: &u32| {
            *mapped != NOWHERE && nand.geometry().block(Slot(mapped - 1)).0 + 1 == data
        };
        nand.valid(log.block) == log.next || !self.map[pages][..log.next as usize].iter().any(newer)
    }

    /// Returns true if a block holds the newest copy of any page of a logical block.
    pub(in crate::ftl) fn holds(&self, nand: &Array, block: BlockId, logical: u32) -> bool {
        let here =
            |mapped: &u32| *mapped != NOWHERE && nand.geometry().block(Slot(mapped - 1)) == block;
        self.map[self.pages_of(logical)].iter().any(here)
    }

    /// Turns a log block in order into the data block. This is a switch merge, or a partial merge
    /// if the pages that the log block lacks are copied first. Returns true if the merge succeeded,
    /// and the time at which it was done.
    fn complete(
        &mut self,
        nand: &mut Array,
        log: &mut Log,
        at: Nanos,
    ) -> Result<(bool, Nanos), Errno> {
        let pages = self.pages_of(log.logical);
        let rest = pages.start + log.next as usize..pages.end;
        let lacks = self.map[rest.clone()].iter().any(|place| *place != NOWHERE);
        let (cause, event) = match lacks {
            true => (Cause::PartialMerge, Event::PartialMerge),
            false => (Cause::SwitchMerge, Event::SwitchMerge),
        };
        let to = nand.geometry().slot(log.block, log.next);
        let mut done = at;
        if lacks {
            match self.move_to(nand, rest, to, at, cause) {
                Ok(moved) => done = moved,
                Err(Fault::Failed(failed)) => {
                    log.fail(nand);
                    return Ok((false, failed));
                }
                Err(Fault::Illegal(illegal)) => return Err(illegal.into()),
            }
        }
        nand.count(event);
        let pool = self.pool_of(log.logical);
        Ok((true, self.replace_data(nand, pool, log.logical, log.block, done, cause)?))
    }

    /// Copies the newest copy of each page of a logical block to a free block, which becomes the
    /// data block: a full merge. Returns the time at which the merge and the erase of the former
    /// data block are done.
    fn rewrite(&mut self, nand: &mut Array, logical: u32, at: Nanos) -> Result<Nanos, Errno> {
        let (pool, pages) = (self.pool_of(logical), self.pages_of(logical));
        let mut at = at;
        loop {
            let target = self.open(nand, pool, Role::Data, at)?;
            let to = nand.geometry().slot(target, 0);
            match self.move_to(nand, pages.clone(), to, at, Cause::FullMerge) {
                Ok(done) => {
                    nand.count(Event::FullMerge);
                    let cause = Cause::FullMerge;
                    return self.replace_data(nand, pool, logical, target, done, cause);
                }
                Err(Fault::Failed(done)) => {
                    self.retire(nand, pool, target, done);
                    at = done;
                }
                Err(Fault::Illegal(illegal)) => return Err(illegal.into()),
            }
        }
    }

    /// Moves the pages whose map entries are in the range `pages` to slot `to` and the slots after
    /// it.
    fn move_to(
        &mut self,
        nand: &mut Array,
        pages: Range<usize>,
        to: Slot,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Fault> {
        let map = &mut self.map[pages];
        let done = nand.gather(map, to, at, cause)?;
        for (place, mapped) in (to.0 + 1..).zip(map) {
            if *mapped != NOWHERE {
                *mapped = place;
            }
        }
        Ok(done)
    }

    /// Makes `block` the data block of a logical block from `at` on, and erases the former data
    /// block. Returns the time at which the erase is done.
    fn replace_data(
        &mut self,
        nand: &mut Array,
        pool: u32,
        logical: u32,
        block: BlockId,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Errno> {
        self.set_busy_until(nand, pool, at);
        match std::mem::replace(&mut self.data[logical as usize], block.0 + 1) {
            0 => Ok(at),
            before => self.recycle(nand, pool, BlockId(before - 1), at, cause),
        }
    }

    /// Reads the metadata of the programmed pages of a block one by one, from `at` on. Returns the
    /// time at which the reads are done, and the number of pages.
    pub(in crate::ftl) fn read_metadata(
        nand: &mut Array,
        block: BlockId,
        at: Nanos,
    ) -> Result<(Nanos, u64), Errno> {
        let mut done = at;
        let written = nand.written(block);
        for index in 0..written {
            done = done.max(nand.read_metadata(Page { block, index }, at, false)?);
        }
        Ok((done, written.into()))
    }
}
