//! The cache of blocks used as SLC: its room, and the folding of its blocks.

use flashscope_block::{Errno, Nanos};

use super::lane::Role;
use super::{MapStorage, PageMap};
use crate::nand::{Array, Cause};
use crate::setup::WhenFull;

impl<M: MapStorage> PageMap<M> {
    /// Returns true if a block used as SLC takes the next page. If the cache is full, folds blocks
    /// in the foreground, or lets writes bypass the cache until background work has freed a block:
    /// see [`WhenFull`].
    pub(super) fn slc_room(
        &mut self,
        nand: &mut Array,
        lane: u32,
        at: Nanos,
    ) -> Result<bool, Errno> {
        let folds = match self.layout.slc_when_full {
            WhenFull::ByCleaning => self.layout.background_below == 0,
            WhenFull::Fold => true,
            WhenFull::Bypass => false,
        };
        loop {
            let open = self.lanes[lane as usize].open_block(Role::Slc).is_some();
            if open || self.has_slc_block(lane) {
                return Ok(true);
            }
            if !folds {
                return Ok(false);
            }
            self.apply_deferred(nand);
            let folded = match self.layout.slc_dynamic > 0.0 {
                true => self.fold_oldest(nand, lane, at)?,
                false => self.fold_static(nand, lane, at)?,
            };
            if !folded {
                return Ok(false);
            }
        }
    }

    /// Returns true if another block of a lane may be used as SLC. A dynamic cache uses up to a
    /// share of the blocks that are free or in the cache, without the blocks that are reserved for
    /// garbage collection.
    fn has_slc_block(&self, lane: u32) -> bool {
        let (layout, state) = (&self.layout, &self.lanes[lane as usize]);
        if layout.slc_dynamic == 0.0 {
            return !state.slc_free.is_empty();
        }
        let Some(spare) = state.free_blocks().checked_sub(layout.clean_below + 1) else {
            return false;
        };
        let used = u32::try_from(state.slc_full.len()).expect("fewer than the blocks of a lane");
        let most = layout.slc_dynamic * f64::from(used + spare + 1);
        f64::from(used + 1) <= most
    }

    /// Empties the oldest full block of the static SLC region. Returns false if there is none, or
    /// no room for its data.
    fn fold_static(&mut self, nand: &mut Array, lane: u32, at: Nanos) -> Result<bool, Errno> {
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
        Ok(true)
    }

    /// Folds the oldest full block that is used as SLC: moves its data to other blocks, and erases
    /// it. Returns false if there is no such block, or no room for its data.
    pub(super) fn fold_oldest(
        &mut self,
        nand: &mut Array,
        lane: u32,
        at: Nanos,
    ) -> Result<bool, Errno> {
        let Some(block) = self.lanes[lane as usize].slc_full.front().copied() else {
            return Ok(false);
        };
        if !self.fits(nand, lane, block) {
            return Ok(false);
        }
        let mut moved = at;
        while nand.valid(block) > 0 {
            let front = self.target(nand, lane, block);
            moved = moved.max(self.move_page(nand, front, block, at, Cause::Folding)?);
        }
        self.lane(lane).slc_full.pop_front();
        self.recycle(nand, lane, block, moved, Cause::Folding)?;
        self.announce_free(nand, lane, at);
        Ok(true)
    }

    /// Moves one page out of the oldest full block that is used as SLC, or erases the block if it
    /// is empty. Returns false if there is no such block, or no room for its pages.
    pub(super) fn fold_step(
        &mut self,
        nand: &mut Array,
        lane: u32,
        at: Nanos,
    ) -> Result<bool, Errno> {
        let state = &self.lanes[lane as usize];
        let Some(block) = state.slc_full.front().copied() else { return Ok(false) };
        if nand.valid(block) > 0 {
            let front = self.target(nand, lane, block);
            let open = state.open_block(front.role).is_some();
            // Emptying a block of a dynamic cache always gains free pages; emptying a block of the
            // static region gains none.
            let has_room = match self.layout.slc_dynamic > 0.0 {
                true => self.fits(nand, lane, block),
                false => open || state.free_blocks() > self.layout.clean_below,
            };
            if !has_room {
                return Ok(false);
            }
            self.move_page(nand, front, block, at, Cause::Folding)?;
        } else {
            self.lane(lane).slc_full.pop_front();
            self.recycle(nand, lane, block, at, Cause::Folding)?;
        }
        Ok(true)
    }
}
