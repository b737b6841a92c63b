use flashscope_document::conclusion::EvidenceUnit;

/// Receives the progress of an operation, and notes for the user, from any thread.
///
/// Every long operation reports to an implementation of this trait. The terminal, Python and the
/// server each implement it; `()` ignores all reports.
pub trait Progress: Send {
    /// Reports progress.
    fn show(&mut self, step: &Step<'_>);

    /// Reports a note for the user.
    fn note(&mut self, text: &str);

    /// Reports a result before the end of the operation, for lists and charts that grow. The
    /// default ignores it.
    fn found(&mut self, _result: &PartialResult<'_>) {}

    /// Returns true if partial results are shown, so that it is worth computing them.
    fn shows_results(&self) -> bool {
        false
    }
}

/// A result that an operation found before its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartialResult<'a> {
    /// The title of the chart that shows the result; empty if none does.
    pub chart: &'a str,
    /// The label of the chart's horizontal axis.
    pub x_axis: &'a str,
    /// The series of the chart.
    pub series: &'a str,
    /// The position on the horizontal axis.
    pub x: f64,
    /// The description for the list of results; empty to show the result in the chart only.
    pub what: &'a str,
    /// The value.
    pub value: f64,
    /// The unit of the value.
    pub unit: EvidenceUnit,
}

impl Progress for () {
    fn show(&mut self, _step: &Step<'_>) {}

    fn note(&mut self, _text: &str) {}
}

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

impl<'a> Step<'a> {
    /// Returns the progress of a phase that has no parts.
    #[must_use]
    pub const fn of(phase: &'a str, done: u64, total: Option<u64>, unit: Unit) -> Step<'a> {
        Step { phase, now: "", done, total, unit }
    }

    /// Returns the progress of a phase from `share`, the completed share of its work, from 0 to 1.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "1000 times a share is between 0 and 1000"
    )]
    pub fn share(phase: &'a str, share: f64) -> Step<'a> {
        Step::of(phase, (1e3 * share) as u64, Some(1000), Unit::Share)
    }
}

/// The unit of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// A number of items, for example of IOs.
    Count,
    /// Work without a meaningful unit; only its share of the total counts.
    Share,
}
