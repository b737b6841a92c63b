//! The document of a probe: what is known about the internals of a drive, with the evidence.

mod finding;
mod parameter;
mod report;

pub use finding::{Answer, Finding, Mark, Series, Shape, Signal};
pub use parameter::{PARAMETERS, Parameter, ProfileField, Spec, Unit};
pub use report::{
    BudgetAmount, Contradiction, IoErrors, ProbeReport, ProbeStatus, RunSummary, StatedFinding,
    Step,
};

/// The version of `probe.json` that flashscope writes, and the latest version that it reads.
pub const PROBE_VERSION: u32 = 1;
