use flashscope_workload::playback::Playback;

use super::{Error, Failed, Replay, replay};

/// A trace over and over again: each pass is a run of one stream.
pub struct Passes {
    playback: Playback,
    /// Why the pass that was given last ended early, if it did.
    last: Option<Failed>,
    failed: Option<Error>,
}

impl Passes {
    /// Passes of this trace.
    pub fn of(playback: Playback) -> Passes {
        Passes { playback, last: None, failed: None }
    }

    /// That the trace could be read again each time.
    ///
    /// # Errors
    /// Why it could not: the passes ended there.
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
