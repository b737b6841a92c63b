//! Looking ahead to the next cleaning.
//!
//! The pages of a victim have their entries all over the map. Which block is cleaned next can mostly
//! be told when the one before is done; so the entries are fetched from memory with the writes in
//! between, a few at a time. A guess that was wrong costs time, and changes nothing.

use super::{Mapping, PageMap};
use crate::gc::VictimPolicy;
use crate::memory::prefetch;
use crate::nand::{Array, Lpn};

/// How many places of the next victim a write of the host looks at. Where that has three valid pages
/// to one that is not, all of them are looked at in time.
const PLACES: u32 = 4;

impl<M: Mapping> PageMap<M> {
    /// Has some of what the next cleaning of a lane asks for fetched from memory.
    #[inline]
    pub(super) fn look_ahead(&mut self, nand: &Array, lane: u32) {
        let Some(likely) = &mut self.lanes[lane as usize].likely else {
            return self.guess(nand, lane);
        };
        let from = likely.start;
        if from >= likely.end {
            return;
        }
        likely.start += PLACES;
        for lpn in nand.metadata(from..likely.start.min(likely.end)) {
            prefetch(&self.map, *lpn as usize);
            self.mapping.expect_change(Lpn(*lpn));
        }
    }

    /// Guesses what a lane cleans next.
    #[cold]
    fn guess(&mut self, nand: &Array, lane: u32) {
        let mut places = 0..0;
        if let Some(block) = self.policy.likely(lane) {
            nand.expect_cleaning(block);
            let first = nand.geometry().slot(block, 0).0;
            places = first..first + self.layout.slots_per_block();
        }
        self.lane(lane).likely = Some(places);
    }
}
