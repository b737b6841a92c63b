//! The free slots of a write buffer, and the programs that free them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use flashscope_block::Nanos;

use crate::footprint::{Size, grown};
use crate::nand::{Array, FAR};

/// The free slots of a write buffer, by the time at which their last page left.
#[derive(Default)]
pub(super) struct FreeSlots {
    known: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Slots that a queued program frees, in the order in which the programs were issued.
    awaited: VecDeque<(Nanos, u32)>,
}

impl FreeSlots {
    /// Returns the memory that a [`FreeSlots`] with `slots` slots needs.
    pub(super) fn footprint(slots: u32) -> Size {
        grown::<Reverse<(Nanos, u32)>>(slots) + grown::<(Nanos, u32)>(slots)
    }

    pub(super) fn len(&self) -> usize {
        self.known.len() + self.awaited.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.awaited.clear();
    }

    /// Adds a slot that is free at `at`.
    pub(super) fn push(&mut self, nand: &Array, at: Nanos, slot: u32) {
        match nand.is_awaited(at) {
            true => self.awaited.push_back((at, slot)),
            false => self.known.push(Reverse((at, slot))),
        }
    }

    /// Returns the number of slots that are free at `at`.
    pub(super) fn count(&mut self, nand: &Array, at: Nanos) -> usize {
        self.sort_out(nand, at);
        self.known.iter().filter(|Reverse((free, _))| *free <= at).count()
    }

    /// Moves the slots whose program is done from `awaited` to `known`.
    fn sort_out(&mut self, nand: &Array, at: Nanos) {
        let known = &mut self.known;
        self.awaited.retain(|(free, slot)| {
            let past = nand.is_past(*free, at);
            if past {
                known.push(Reverse((nand.known(*free), *slot)));
            }
            !past
        });
    }

    /// Takes the slot that is free first, provided that it is free at `at` or `any` is true. Slots
    /// whose program waits in a queue come last, in the order of issue.
    pub(super) fn take(&mut self, nand: &Array, at: Nanos, any: bool) -> Option<(Nanos, u32)> {
        self.sort_out(nand, at);
        match self.known.peek() {
            Some(Reverse((free, _))) if any || *free <= at => self.known.pop().map(|slot| slot.0),
            None if any => self.awaited.pop_front(),
            _ => None,
        }
    }
}

/// The end times of the programs that were issued last.
pub(super) struct ProgramsInProgress {
    /// A background program begins only while fewer programs than this are unfinished.
    most: usize,
    /// The latest known end times, at most `most` of them.
    known: BinaryHeap<Reverse<Nanos>>,
    /// Programs in the queues of the flash.
    awaited: Vec<Nanos>,
}

impl ProgramsInProgress {
    /// Returns the memory that a [`ProgramsInProgress`] with `most` unfinished programs needs.
    pub(super) fn footprint(most: u64) -> Size {
        grown::<Reverse<Nanos>>(most + 1) + grown::<Nanos>(most + 1)
    }

    pub(super) fn new(most: u32) -> Self {
        ProgramsInProgress { most: most as usize, known: BinaryHeap::new(), awaited: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.awaited.clear();
    }

    /// Adds a program that ends at `done`.
    pub(super) fn push(&mut self, nand: &Array, done: Nanos) {
        if nand.is_awaited(done) {
            self.awaited.retain(|done| !nand.is_past(*done, Nanos(0)));
            self.awaited.push(done);
            return;
        }
        self.known.push(Reverse(done));
        if self.known.len() > self.most {
            self.known.pop();
        }
    }

    /// Returns the time at which all of these programs are done.
    pub(super) fn all_done(&self, nand: &mut Array) -> Nanos {
        let known = self.known.iter().map(|Reverse(done)| *done).max().unwrap_or(Nanos(0));
        self.awaited.iter().fold(known, |all, done| nand.both(all, *done))
    }

    /// Returns the time from which another program may begin.
    pub(super) fn next_start(&mut self, nand: &Array) -> Nanos {
        self.awaited.retain(|done| !nand.is_past(*done, Nanos(0)));
        if self.awaited.len() >= self.most {
            return FAR;
        }
        match self.known.peek() {
            Some(Reverse(first)) if self.known.len() == self.most => *first,
            _ => Nanos(0),
        }
    }
}
