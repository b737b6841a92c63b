//! Traces that are played on a drive.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use flashscope_block::{Io, Nanos};
use flashscope_workload::Stream;
use flashscope_workload::trace::{Failed, Playback, Replay, Survey};

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

/// A trace over and over again.
pub struct Passes {
    playback: Playback,
    /// Why the pass that was given last ended early, if it did.
    last: Option<Failed>,
    failed: Option<Failure>,
}

impl Passes {
    pub fn of(playback: Playback) -> Passes {
        Passes { playback, last: None, failed: None }
    }

    /// That the trace could be read again each time.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.note_last();
        self.failed.map_or(Ok(()), Err)
    }

    fn note_last(&mut self) {
        let error = self.last.take().and_then(|last| last.take());
        self.failed = self.failed.take().or(error.map(input::failure));
    }
}

impl Iterator for Passes {
    type Item = Vec<Replay>;

    fn next(&mut self) -> Option<Vec<Replay>> {
        self.note_last();
        if self.failed.is_some() {
            return None;
        }
        match self.playback.replay() {
            Ok(replay) => {
                self.last = Some(replay.error());
                Some(vec![replay])
            }
            Err(error) => {
                self.failed = Some(input::failure(error));
                None
            }
        }
    }
}
