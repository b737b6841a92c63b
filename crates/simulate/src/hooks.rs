use flashscope_block::{Io, Nanos};
use flashscope_measure::{Phase, Progress};

/// Receives the progress and the measured IOs of a simulation. `()` ignores all of them.
pub trait Hooks: Progress {
    /// Called when a phase begins, with the drive's clock: the fill, the warm-up, the measurement, each
    /// also if it is empty.
    fn begin(&mut self, _phase: Phase, _now: Nanos) {}

    /// True if [`Hooks::each`] is to be called, which takes time.
    fn wants_each(&self) -> bool {
        false
    }

    /// Called for each measured IO, with its completion time from the start of the measurement, and its latency.
    fn each(&mut self, _io: &Io, _at: Nanos, _latency: Nanos) {}
}

impl Hooks for () {}
