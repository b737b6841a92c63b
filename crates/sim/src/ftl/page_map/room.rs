//! Room for the next page: chooses a lane and a frontier, and runs garbage collection if needed.

use flashscope_block::{Errno, Nanos};

use super::lane::{Front, Role};
use super::{MapStorage, PageMap};
use crate::nand::{Array, Cause};

impl<M: MapStorage> PageMap<M> {
    /// Does the same as [`PageMap::make_room`] for a host page, and then writes the translation
    /// pages that garbage collection has made out of date. Writing these may itself need garbage
    /// collection. The loop ends, because each collection of a data block uses up superseded data
    /// pages, and no new ones arise.
    #[inline]
    pub(super) fn host_room(
        &mut self,
        nand: &mut Array,
        pool: u32,
        stream: u16,
        at: Nanos,
    ) -> Result<Front, Errno> {
        let role = self.role_of(stream);
        loop {
            let front = self.make_room(nand, pool, role, at)?;
            if !self.mapping.must_catch_up() {
                return Ok(front);
            }
            if !M::catch_up(self, nand, at)? {
                return self.make_room(nand, pool, role, at);
            }
        }
    }

    /// Finds a lane of `pool` with room for a page at its frontier for `role`, or in its SLC
    /// region. Lanes take turns; a lane that cannot free a page is skipped.
    #[inline]
    pub(in crate::ftl) fn make_room(
        &mut self,
        nand: &mut Array,
        pool: u32,
        role: Role,
        at: Nanos,
    ) -> Result<Front, Errno> {
        let lanes = self.layout.lanes_per_pool;
        let first = pool * lanes;
        if lanes == 1 {
            return match self.room_in(nand, Front { lane: first, role }, at)? {
                Some(role) => Ok(Front { lane: first, role }),
                None => Err(Errno::ENOSPC),
            };
        }
        let turn = self.turns[pool as usize];
        let in_turn = |nth: u32| first + (turn + nth) % lanes;
        // No lane collects in the foreground while another lane on the same unit has room. Pages
        // for the SLC region always take turns, whatever room other lanes have.
        let through_slc = self.goes_through_slc(role);
        let free = |nth: &u32| {
            let lane = in_turn(*nth);
            self.yields(first + turn, lane) && self.has_room(Front { lane, role })
        };
        if !through_slc && let Some(nth) = (0..lanes).find(free) {
            self.turns[pool as usize] = (turn + nth + 1) % lanes;
            return Ok(Front { lane: in_turn(nth), role });
        }
        for nth in 0..lanes {
            let lane = in_turn(nth);
            match self.room_in(nand, Front { lane, role }, at) {
                Ok(Some(role)) => {
                    self.turns[pool as usize] = (turn + nth + 1) % lanes;
                    return Ok(Front { lane, role });
                }
                Ok(None) | Err(Errno::ENOSPC) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::ENOSPC)
    }

    /// Returns true if a lane that needs garbage collection gives its turn to `other`, because the
    /// two cannot work in parallel.
    #[inline]
    fn yields(&self, lane: u32, other: u32) -> bool {
        let place = |lane: u32| self.lanes[lane as usize].places.0;
        lane == other || (!self.layout.wiring.two_plane && place(lane).waits_for(place(other)))
    }

    /// Returns true if a page fits in a lane without garbage collection.
    #[inline]
    pub(in crate::ftl) fn has_room(&self, front: Front) -> bool {
        let state = &self.lanes[front.lane as usize];
        let opens = u32::from(state.frontiers[front.role as usize].is_none());
        state.failed.is_empty() && state.free_blocks() >= self.layout.clean_below + opens
    }

    /// Returns true if pages for a frontier go to the SLC region first.
    #[inline]
    fn goes_through_slc(&self, role: Role) -> bool {
        self.layout.slc_blocks_per_lane > 0 && role != Role::Map
    }

    /// Makes room for a page in a lane. Returns the role of the frontier, or `None` if there is no
    /// room.
    #[inline]
    fn room_in(
        &mut self,
        nand: &mut Array,
        front: Front,
        at: Nanos,
    ) -> Result<Option<Role>, Errno> {
        let Front { lane, role } = front;
        if self.goes_through_slc(role) && self.slc_room(nand, lane, at)? {
            return Ok(Some(Role::Slc));
        }
        let state = &self.lanes[lane as usize];
        let ready = state.frontiers[role as usize].is_some()
            && state.free_blocks() >= self.layout.clean_below
            && state.failed.is_empty();
        if ready || self.main_room(nand, front, at)? { Ok(Some(role)) } else { Ok(None) }
    }

    /// Ensures that the frontier `front` has room for a page. If too few blocks are free, collects
    /// garbage in the foreground until enough are free. Returns false if the page would use up the
    /// free block that garbage collection needs.
    ///
    /// Garbage collection always has room to move pages to: a victim has less than a block of valid
    /// pages, and room for a page is granted only while the lane has a free block in addition to
    /// the frontier. Failed blocks are emptied after the collection.
    #[cold]
    pub(super) fn main_room(
        &mut self,
        nand: &mut Array,
        front: Front,
        at: Nanos,
    ) -> Result<bool, Errno> {
        self.apply_deferred(nand);
        let Front { lane, role } = front;
        // Collection may fill the block that was just opened. The loop ends, because each iteration
        // leaves more free pages.
        loop {
            let open = self.lane(lane).frontier(role).is_some();
            if !open && self.lane(lane).free_blocks() > 0 {
                self.open(nand, front, at)?;
            }
            while self.lane(lane).free_blocks() < self.layout.clean_below {
                if !self.clean_block(nand, lane, at)? {
                    break;
                }
            }
            if self.empty_failed(nand, lane, at)? {
                continue;
            }
            let state = self.lane(lane);
            let enough = state.free_blocks() > 0;
            if state.frontier(role).is_some() {
                return Ok(enough);
            }
            if !enough {
                return Ok(false);
            }
        }
    }

    /// Returns true if the SLC region takes the next page. Without background work, a full region
    /// is emptied one block at a time in the foreground. With background work, writes bypass a full
    /// region until the drive has had time to empty it.
    fn slc_room(&mut self, nand: &mut Array, lane: u32, at: Nanos) -> Result<bool, Errno> {
        let state = self.lane(lane);
        if state.frontier(Role::Slc).is_some() || !state.slc_free.is_empty() {
            return Ok(true);
        }
        if self.layout.background_below > 0 {
            return Ok(false);
        }
        self.apply_deferred(nand);
        let Some(block) = self.lane(lane).slc_full.front().copied() else { return Ok(false) };
        let mut moved = at;
        while nand.valid(block) > 0 {
            let front = self.target(nand, lane, block);
            if !self.main_room(nand, front, at)? {
                return Ok(false);
            }
            moved = moved.max(self.move_page(nand, front, block, at, Cause::Folding)?);
        }
        self.lane(lane).slc_full.pop_front();
        self.recycle(nand, lane, block, moved, Cause::Folding)?;
        Ok(!self.lane(lane).slc_free.is_empty())
    }
}
