use flashscope_block::{Io, Nanos};
use flashscope_measure::{Phase, Progress};

/// Receives the progress and the measured IOs of a simulation. `()` ignores all of them.
pub trait Hooks: Progress {
    /// Called when a phase (fill, warm-up, measurement) begins, even if the phase is empty. `now`
    /// is the clock of the drive.
    fn begin(&mut self, _phase: Phase, _now: Nanos) {}

    /// Returns true to receive calls of [`Hooks::each`], which cost time.
    fn receives_each(&self) -> bool {
        false
    }

    /// Called for each measured IO, with its completion time from the start of the measurement, and
    /// its latency.
    fn each(&mut self, _io: &Io, _at: Nanos, _latency: Nanos) {}
}

impl Hooks for () {}
