//! Records the internal activity of a simulated drive during each run.

use flashscope_block::{Bytes, Nanos};
use flashscope_document::manifest::{Experiment, MicroBenchmark, Run};
use flashscope_measure::Observer;
use flashscope_result::{Error, ResultFolder};

use super::ahead::Ahead;
use crate::inside::Inside;

/// An observer that reports progress and saves the internal activity of each run.
pub(super) struct Keeper<'a> {
    ahead: Ahead<'a>,
    inside: Option<Inside>,
    folder: &'a ResultFolder,
    began: Nanos,
    /// The first error; nothing is saved after it.
    outcome: Result<(), Error>,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(ahead: Ahead<'a>, inside: Option<Inside>, folder: &'a ResultFolder) -> Self {
        Keeper { ahead, inside, folder, began: Nanos(0), outcome: Ok(()) }
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Returns the first error in saving.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.outcome
    }
}

impl Observer for Keeper<'_> {
    fn state(&mut self, done: Bytes, total: Bytes) {
        if let Some(inside) = &self.inside {
            inside.glances.prepare(done.0, total.0);
        }
        self.ahead.state(done, total);
    }

    fn run_started(
        &mut self,
        benchmark: &MicroBenchmark,
        experiment: &Experiment,
        run: &Run,
        now: Nanos,
    ) {
        self.began = now;
        if let Some(inside) = &self.inside {
            inside.glances.measure(now);
        }
        self.ahead.run_started(benchmark, experiment, run, now);
    }

    fn progress(&mut self, ios: u64) {
        self.ahead.progress(ios);
    }

    fn run_finished(&mut self, run: &Run, ios: u64, took: Nanos) {
        self.ahead.run_finished(run, ios, took);
        // A resumed simulated drive repeats completed runs, whose activities are saved already.
        if let Some(inside) = &self.inside
            && self.outcome.is_ok()
            && !self.folder.has_activities(run.id)
        {
            let activities = inside.activities(self.began + took);
            self.outcome = self.folder.write_activities(run.id, &activities);
        }
    }
}
