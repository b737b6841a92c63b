//! Times that are not known yet.
//!
//! If commands wait in queues, a [`Nanos`] that [`super::Array`] returns may stand for a command:
//! what is given it as `at` begins when that is done. The FTLs pass such a time on and never
//! compute with it; of two, [`super::Array::both`] makes the later.

use flashscope_block::Nanos;

use crate::sched::Ticket;

/// The bits of a time that stands for a command. As a time it would be 582 years away.
const FLAG: u64 = u64::MAX << Ticket::BITS;

/// A time after every other one that does not stand for a command.
pub(crate) const FAR: Nanos = Nanos(FLAG - 1);

/// Returns the time at which a command will be done.
pub(crate) const fn when_done(ticket: Ticket) -> Nanos {
    Nanos(FLAG | ticket.number())
}

/// Returns the command that a time stands for, unless it is a time.
#[inline]
pub(crate) const fn awaited(at: Nanos) -> Option<Ticket> {
    if is_awaited(at) { Some(Ticket::of_number(at.0 & !FLAG)) } else { None }
}

/// Returns true if a time stands for a command.
#[inline]
const fn is_awaited(at: Nanos) -> bool {
    at.0 >= FLAG && at.0 != u64::MAX
}
