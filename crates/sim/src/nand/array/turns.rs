//! Turns of background work and the reads of the host: see [`Queues::turns`](super::Queues::turns).

use flashscope_block::Nanos;

use super::Array;
use super::queued::QueuedArray;
use crate::nand::due::{awaited, when_done};
use crate::sched::Level;

impl QueuedArray {
    /// Returns the end of the background steps in progress: see [`Array::end_of_turns`].
    fn end_of_turns(&mut self) -> Option<Nanos> {
        self.close_rows();
        let join = self.scheduler.join_low()?;
        self.scheduler.release(join, Nanos(0));
        Some(when_done(join))
    }
}

impl Array {
    /// Returns true if background work and the reads of the host take turns.
    pub(crate) fn takes_turns(&self) -> bool {
        self.queues().is_some_and(|queued| queued.queues.turns)
    }

    /// Returns true if the clock of the queues has reached `at`, or if there are no queues.
    pub(crate) fn has_reached(&self, at: Nanos) -> bool {
        self.queues().is_none_or(|queued| queued.is_past(at))
    }

    /// Sets whether background work is held, because a read is in progress.
    pub(crate) fn hold_background(&mut self, held: bool) {
        if let Some(queued) = &mut self.queued {
            queued.scheduler.hold_low(held);
        }
    }

    /// Gives each die a turn: it carries out the next step of its background work, even while
    /// background work is held.
    pub(crate) fn give_turns(&mut self) {
        if let Some(queued) = &mut self.queued {
            queued.close_rows();
            queued.scheduler.give_turns();
        }
    }

    /// Starts the steps that are due, and returns the time at which all background steps in
    /// progress are done. Returns `None` if no step is in progress.
    pub(crate) fn end_of_turns(&mut self) -> Option<Nanos> {
        self.queued.as_mut()?.end_of_turns()
    }

    /// Requests an [`Event::Done`](super::Event::Done) with this number for the time `at`, which
    /// may stand for a command.
    pub(crate) fn notify_at(&mut self, at: Nanos, number: u32) {
        if let Some(queued) = &mut self.queued {
            queued.notify_done(at, number);
        }
    }

    /// Moves background work to the foreground if `done` stands for one of its commands, because
    /// the host waits for it. Has no effect if background work takes no turns.
    pub(crate) fn hurry(&mut self, done: Nanos) {
        if self.takes_turns()
            && let (Some(queued), Some(ticket)) = (&mut self.queued, awaited(done))
        {
            queued.raise_for(Level::Equal, ticket);
        }
    }
}
