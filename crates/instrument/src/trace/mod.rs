//! Traces that are played on a drive.

mod benched;
mod playback;

pub use benched::{Benched, LONGEST_IO};
use flashscope_workload::trace::{Error, Progress};
pub use playback::{each_io, survey};

use crate::{Failure, Onlooker, Step, Unit, usage};

/// Whether an error is about what was asked for, or about what happened on the way.
#[must_use]
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Io { .. } => Failure::from(error),
        wrong => usage(wrong),
    }
}

/// Shows how far a trace is read.
pub fn show(onlooker: &mut dyn Onlooker, phase: &str, progress: &Progress) {
    let (done, total) = (progress.done(), progress.total());
    onlooker.show(&Step { phase, now: "", done, total, unit: Unit::Bytes });
}
