//! Infers the internals of a drive from its timing: Sun and Zhang's method ("Flash Drives:
//! Performance Study Based On Benchmarks") of assuming, testing and refining, as a program.
//!
//! A [`Probe`] is an experiment and its estimator, one module each in [`probes`]. It accesses the
//! drive through a [`Lab`], the only part that touches the [`Device`](flashscope_block::Device),
//! and states [findings](flashscope_document::probe::Finding). [`investigate`] chooses the next
//! experiment by its expected information and its cost, and repeats experiments if findings
//! contradict each other.
//!
//! This crate cannot link to the simulator: everything it finds in a simulated drive, it finds by
//! timing.

mod experiment;
mod investigate;
mod knowledge;
mod lab;
mod levels;
mod outcome;
mod period;
pub mod probes;
mod profile;
mod report;
mod steps;

pub use experiment::{Request, Run};
pub use investigate::{Event, Investigation, investigate};
pub use knowledge::Knowledge;
pub use lab::{Budget, DEEPEST, Fill, Halt, Keeper, Lab, MAX_REQUEST, RunInProgress};
pub use levels::{Levels, levels, median, spread, standard_error};
pub use outcome::Outcome;
pub use probes::{Cost, PROBES, Probe, Scene};
pub use profile::profile;
pub use report::{Diary, stated, status_of};

pub(crate) use flashscope_document::probe::{
    Answer, Contradiction, Finding, PARAMETERS, Parameter, ProfileField, Spec, Unit,
};
