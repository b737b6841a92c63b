//! Progress of long operations.

/// The progress of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// The current phase, in words. The time left is estimated within a phase.
    pub phase: &'a str,
    /// The current part of the phase, in words; may be empty.
    pub now: &'a str,
    /// The amount of work done.
    pub done: u64,
    /// The amount of work in the phase, if known.
    pub total: Option<u64>,
    /// The unit of `done` and `total`.
    pub unit: Unit,
}

/// The unit of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Things, such as IOs.
    Count,
    /// Work without a meaningful unit; only its share of the total counts.
    Share,
}

/// Receives progress and notes for the user, from any thread.
pub trait ProgressSink: Send {
    /// Reports progress.
    fn show(&mut self, step: &Step<'_>);

    /// Reports a note for the user.
    fn note(&mut self, text: &str);
}
