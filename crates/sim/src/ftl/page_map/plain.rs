//! The plain path: a faster write of a host page, for drives on which a write only has to choose a
//! slot. It does the same as [`Ftl::write`](crate::ftl::Ftl::write).

use flashscope_block::{Errno, Nanos};

use super::lane::{Front, Frontier};
use super::{MapStorage, PageMap};
use crate::ftl::Slice;
use crate::nand::{Array, Cause, Entry};
use crate::setup::Layout;

/// Returns true if writes of complete host pages may take the plain path on a drive of this layout.
pub(super) const fn is_in(layout: &Layout) -> bool {
    layout.lanes_per_pool == 1
        && layout.background_below == 0
        && layout.urgent_below == 0
        && !layout.has_slc()
        && layout.geometry.slots_per_page == 1
}

impl<M: MapStorage> PageMap<M> {
    /// Returns true if a write of a host page may currently take the plain path.
    #[inline]
    pub(super) fn is_plain(&self, nand: &Array) -> bool {
        self.plain && nand.is_plain_now() && self.trimmed.is_empty() && self.undo.is_none()
    }

    /// Writes a complete host page, if [`PageMap::is_plain`].
    #[inline]
    pub(super) fn write_plain(
        &mut self,
        nand: &mut Array,
        slice: Slice,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let lane = self.pool_of(slice.lpn);
        let front = Front { lane, role: self.role_of(slice.stream).0 };
        let state = &self.lanes[lane as usize];
        let frontier = state
            .open_block(front.role)
            .filter(|_| state.free_blocks() >= self.layout.clean_below && state.failed.is_empty());
        let frontier = match frontier {
            Some(frontier) => *frontier,
            None => self.plain_frontier(nand, front, at)?,
        };
        if self.layout.placement.is_on() {
            self.count_placed(front.role, &slice);
        }
        self.stamp = self.next_stamp(nand);
        let entry = Entry { lpn: slice.lpn, stamp: self.stamp, zero: false };
        let slot = nand.geometry().slot(frontier.block, frontier.next);
        let done = nand.program_plain(frontier.place, slot, entry, at, Cause::Host)?;
        self.advance(nand, front, 1, entry.stamp.into(), done);
        self.prefetch_victim(nand, lane);
        self.put(nand, lane, slice.lpn, slot, done);
        Ok(self.completion_time(nand, front, slot, done))
    }

    /// Makes room in a lane, and returns its frontier.
    #[cold]
    fn plain_frontier(
        &mut self,
        nand: &mut Array,
        front: Front,
        at: Nanos,
    ) -> Result<Frontier, Errno> {
        if !self.main_room(nand, front, at)? {
            return Err(Errno::ENOSPC);
        }
        self.frontier(nand, front, at)
    }
}
