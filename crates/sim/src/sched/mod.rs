//! The flash scheduler. Commands wait in a queue of their die, a policy chooses the next one, and
//! the bus is granted to a command that is ready to use it.
//!
//! *A die* carries out one group of commands at a time: one command, or one in each of several
//! planes. It is busy from the first phase of the group, or its first request for the bus, to the
//! end of the last phase. A read is command cycles on the bus, cells, data on the bus; a program is
//! command and data on the bus, then cells; an erase is command cycles, then cells.
//!
//! *The bus.* A command requests the bus when its previous phase has ended. [`BusOrder`] is the
//! order in which requests are served. The bus is never reserved for a command that is not ready.
//!
//! *Instants.* At one instant, events precede decisions: first arrivals and completions, then dies
//! choose, then buses are granted. [`Scheduler::advance`] therefore returns each completion before
//! the dies choose, and takes no decision at its limit.
//!
//! *Cost.* The time of a step is proportional to the number of commands that wait at one die, or to
//! the logarithm of the number in progress. It does not depend on the size of the drive. The
//! scheduler allocates memory only while the number of commands in flight reaches a new maximum.
//!
//! A policy is one file and its line in the registry below.

mod bus;
mod command;
mod die;
mod events;
mod fcfs;
mod graph;
mod joining;
mod out_of_order;
mod phases;
mod queue;
mod read_first;
mod scheduler;
mod setup;
mod statistics;
mod suspend;
mod suspension;
#[cfg(test)]
mod tests;
mod turns;

pub(crate) use command::Task;
pub use command::{Class, Command, Level, Op, Ticket};
pub use scheduler::{Scheduler, SchedulerEvent, Status};
pub use setup::{BusOrder, ChoiceTime, Invalid, Limits, Parts, Setup, Suspension};
pub use statistics::{Busy, ClassCounts, Totals};

pub use flashscope_block::Nanos;

/// A registered policy, which chooses the next command of a die.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name of the policy in a profile.
    pub name: &'static str,
    /// A description of its choice, in one sentence.
    pub summary: &'static str,
    /// The publication that describes the policy.
    pub source: &'static str,
    /// True if reads overtake waiting programs and erases. Only such a policy accepts [`Limits`].
    pub overtakes: bool,
    /// True if a waiting read suspends a program or an erase.
    pub suspends: bool,
    /// True if the choice depends on which commands can start at this instant.
    pub(crate) weighs_starts: bool,
    /// Chooses between the oldest read and the oldest other command of [`Level::Equal`].
    pub(crate) choose: fn(&Waiting) -> Choice,
}

/// The two candidates of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Read,
    Other,
}

/// The input of a policy: a die at which both reads and other commands wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    /// The number of the oldest read in the order of arrival.
    pub(crate) read_number: u64,
    /// The number of the oldest program or erase in the order of arrival.
    pub(crate) other_number: u64,
    /// The number of reads that arrived after the oldest program or erase and have started before
    /// it.
    pub(crate) overtaken: u64,
    /// The time for which the oldest program or erase has waited.
    pub(crate) waited: Nanos,
    pub(crate) limits: Limits,
    /// True if the oldest read can start at this instant: the die takes it, and its first phase
    /// needs no bus or an idle one. Computed only for a policy with [`Kind::weighs_starts`].
    pub(crate) read_starts: bool,
    /// True if the oldest program or erase can start at this instant.
    pub(crate) other_starts: bool,
}

impl Waiting {
    /// Returns true if reads have reached a limit of overtaking the oldest program or erase.
    pub(crate) fn is_due(&self) -> bool {
        let Limits { overtakes, wait } = self.limits;
        overtakes.is_some_and(|most| self.overtaken >= u64::from(most))
            || wait.is_some_and(|most| self.waited >= most)
    }

    /// Returns the command that arrived first.
    pub(crate) fn oldest(&self) -> Choice {
        if self.read_number < self.other_number { Choice::Read } else { Choice::Other }
    }
}

/// Every policy, in the order in which they are shown.
pub const KINDS: &[Kind] = &[fcfs::KIND, read_first::KIND, out_of_order::KIND, suspend::KIND];

/// Returns the policy of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
