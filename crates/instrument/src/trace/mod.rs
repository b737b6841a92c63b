//! Traces that are played on a drive.

mod benched;
mod playback;

use std::sync::atomic::{AtomicBool, Ordering};

pub use benched::{Benched, LONGEST_IO};
use flashscope_workload::trace::{Error, Progress, Reader, Request, Trace};
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

/// Reads a trace to its end, batch by batch; whether it came there before `stop` was set.
///
/// # Errors
/// Where it cannot be read.
pub fn each_batch(
    trace: &mut Trace,
    phase: &str,
    (stop, onlooker): (&AtomicBool, &mut dyn Onlooker),
    mut each: impl FnMut(&[Request]),
) -> Result<bool, Failure> {
    let mut batch = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        trace.read(&mut batch).map_err(failure)?;
        if batch.is_empty() {
            return Ok(true);
        }
        each(&batch);
        show(onlooker, phase, trace.progress());
    }
    Ok(false)
}

/// Shows how far a trace is read.
pub fn show(onlooker: &mut dyn Onlooker, phase: &str, progress: &Progress) {
    let (done, total) = (progress.done(), progress.total());
    onlooker.show(&Step { phase, now: "", done, total, unit: Unit::Bytes });
}
