//! Prefetching for the next garbage collection.
//!
//! The map entries of a victim's pages are scattered over the map. The next victim is mostly
//! predictable as soon as the previous collection is done. The map entries of its pages are
//! therefore prefetched during the writes in between, a few at a time. A wrong guess only costs
//! simulation time.

use super::{MapStorage, PageMap};
use crate::gc::VictimPolicy;
use crate::memory::prefetch;
use crate::nand::{Array, Lpn};

/// Number of slots of the next victim whose map entries each host write prefetches. If at least a
/// quarter of the victim's pages are superseded, all entries are prefetched before its collection.
const PLACES: u32 = 4;

impl<M: MapStorage> PageMap<M> {
    /// Prefetches the next [`PLACES`] map entries that the next garbage collection of a lane
    /// probably needs.
    #[inline]
    pub(super) fn prefetch_victim(&mut self, nand: &Array, lane: u32) {
        let Some(likely) = &mut self.lanes[lane as usize].likely else {
            return self.guess_victim(nand, lane);
        };
        let from = likely.start;
        if from >= likely.end {
            return;
        }
        likely.start += PLACES;
        for lpn in nand.metadata(from..likely.start.min(likely.end)) {
            prefetch(&self.map, *lpn as usize);
            self.mapping.prefetch_change(Lpn(*lpn));
        }
    }

    /// Guesses the next victim of a lane.
    #[cold]
    fn guess_victim(&mut self, nand: &Array, lane: u32) {
        let mut places = 0..0;
        if let Some(block) = self.policy.likely(lane) {
            nand.prefetch_cleaning(block);
            let first = nand.geometry().slot(block, 0).0;
            places = first..first + self.layout.slots_per_block();
        }
        self.lane(lane).likely = Some(places);
    }
}
