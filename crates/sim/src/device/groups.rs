use flashscope_block::{Bytes, Io, Nanos};

use crate::arithmetic::Divisor;
use crate::setup;

/// The current group of the address space: see [`setup::Groups`].
pub(super) struct Groups {
    size: Divisor,
    switch_time: Nanos,
    at_hand: u64,
}

impl Groups {
    /// Creates the state for `groups`. Returns `None` if there is one group or switching takes no
    /// time.
    pub(super) fn new(groups: &setup::Groups, capacity: u64) -> Option<Groups> {
        let size = Divisor::new(capacity.div_ceil(groups.count.into()));
        let switch_time = groups.switch_time;
        (groups.count > 1 && switch_time > Nanos(0)).then_some(Groups {
            size,
            switch_time,
            at_hand: 0,
        })
    }

    /// Switches to the group of a request. Returns the duration of the switch, 0 if none is needed.
    pub(super) fn switch_to(&mut self, io: &Io) -> Nanos {
        if io.len == Bytes(0) {
            return Nanos(0);
        }
        let switches = self.size.quotient(io.offset.0) != self.at_hand;
        self.at_hand = self.size.quotient(io.end().0 - 1);
        if switches { self.switch_time } else { Nanos(0) }
    }
}
