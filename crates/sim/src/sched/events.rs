//! The queue of events, earliest first; equal times in the order in which they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashscope_block::Nanos;

/// An event at a known time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A command arrives at its die.
    Arrival(u32),
    /// The cells are done with a group, unless it was suspended since: then its token is another.
    CellsDone { group: u32, token: u32 },
    /// The group in the cells of a die is suspended.
    Suspended(u32),
    /// A group has been resumed.
    Resumed(u32),
    /// A die looks again whether it can suspend.
    Check(u32),
    /// A bus is released.
    Released(u32),
    /// The page of one of several joined reads has come over the bus.
    PageOver(u32),
    /// A time that the owner of the scheduler set.
    Timer(u32),
}

/// A queue of events.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    scheduled: u64,
}

impl Events {
    pub(super) fn schedule(&mut self, at: Nanos, event: Event) {
        self.scheduled += 1;
        self.heap.push(Reverse((at.0, self.scheduled, event)));
    }

    /// Returns when the next event is due.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, ..))| Nanos(*at))
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.heap.pop().map(|Reverse((_, _, event))| event)
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }
}
