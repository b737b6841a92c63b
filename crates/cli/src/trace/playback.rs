//! Traces that are played on a drive.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use flashscope_block::{Io, Nanos};
use flashscope_workload::Stream;
use flashscope_workload::trace::{Playback, Survey};

use super::input;
use crate::Failure;
use crate::progress::LateBar;

/// Reads a trace to know what it asks of the drive, and says what a user should know of it.
pub fn survey(
    playback: &Playback,
    stop: &AtomicBool,
    bar: &mut LateBar,
) -> Result<Survey, Failure> {
    let survey = playback.survey(stop, |progress| input::show(bar, "reading the trace", progress));
    let survey = survey.map_err(input::failure)?;
    let survey = survey
        .ok_or_else(|| Failure::Failed(anyhow!("interrupted before anything was measured")))?;
    input::show_notes(&survey.notes);
    Ok(survey)
}

/// Tells each IO of a trace, to its end.
pub fn each_io(
    playback: &Playback,
    stop: &AtomicBool,
    mut each: impl FnMut(&Io),
) -> Result<(), Failure> {
    let mut replay = playback.replay().map_err(input::failure)?;
    let failed = replay.error();
    while let Some(io) = replay.next(Nanos(0)) {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Failed(anyhow!("interrupted while the trace was read")));
        }
        each(&io);
    }
    failed.take().map_or(Ok(()), |error| Err(input::failure(error)))
}
