//! Records the internal activity of a simulated drive during each run.

use flashscope_block::{Bytes, Nanos};
use flashscope_document::manifest::{Experiment, MicroBenchmark, Run};
use flashscope_measure::Observer;
use flashscope_result::activity::{Activities, Activity};
use flashscope_result::{Error, ResultFolder};
use flashscope_sim::Drive;
use flashscope_sim::observe::{self, ObserverHandle, ObserverSchedule};

use super::ahead::Ahead;

/// The maximum number of background operations recorded per run: about 3 MB.
const MAX_OPERATIONS: usize = 100_000;

/// The observers of the internal activity of a simulated drive.
pub struct Inside {
    observed: ObserverHandle<observe::Activities>,
    glances: ObserverSchedule,
}

impl Inside {
    /// Attaches observers to a drive. Returns `None` for an array, whose operations have no single unit and block.
    pub fn of(drive: &mut Drive) -> Option<Inside> {
        let drive = drive.only()?;
        let activities = observe::Activities::with_most(drive, MAX_OPERATIONS);
        let glances = ObserverSchedule::new(drive.observer_switch());
        Some(Inside { observed: drive.observe(activities), glances })
    }

    /// Returns the operations since the start of the run.
    fn activities(&self, until: Nanos) -> Activities {
        let report = self.observed.lock().report(until);
        let item = |activity: observe::Activity| Activity {
            kind: activity.kind.name().into(),
            start_ns: activity.start_ns,
            end_ns: activity.end_ns,
            unit: activity.unit,
            block: activity.block,
            pages_read: activity.pages_read,
            pages_programmed: activity.pages_programmed,
            blocks_erased: activity.blocks_erased,
        };
        let items = report.longest.into_iter().map(item).collect();
        Activities { items, left_out: report.left_out }
    }
}

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
