//! Room for the next page: chooses a lane and a frontier, and runs garbage collection if needed.

use std::ops::Range;

use flashscope_block::{Errno, Nanos, StreamId};

use super::lane::{Front, Role};
use super::{MapStorage, PageMap};
use crate::nand::Array;

/// Consecutive lanes of a pool that take turns.
#[derive(Clone, Copy)]
struct Turn {
    first: u32,
    lanes: u32,
    /// The index of the turn in [`PageMap::turns`].
    number: usize,
}

impl<M: MapStorage> PageMap<M> {
    /// Does the same as [`PageMap::make_room`] for a host page, and then writes the translation
    /// pages that garbage collection has made out of date. Writing these may itself need garbage
    /// collection. The loop ends, because each collection of a data block uses up superseded data
    /// pages, and the loop supersedes no data page.
    #[inline]
    pub(super) fn host_room(
        &mut self,
        nand: &mut Array,
        pool: u32,
        stream: StreamId,
        at: Nanos,
    ) -> Result<Front, Errno> {
        let (role, group) = self.role_of(stream);
        loop {
            let front = self.room_for(nand, pool, role, group, at)?;
            if !self.mapping.must_catch_up() {
                return Ok(front);
            }
            if !M::catch_up(self, nand, at)? {
                return self.room_for(nand, pool, role, group, at);
            }
        }
    }

    /// Does the same as [`PageMap::make_room`] in the reclaim group `group` if it is given, or in
    /// another group if `group` is full.
    #[inline]
    fn room_for(
        &mut self,
        nand: &mut Array,
        pool: u32,
        role: Role,
        group: Option<u32>,
        at: Nanos,
    ) -> Result<Front, Errno> {
        let Some(group) = group else { return self.make_room(nand, pool, role, at) };
        match self.room_in_lanes(nand, self.turn_of_group(pool, group), role, at) {
            // The blocks of a zone stay on its lanes.
            Err(Errno::ENOSPC) if self.layout.zones.is_none() => {
                let other = self.make_room(nand, pool, role, at)?;
                self.handles.counts.groups_overflowed += 1;
                Ok(other)
            }
            room => room,
        }
    }

    /// Returns the lanes of a pool.
    const fn turn_of_pool(&self, pool: u32) -> Turn {
        let lanes = self.layout.lanes_per_pool;
        Turn { first: pool * lanes, lanes, number: pool as usize }
    }

    /// Returns the lanes of a reclaim group in a pool.
    const fn turn_of_group(&self, pool: u32, group: u32) -> Turn {
        let (groups, all) = (self.layout.placement.groups, self.layout.lanes_per_pool);
        let lanes = all / groups;
        let number = (self.layout.pools + pool * groups + group) as usize;
        Turn { first: pool * all + group * lanes, lanes, number }
    }

    /// Returns a lane of `pool` with room for a page, and the frontier for the page: that of
    /// `role`, or that of the SLC cache. Lanes take turns; a lane that cannot free a page is
    /// skipped.
    #[inline]
    pub(in crate::ftl) fn make_room(
        &mut self,
        nand: &mut Array,
        pool: u32,
        role: Role,
        at: Nanos,
    ) -> Result<Front, Errno> {
        self.room_in_lanes(nand, self.turn_of_pool(pool), role, at)
    }

    /// Does the same as [`PageMap::make_room`] for these lanes.
    #[inline]
    fn room_in_lanes(
        &mut self,
        nand: &mut Array,
        lanes_in_turn: Turn,
        role: Role,
        at: Nanos,
    ) -> Result<Front, Errno> {
        let Turn { first, lanes, number } = lanes_in_turn;
        if lanes == 1 {
            return match self.room_in(nand, Front { lane: first, role }, at)? {
                Some(role) => Ok(Front { lane: first, role }),
                None => Err(Errno::ENOSPC),
            };
        }
        let turn = self.turns[number];
        let in_turn = |nth: u32| first + (turn + nth) % lanes;
        // No lane collects in the foreground while another lane on the same unit has room. Pages
        // for blocks used as SLC always take turns, regardless of the room in other lanes.
        let through_slc = self.goes_through_slc(role);
        let free = |nth: &u32| {
            let lane = in_turn(*nth);
            self.yields(first + turn, lane) && self.has_room(Front { lane, role })
        };
        if !through_slc && let Some(nth) = (0..lanes).find(free) {
            self.turns[number] = (turn + nth + 1) % lanes;
            let lane = in_turn(nth);
            let lane = self.behind(first..first + lanes, Front { lane, role }).unwrap_or(lane);
            return Ok(Front { lane, role });
        }
        for nth in 0..lanes {
            let lane = in_turn(nth);
            match self.room_in(nand, Front { lane, role }, at) {
                Ok(Some(role)) => {
                    self.turns[number] = (turn + nth + 1) % lanes;
                    return Ok(Front { lane, role });
                }
                Ok(None) | Err(Errno::ENOSPC) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::ENOSPC)
    }

    /// Returns the lane on the other plane of the pair, if it is behind in its open block and has
    /// room. Garbage collection fills the two open blocks unevenly. The lane that is behind takes
    /// the next pages, until both lanes write the same page again and their programs can be joined.
    #[inline]
    fn behind(&self, lanes: Range<u32>, front: Front) -> Option<u32> {
        let (Front { lane, role }, per_pool) = (front, self.layout.lanes_per_pool);
        let partner = lane / per_pool * per_pool + self.layout.partner(lane % per_pool)?;
        let filled = |lane: u32| {
            self.lanes[lane as usize].open_block(role).map_or(0, |frontier| frontier.next)
        };
        let slots = self.layout.slots_per_block();
        let ahead = (slots + filled(lane) - filled(partner)) % slots;
        let is_behind = ahead > 0 && ahead <= slots / 2 && lanes.contains(&partner);
        (is_behind && self.has_room(Front { lane: partner, role })).then_some(partner)
    }

    /// Returns true if a lane that needs garbage collection gives its turn to the lane `other`,
    /// because the two lanes cannot work in parallel. Also true if `other` is the lane itself.
    #[inline]
    fn yields(&self, lane: u32, other: u32) -> bool {
        let place = |lane: u32| self.lanes[lane as usize].places.0;
        lane == other || (!self.layout.wiring.two_plane && place(lane).waits_for(place(other)))
    }

    /// Returns true if a page fits in a lane without garbage collection.
    #[inline]
    pub(in crate::ftl) fn has_room(&self, front: Front) -> bool {
        let state = &self.lanes[front.lane as usize];
        let opens = u32::from(state.open_block(front.role).is_none());
        state.failed.is_empty() && state.free_blocks() >= self.layout.clean_below + opens
    }

    /// Returns true if pages for a frontier go to blocks used as SLC first.
    #[inline]
    fn goes_through_slc(&self, role: Role) -> bool {
        self.layout.has_slc() && role != Role::Map
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
        let ready = state.open_block(role).is_some()
            && state.free_blocks() >= self.layout.clean_below
            && state.failed.is_empty();
        if ready || self.main_room(nand, front, at)? { Ok(Some(role)) } else { Ok(None) }
    }

    /// Ensures that the frontier `front` has room for a page. If too few blocks are free, collects
    /// garbage in the foreground until enough are free. Returns false if the page would use up the
    /// free block that garbage collection needs.
    ///
    /// Garbage collection always has room for the pages that it moves. A victim has less than a
    /// block of valid pages. Another page gets room only while the lane has a free block in
    /// addition to the frontier. Failed blocks are emptied after the collection.
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
}
