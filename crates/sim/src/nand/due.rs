//! Times that are not known yet.
//!
//! If commands wait in queues, a [`Nanos`] that [`super::Array`] returns may stand for a command. A
//! command that receives such a time as `at` begins when the other command is done. The FTLs pass
//! these times on and never compute with them. [`super::Array::both`] returns the later of two
//! times.

use flashscope_block::Nanos;

use crate::sched::Ticket;

/// The bits that are set in a time that stands for a command. Read as a time, the value is 582
/// years away.
const FLAG: u64 = u64::MAX << Ticket::BITS;

/// The latest time before those that stand for commands.
pub(crate) const FAR: Nanos = Nanos(FLAG - 1);

/// Returns the time at which a command will be done.
pub(crate) const fn when_done(ticket: Ticket) -> Nanos {
    Nanos(FLAG | ticket.number())
}

/// Returns the command that a time stands for, or `None` for an actual time.
#[inline]
pub(crate) const fn awaited(at: Nanos) -> Option<Ticket> {
    if is_awaited(at) { Some(Ticket::of_number(at.0 & !FLAG)) } else { None }
}

/// Returns true if a time stands for a command. [`Nanos::MAX`] stands for none.
#[inline]
const fn is_awaited(at: Nanos) -> bool {
    at.0 >= FLAG && at.0 != u64::MAX
}
