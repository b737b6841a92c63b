//! Frontiers: the open block of each role in a lane, from its first page until it is full.

use flashscope_block::{Errno, Nanos};

use super::PageMap;
use super::lane::{Front, Frontier, Role};
use super::map_storage::MapStorage;
use crate::event::Notice;
use crate::gc::VictimPolicy;
use crate::nand::{Array, BlockId, Cause, Entry, Fault, PlaneAddresses, Slot, Stamp};

impl<M: MapStorage> PageMap<M> {
    /// Programs logical pages at the frontier `front`, opening a block if the frontier has none.
    /// `heat` is the sum of the pages' temperatures. Returns the first slot and the time at which
    /// the program is done. The caller updates the map and supersedes the former slots. If a
    /// program fails, sets the block aside and tries the next one.
    #[inline]
    pub(in crate::ftl) fn append(
        &mut self,
        nand: &mut Array,
        front: Front,
        entries: &[Entry],
        heat: u64,
        at: Nanos,
        cause: Cause,
    ) -> Result<(Slot, Nanos), Errno> {
        self.append_by(nand, front, heat, at, |nand, frontier, slot, at| {
            nand.program(frontier.place, slot, entries, at, cause)
        })
    }

    /// Does the same as [`PageMap::append`], but calls `program` to program the page.
    #[inline]
    pub(super) fn append_by(
        &mut self,
        nand: &mut Array,
        front: Front,
        heat: u64,
        at: Nanos,
        mut program: impl FnMut(&mut Array, &Frontier, Slot, Nanos) -> Result<Nanos, Fault>,
    ) -> Result<(Slot, Nanos), Errno> {
        let mut at = at;
        loop {
            let frontier = self.frontier(nand, front, at)?;
            let slot = nand.geometry().slot(frontier.block, frontier.next);
            match program(nand, &frontier, slot, at) {
                Ok(done) => {
                    let places = self.layout.geometry.slots_per_page;
                    self.advance(nand, front, places, heat, done);
                    return Ok((slot, done));
                }
                Err(Fault::Failed(done)) => {
                    self.set_aside(front, frontier.block);
                    at = done;
                }
                Err(Fault::Illegal(illegal)) => return Err(illegal.into()),
            }
        }
    }

    /// Sets the open block aside after a failed program. Its data must be moved.
    pub(super) fn set_aside(&mut self, front: Front, block: BlockId) {
        let lane = self.lane(front.lane);
        *lane.frontier(front.role) = None;
        lane.failed.push_back(block);
    }

    /// Returns the frontier, opening a free block if there is none.
    #[inline]
    pub(in crate::ftl) fn frontier(
        &mut self,
        nand: &mut Array,
        front: Front,
        at: Nanos,
    ) -> Result<Frontier, Errno> {
        match self.lane(front.lane).frontier(front.role) {
            Some(frontier) => Ok(*frontier),
            None => self.open(nand, front, at),
        }
    }

    #[cold]
    pub(super) fn open(
        &mut self,
        nand: &mut Array,
        front: Front,
        at: Nanos,
    ) -> Result<Frontier, Errno> {
        let Front { lane: index, role } = front;
        let places = match role {
            Role::Slc => self.layout.slc_slots_per_block,
            _ => self.layout.geometry.slots_per_block,
        };
        let is_static = role == Role::Slc && self.layout.slc_blocks_per_lane > 0;
        let twin = self.twin(front);
        let lane = self.lane(index);
        let free = if is_static { &mut lane.slc_free } else { &mut lane.free };
        let place = twin.and_then(|twin| free.iter().position(|block| *block == twin));
        let block = free.remove(place.unwrap_or_default()).ok_or(Errno::ENOSPC)?;
        nand.open(block, role.number(), role == Role::Slc);
        let frontier =
            Frontier { block, place: nand.place(block), next: 0, places, temperature: 0 };
        *lane.frontier(role) = Some(frontier);
        self.count_opened(role);
        self.announce_free(nand, index, at);
        Ok(frontier)
    }

    /// Returns the block beside the open block of the lane on the other plane of the pair, if only
    /// commands on such blocks can be joined.
    fn twin(&self, front: Front) -> Option<BlockId> {
        let (Front { lane, role }, layout) = (front, &self.layout);
        if layout.wiring.addresses != PlaneAddresses::SameBlock {
            return None;
        }
        let nth = lane % layout.lanes_per_pool;
        let partner = lane - nth + layout.partner(nth)?;
        let open = self.lanes[partner as usize].open_block(role)?;
        let [first, own] = [partner, lane].map(|lane| layout.first_block(lane).0);
        Some(BlockId(own + (open.block.0 - first)))
    }

    /// Reports the number of free blocks of a lane to observers.
    #[inline]
    pub(super) fn announce_free(&self, nand: &mut Array, lane: u32, at: Nanos) {
        if nand.is_observed() {
            let free = self.lanes[lane as usize].free_blocks();
            let at = nand.known(at);
            nand.notify(|| Notice::FreeBlocks { lane, free, at });
        }
    }

    /// Advances a frontier by `places` slots, which were programmed by `done`. `heat` is the sum of
    /// their temperatures. Closes the block if it is full.
    #[inline]
    pub(in crate::ftl) fn advance(
        &mut self,
        nand: &mut Array,
        front: Front,
        places: u32,
        heat: u64,
        done: Nanos,
    ) {
        let per_page = self.layout.geometry.slots_per_page;
        let slot = self.lane(front.lane).frontier(front.role);
        let Some(frontier) = slot else { return };
        frontier.next += places;
        frontier.temperature += heat;
        if frontier.next + per_page > frontier.places {
            let full = *frontier;
            *slot = None;
            self.close(nand, front, &full, done);
        }
    }

    /// Closes a full block: writes its summary, and makes it a candidate for garbage collection.
    pub(super) fn close(&mut self, nand: &mut Array, front: Front, full: &Frontier, done: Nanos) {
        let (Front { lane, role }, block) = (front, full.block);
        self.apply_deferred(nand);
        self.note_temperature(full);
        if self.layout.geometry.summary_pages > 0 && nand.program_summary(block, done).is_err() {
            self.lane(lane).failed.push_back(block);
        } else {
            self.file(nand, lane, role == Role::Slc, block);
        }
    }

    /// Stores the mean temperature of a block that takes no more data.
    pub(super) fn note_temperature(&mut self, full: &Frontier) {
        if let Some(temperature) = self.temperatures.get_mut(full.block.0 as usize) {
            let mean = full.temperature / u64::from(full.next.max(1));
            *temperature = Stamp::try_from(mean).unwrap_or(Stamp::MAX);
        }
    }

    /// Adds a block that takes no more data to the full blocks.
    pub(super) fn file(&mut self, nand: &Array, lane: u32, slc: bool, block: BlockId) {
        if slc {
            self.lane(lane).slc_full.push_back(block);
        } else if nand.opened(block).1 == Role::Map.number() {
            self.mapping.closed(lane, block, nand.valid(block));
        } else {
            self.policy.closed(lane, block, nand.valid(block));
        }
    }
}
