use flashscope_block::{Io, Nanos};
use flashscope_measure::Phase;
use flashscope_trace::Progress;

/// Callbacks of a simulation. All methods are optional; `()` ignores all events.
pub trait Hooks {
    /// Called while the trace is read before it is played.
    fn reading(&mut self, _progress: &Progress) {}

    /// Called with notes about the trace for the user.
    fn notes(&mut self, _notes: &[String]) {}

    /// Called with the progress of a phase: done and total, in bytes, IOs or nanoseconds. The total may be an estimate.
    fn progress(&mut self, _phase: Phase, _done: u64, _total: u64) {}

    /// Called when the measurement begins, with the drive's clock.
    fn begin(&mut self, _now: Nanos) {}

    /// True if [`Hooks::each`] is to be called, which takes time.
    fn wants_each(&self) -> bool {
        false
    }

    /// Called for each measured IO, with its completion time from the start of the measurement, and its latency.
    fn each(&mut self, _io: &Io, _at: Nanos, _latency: Nanos) {}
}

impl Hooks for () {}
