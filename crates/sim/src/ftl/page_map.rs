use flashscope_block::{Errno, Nanos};

use super::pool::Pool;
use super::{AnyFtl, Ftl, Kind, Layout, Slice};
use crate::gc::{Policy, VictimPolicy};
use crate::nand::{Array, Cause, Lpn, Page, Ppn};

pub(super) const KIND: Kind = Kind {
    name: "page-map",
    summary: "every logical page may be on any page of its allocation pool; host writes and \
              cleaning share one active block a pool",
    source: "Agrawal et al., USENIX ATC'08, sections 3.1 and 3.2",
    new: |layout| AnyFtl::PageMap(PageMap::new(layout)),
};

/// The map of a logical page that holds nothing.
const NOWHERE: u32 = 0;

/// A page-mapped FTL.
pub struct PageMap {
    /// For each logical page one more than its physical page number, or [`NOWHERE`]; the pages of
    /// a drive never written to then cost no memory.
    map: Vec<u32>,
    pools: Vec<Pool>,
    pool_count: u32,
    page_size: u32,
    policy: Policy,
    clean_below: u32,
    background_below: u32,
}

impl PageMap {
    fn new(layout: &Layout) -> Self {
        PageMap {
            map: vec![NOWHERE; layout.logical_pages() as usize],
            pools: (0..layout.pools).map(|index| Pool::new(layout, index)).collect(),
            pool_count: layout.pools,
            page_size: layout.logical_page_size(),
            policy: (layout.policy.new)(layout),
            clean_below: layout.clean_below,
            background_below: layout.background_below,
        }
    }

    fn pool_of(&self, lpn: Lpn) -> u32 {
        lpn.0 % self.pool_count
    }

    fn pool(&mut self, pool: u32) -> &mut Pool {
        &mut self.pools[pool as usize]
    }

    /// Programs `lpn` at the frontier, opening a block for it where there is none. Returns where
    /// it is now and when that is done; the map and the former page are left to the caller.
    #[inline]
    fn append(
        &mut self,
        nand: &mut Array,
        pool: u32,
        lpn: Lpn,
        at: Nanos,
        cause: Cause,
    ) -> Result<(Ppn, Nanos), Errno> {
        let page = self.frontier(pool)?;
        let done = nand.program(page, lpn, at, cause)?;
        let next = page.index + 1;
        if next < nand.geometry().pages_per_block {
            self.pool(pool).frontier = Some(Page { index: next, ..page });
        } else {
            self.pool(pool).frontier = None;
            self.policy.closed(pool, page.block, nand.valid(page.block));
        }
        Ok((nand.geometry().ppn(page), done))
    }

    /// Marks the page that a map entry of `pool` pointed to, if any, as out of date.
    #[inline]
    fn supersede(&mut self, nand: &mut Array, pool: u32, mapped: u32) {
        if mapped != NOWHERE {
            let page = nand.geometry().page(Ppn(mapped - 1));
            let valid = nand.supersede(page);
            self.policy.superseded(pool, page.block, valid);
        }
    }

    /// The next page to program in `pool`, from a free block if the active one is full.
    #[inline]
    fn frontier(&mut self, pool: u32) -> Result<Page, Errno> {
        let pool = self.pool(pool);
        if let Some(page) = pool.frontier {
            return Ok(page);
        }
        let block = pool.free.pop_front().ok_or(Errno::ENOSPC)?;
        let page = Page { block, index: 0 };
        pool.frontier = Some(page);
        Ok(page)
    }

    /// Makes sure that the next page at the frontier is for the host: where too few blocks are
    /// free, cleans until there are enough again, in the foreground.
    ///
    /// Cleaning always finds room to move pages to: a victim has less than a block of them, host
    /// writes leave `clean_below`, at least two, blocks free, and moves without host writes in
    /// between open at most one.
    #[inline]
    fn make_room(&mut self, nand: &mut Array, pool: u32, at: Nanos) -> Result<(), Errno> {
        // Cleaning may fill the block that was just opened: each round leaves more free pages.
        loop {
            self.frontier(pool)?;
            while self.pool(pool).free_blocks() < self.clean_below {
                if !self.clean_block(nand, pool, at)? {
                    break;
                }
            }
            if self.pool(pool).frontier.is_some() {
                return Ok(());
            }
        }
    }

    /// Cleans the block that is being cleaned, or another; false if no block would yield a page.
    fn clean_block(&mut self, nand: &mut Array, pool: u32, at: Nanos) -> Result<bool, Errno> {
        if !self.choose_victim(pool) {
            return Ok(false);
        }
        let mut moved = at;
        while self.pool(pool).victim.is_some() {
            moved = moved.max(self.clean_step(nand, pool, at, moved)?);
        }
        Ok(true)
    }

    /// Sees to it that a block is being cleaned; false if none would yield a page.
    fn choose_victim(&mut self, pool: u32) -> bool {
        if self.pool(pool).victim.is_none() {
            self.pool(pool).victim = self.policy.take(pool, |_| true);
        }
        self.pool(pool).victim.is_some()
    }

    /// Moves one valid page out of the victim, from `at` on, or where none is left erases it, once
    /// what was moved is programmed (`moved`). Returns when the step is done.
    #[inline]
    fn clean_step(
        &mut self,
        nand: &mut Array,
        pool: u32,
        at: Nanos,
        moved: Nanos,
    ) -> Result<Nanos, Errno> {
        let Some(victim) = self.pool(pool).victim else { return Ok(at) };
        if let Some(page) = nand.first_valid(victim) {
            let (lpn, read) = nand.read(page, at, Cause::Cleaning)?;
            let (ppn, done) = self.append(nand, pool, lpn, read, Cause::Cleaning)?;
            // The map need not be read, which is the cost of cleaning: the page is known.
            self.map[lpn.0 as usize] = ppn.0 + 1;
            nand.supersede(page);
            return Ok(done);
        }
        let done = nand.erase(victim, moved, Cause::Cleaning)?;
        let pool = self.pool(pool);
        pool.victim = None;
        pool.free.push_back(victim);
        Ok(done)
    }

    /// Cleans one pool in the gaps that its flash had before `until`, a page or an erase at a time.
    #[inline]
    fn background_in(&mut self, nand: &mut Array, pool: u32, until: Nanos) -> Result<(), Errno> {
        if self.background_below == 0 {
            return Ok(());
        }
        loop {
            let state = self.pool(pool);
            let idle = nand.idle_from(state.blocks.clone()).max(state.settled);
            let wanted = state.victim.is_some() || state.free_blocks() < self.background_below;
            if idle >= until || !wanted || !self.choose_victim(pool) {
                break;
            }
            self.clean_step(nand, pool, idle, idle)?;
        }
        // What the host changes from now on can start no work in the past.
        let state = self.pool(pool);
        state.settled = state.settled.max(until);
        Ok(())
    }
}

impl Ftl for PageMap {
    #[inline]
    fn write(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        let pool = self.pool_of(slice.lpn);
        self.background_in(nand, pool, at)?;
        let mut ready = at;
        if slice.len < self.page_size
            && let Some(old) = self.locate(nand, slice.lpn)
        {
            ready = nand.read(old, at, Cause::Host)?.1;
        }
        self.make_room(nand, pool, ready)?;
        let (ppn, done) = self.append(nand, pool, slice.lpn, ready, Cause::Host)?;
        let before = std::mem::replace(&mut self.map[slice.lpn.0 as usize], ppn.0 + 1);
        self.supersede(nand, pool, before);
        Ok(done)
    }

    #[inline]
    fn read(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        let pool = self.pool_of(slice.lpn);
        self.background_in(nand, pool, at)?;
        match self.locate(nand, slice.lpn) {
            Some(page) => Ok(nand.read(page, at, Cause::Host)?.1),
            None => Ok(at),
        }
    }

    fn trim(&mut self, nand: &mut Array, lpn: Lpn, at: Nanos) -> Result<(), Errno> {
        let pool = self.pool_of(lpn);
        self.background_in(nand, pool, at)?;
        let before = std::mem::replace(&mut self.map[lpn.0 as usize], NOWHERE);
        self.supersede(nand, pool, before);
        Ok(())
    }

    fn background(&mut self, nand: &mut Array, until: Nanos) -> Result<(), Errno> {
        for pool in 0..self.pool_count {
            self.background_in(nand, pool, until)?;
        }
        Ok(())
    }

    #[inline]
    fn locate(&self, nand: &Array, lpn: Lpn) -> Option<Page> {
        let mapped = self.map[lpn.0 as usize];
        (mapped != NOWHERE).then(|| nand.geometry().page(Ppn(mapped - 1)))
    }
}
