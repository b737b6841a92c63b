//! Blocks that each hold data of one zone, and are erased when the zone is reset.

use std::collections::BTreeSet;
use std::ops::Range;

use flashscope_block::{Errno, Nanos, StreamId};

use super::lane::{Lane, Role};
use super::{MapStorage, PageMap};
use crate::ftl::Ftl;
use crate::gc::VictimPolicy;
use crate::nand::{Array, BlockId, Cause, Lpn};

impl<M: MapStorage> PageMap<M> {
    /// See [`Ftl::end_handle`].
    pub(super) fn close_handle(
        &mut self,
        nand: &mut Array,
        handle: StreamId,
        at: Nanos,
    ) -> Result<(), Errno> {
        let role = Role::of_handle(u8::try_from(handle).expect("handles are below 128"));
        let is_zoned = self.layout.zones.is_some();
        self.apply_deferred(nand);
        let mut emptied = Ok(());
        for lane in 0..self.layout.lanes() {
            // If the data moved later, it would join the data of the next zone with this handle.
            while emptied.is_ok() && self.has_failed(nand, lane, role) {
                match self.empty_failed(nand, lane, at) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(errno) => emptied = Err(errno),
                }
            }
            if is_zoned {
                self.strand(nand, lane, role);
            }
            if let Some(frontier) = self.lane(lane).frontier(role).take() {
                self.note_temperature(&frontier);
                self.file(nand, lane, false, frontier.block);
            }
        }
        // Recovery leaves the blocks up to this number closed: see `Handles::has_ended`.
        self.handles.end(handle, nand.last_opened());
        emptied
    }

    /// Leaves the data of failed blocks of a role in place, because there is no room for it.
    fn strand(&mut self, nand: &Array, lane: u32, role: Role) {
        let Lane { failed, stranded, .. } = self.lane(lane);
        failed.retain(|block| {
            let stays = nand.opened(*block).1 != role.number();
            if !stays {
                stranded.push(*block);
            }
            stays
        });
    }

    /// Retires a failed block that could not be emptied before and that holds no data now. Returns
    /// false for any other block.
    fn retire_stranded(&mut self, nand: &mut Array, lane: u32, block: BlockId, at: Nanos) -> bool {
        let stranded = &mut self.lane(lane).stranded;
        let Some(place) = stranded.iter().position(|other| *other == block) else { return false };
        stranded.swap_remove(place);
        nand.mark_bad(block, at);
        self.health.failed_blocks += 1;
        true
    }

    /// Returns true if a failed block of a lane holds data of a role.
    fn has_failed(&self, nand: &Array, lane: u32, role: Role) -> bool {
        let of_role = |block: &BlockId| nand.opened(*block).1 == role.number();
        self.lanes[lane as usize].failed.iter().any(of_role)
    }

    /// See [`Ftl::usable_blocks`].
    pub(super) fn usable_blocks_of(&self, nand: &Array, lane: u32) -> u32 {
        let state = &self.lanes[lane as usize];
        let has_failed =
            |block: &BlockId| state.failed.contains(block) || state.stranded.contains(block);
        let usable = |block: &&BlockId| !nand.is_bad(**block) && !has_failed(block);
        u32::try_from(state.blocks.iter().filter(usable).count()).expect("a u32 counts blocks")
    }

    /// See [`Ftl::handle_room`].
    pub(super) fn room_of_handle(&self, handle: StreamId) -> Option<u32> {
        let role = Role::of_handle(u8::try_from(handle).expect("handles are below 128"));
        let open = self.lanes.iter().filter_map(|lane| lane.open_block(role));
        open.map(|frontier| frontier.places - frontier.next).max()
    }

    /// See [`Ftl::reclaim`].
    pub(super) fn discard(
        &mut self,
        nand: &mut Array,
        pages: Range<u32>,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        self.apply_deferred(nand);
        let mut blocks = BTreeSet::new();
        for lpn in pages.map(Lpn) {
            if let Some(slot) = self.slot_of(lpn) {
                let block = nand.geometry().block(slot);
                blocks.insert((self.lane_of(self.pool_of(lpn), block), block));
            }
            self.trim(nand, lpn, at)?;
        }
        let mut done = at;
        for (lane, block) in blocks {
            let holds = nand.valid(block);
            if holds == 0 && self.retire_stranded(nand, lane, block, at) {
                continue;
            }
            if holds == 0 && self.lanes[lane as usize].is_candidate(nand, block) {
                self.policy.remove(lane, block, holds);
                let erased = self.recycle(nand, lane, block, at, Cause::Host)?;
                done = nand.both(done, erased);
            }
        }
        Ok(done)
    }
}
