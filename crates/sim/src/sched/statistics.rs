//! Busy times of the parts, and queue lengths and waiting times by class.

use flashscope_block::Nanos;

use super::command::Class;

/// The counts of the queues of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassCounts {
    /// Commands that have arrived.
    pub arrived: u64,
    /// Commands that have started.
    pub started: u64,
    /// The total wait of the commands that have started, in nanoseconds.
    pub waited_ns: u128,
    /// The longest wait of the commands that have started.
    pub longest_wait: Nanos,
    /// Commands that are waiting now.
    pub waiting: u64,
    /// The maximum number of commands that waited at once.
    pub max_waiting: u64,
    /// The integral of the number of waiting commands over time, in nanoseconds, up to the last
    /// change of this number.
    pub waiting_ns: u128,
    /// The time of the last change of `waiting`.
    changed: Nanos,
}

impl ClassCounts {
    fn pass(&mut self, now: Nanos) {
        self.waiting_ns += u128::from(self.waiting) * u128::from(now.0 - self.changed.0);
        self.changed = now;
    }

    pub(super) fn arrive(&mut self, now: Nanos) {
        self.pass(now);
        self.arrived += 1;
        self.waiting += 1;
        self.max_waiting = self.max_waiting.max(self.waiting);
    }

    pub(super) fn start(&mut self, now: Nanos, arrived: Nanos) {
        self.pass(now);
        let waited = Nanos(now.0 - arrived.0);
        self.started += 1;
        self.waiting -= 1;
        self.waited_ns += u128::from(waited.0);
        self.longest_wait = self.longest_wait.max(waited);
    }

    /// Removes the waiting commands, without counting them as started.
    pub(super) fn drop_waiting(&mut self, now: Nanos) {
        self.pass(now);
        self.waiting = 0;
    }

    /// Returns the integral of the number of waiting commands over time, in nanoseconds, up to
    /// `now`.
    pub(crate) fn waiting_ns_at(&self, now: Nanos) -> u128 {
        let mut counts = *self;
        counts.pass(now);
        counts.waiting_ns
    }
}

/// Busy times, each the sum over all parts of the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Busy {
    /// The busy time of buses.
    pub buses: Nanos,
    /// The busy time of dies, including time waiting for their bus or holding a suspended command.
    pub dies: Nanos,
    /// The busy time of the cells of dies.
    pub cells: Nanos,
}

/// All counts of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// The counts of each class, in the order of [`Class::ALL`].
    pub classes: [ClassCounts; Class::ALL.len()],
    /// The number of suspensions.
    pub suspensions: u64,
    /// Commands that were carried out together with an earlier one, in another plane or package.
    pub joined: u64,
}
