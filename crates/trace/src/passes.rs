use flashscope_workload::playback::Playback;

use super::{Error, Replay, ReplayError, replay};

/// Replays a trace repeatedly: each pass is a run of one stream.
pub struct Passes {
    playback: Playback,
    /// The reason that the last pass ended early, if it did.
    last: Option<ReplayError>,
    failed: Option<Error>,
}

impl Passes {
    /// Creates passes over this trace.
    pub fn of(playback: Playback) -> Passes {
        Passes { playback, last: None, failed: None }
    }

    /// Checks that no pass ended early.
    ///
    /// # Errors
    /// The reason that a pass ended early.
    pub fn finish(mut self) -> Result<(), Error> {
        self.note_last();
        self.failed.map_or(Ok(()), Err)
    }

    fn note_last(&mut self) {
        let error = self.last.take().and_then(|last| last.take());
        self.failed = self.failed.take().or(error);
    }
}

impl Iterator for Passes {
    type Item = Vec<Replay>;

    fn next(&mut self) -> Option<Vec<Replay>> {
        self.note_last();
        if self.failed.is_some() {
            return None;
        }
        match replay(&self.playback) {
            Ok(replay) => {
                self.last = Some(replay.error());
                Some(vec![replay])
            }
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }
}
