use flashscope_block::{Io, Nanos};
use flashscope_measure::Phase;
use flashscope_workload::trace::Progress;

/// Who is told how a simulation goes on. What is left out is not told; `()` is told nothing.
pub trait Hooks {
    /// The trace that will be played is read.
    fn reading(&mut self, _progress: &Progress) {}

    /// What a user should know of that trace, in words.
    fn notes(&mut self, _notes: &[String]) {}

    /// So much of a phase is done of how much (in bytes, IOs or nanoseconds), as far as known.
    fn progress(&mut self, _phase: Phase, _done: u64, _total: u64) {}

    /// The measurement begins, on the clock of the drive.
    fn begin(&mut self, _now: Nanos) {}

    /// Whether [`Hooks::each`] is to be told, which takes time.
    fn wants_each(&self) -> bool {
        false
    }

    /// An IO that is measured: what it did where, when it was answered, from the begin of the measurement,
    /// and its latency.
    fn each(&mut self, _io: &Io, _at: Nanos, _latency: Nanos) {}
}

impl Hooks for () {}
