//! Reads traces, and plays them on drives.

mod bench_trace;
pub mod collection;
mod playback;

use std::sync::atomic::{AtomicBool, Ordering};

pub use bench_trace::BenchTrace;
pub(crate) use bench_trace::LONGEST_IO;
use flashscope_trace::{Error, Progress as ReadProgress, Reader, Request, Trace};
pub(crate) use playback::each_io;
pub use playback::survey;

use crate::{Failure, Progress, Step, Unit, usage};

/// Classifies an error as a usage error or a failure.
#[must_use]
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Io { .. } => Failure::from(error),
        wrong => usage(wrong),
    }
}

/// Reads a trace to its end, batch by batch. Returns false if `stop` was set before the end.
///
/// # Errors
/// If the trace cannot be read.
pub fn each_batch(
    trace: &mut Trace,
    phase: &str,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
    mut each: impl FnMut(&[Request]),
) -> Result<bool, Failure> {
    let mut batch = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        trace.read(&mut batch).map_err(failure)?;
        if batch.is_empty() {
            return Ok(true);
        }
        each(&batch);
        show(sink, phase, trace.progress());
    }
    Ok(false)
}

/// Reports how much of a trace is read.
pub fn show(sink: &mut dyn Progress, phase: &str, read: &ReadProgress) {
    sink.show(&Step::of(phase, read.done(), read.total(), Unit::Bytes));
}
