//! Reads traces for playback.

use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Io, Nanos};
use flashscope_trace::Survey;
use flashscope_workload::Stream;
use flashscope_workload::playback::Playback;

use super::{failure, show};
use crate::{Failure, Progress, interrupted};

/// Reads a trace once to determine its length and the space that it needs, and reports its notes.
///
/// # Errors
/// If the trace cannot be read, or `stop` was set before its end.
pub fn survey(
    playback: &Playback,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<Survey, Failure> {
    let survey = flashscope_trace::survey(playback, stop, |progress| {
        show(sink, "reading the trace", progress)
    });
    let survey = survey.map_err(failure)?;
    let survey = survey.ok_or_else(|| interrupted("nothing was measured yet"))?;
    survey.notes.iter().for_each(|note| sink.note(note));
    Ok(survey)
}

/// Passes each IO of a trace to `each`.
///
/// # Errors
/// If the trace cannot be read, or `stop` was set before its end.
pub(crate) fn each_io(
    playback: &Playback,
    stop: &AtomicBool,
    mut each: impl FnMut(&Io),
) -> Result<(), Failure> {
    let mut replay = flashscope_trace::replay(playback).map_err(failure)?;
    let failed = replay.error();
    while let Some(io) = replay.next(Nanos(0)) {
        if stop.load(Ordering::Relaxed) {
            return Err(interrupted("the trace was not read to its end"));
        }
        each(&io);
    }
    failed.take().map_or(Ok(()), |error| Err(failure(error)))
}
