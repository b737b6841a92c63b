use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, DeviceInfo, DeviceKind, EraseError, Errno, Nanos};
use flashscope_document::manifest::{Experiment, Manifest, MicroBenchmark, Run, Status};
use flashscope_result::ResultFolder;

use crate::FailedIo;
use crate::execution::Execution;
use crate::surroundings::Surroundings;
use crate::timestamp;

/// An error that ends a benchmark.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The result could not be written.
    #[error(transparent)]
    Result(#[from] flashscope_result::Error),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] flashscope_trace::Error),
    /// A trace ended before the number of IOs counted when it was opened.
    #[error("the trace ended after {ios} of {planned} IOs: it was changed while it was played")]
    Short {
        /// IOs done.
        ios: u64,
        /// IOs planned.
        planned: u64,
    },
    /// The drive failed while its state was enforced.
    #[error("cannot bring the drive into its state: {0}{hint}", hint = hint(.0.errno))]
    State(FailedIo),
    /// The drive disappeared before anything was measured.
    #[error("the drive was removed or stopped responding: {0}; nothing was measured")]
    Gone(FailedIo),
    /// The drive was not erased.
    #[error("cannot bring the drive into its state: {0}")]
    EraseError(#[from] EraseError),
    /// The user stopped the benchmark while the drive was erasing itself.
    #[error(
        "interrupted, but the drive continues to erase itself, even after a loss of power, and answers \
         no other command until it has finished (`nvme sanitize-log` shows its progress)"
    )]
    StillErasing,
}

fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EOPNOTSUPP => "; a drive without TRIM cannot be purged, choose another --state",
        errno if errno.is_drive_gone() => "; it was removed",
        _ => "",
    }
}

/// Receives the events of a plan's execution. Every method does nothing by default; `()` ignores
/// all events.
pub trait Observer {
    /// Reports how much of the state is enforced.
    fn state(&mut self, _done: Bytes, _total: Bytes) {}
    /// Reports the start of a run at `now` on the clock of the drive. The times of its records are
    /// relative to `now`.
    fn run_started(
        &mut self,
        _benchmark: &MicroBenchmark,
        _experiment: &Experiment,
        _run: &Run,
        _now: Nanos,
    ) {
    }
    /// Reports the number of IOs of the current run that have completed.
    fn progress(&mut self, _ios: u64) {}
    /// Reports the end of the current run, with or without success: its IOs and its duration on the
    /// clock of the drive.
    fn run_finished(&mut self, _run: &Run, _ios: u64, _took: Nanos) {}
}

impl Observer for () {}

/// Returns true for a drive that loses its contents when the process ends.
#[must_use]
pub fn forgets(drive: &DeviceInfo) -> bool {
    drive.kind == DeviceKind::Sim
}

/// Executes the plan of a manifest and records every IO of every run.
pub struct Bench<'a, D: Device + ?Sized> {
    /// The drive to measure. IOs beyond its queue depth wait in the host.
    pub device: &'a mut D,
    /// The result folder to write to.
    pub folder: &'a ResultFolder,
    /// The plan. The execution updates the progress of its runs and writes the manifest after each
    /// run.
    pub manifest: &'a mut Manifest,
    /// True if the drive has lost the effects of earlier executions of the plan, as a simulated
    /// drive does when its process ends. Runs that were done are then repeated without touching
    /// their records, so that the remaining runs meet the same drive.
    pub forgot: bool,
    /// Set to end early; completed work is kept.
    pub stop: &'a AtomicBool,
    /// Receives the events of the execution.
    pub observer: &'a mut dyn Observer,
    /// Records the activity of other processes on the drive and the machine; `None` for a simulated
    /// drive.
    pub surroundings: Option<&'a Surroundings>,
}

impl<D: Device + ?Sized> Bench<'_, D> {
    /// Enforces the state, executes the pending runs, and writes the manifest after each.
    ///
    /// A failed IO ends its run and, depending on the options, the remaining runs. The loss of the
    /// drive or an error of the result folder ends the benchmark. Everything written before stays
    /// intact.
    pub fn run(&mut self) -> Result<Status, Error> {
        let outcome = Execution::new(self).run();
        self.manifest.status = match outcome {
            Ok(status) => status,
            Err(Error::StillErasing) => Status::Interrupted,
            Err(_) => Status::Failed,
        };
        self.manifest.finished = Some(timestamp());
        let written = self.folder.write_manifest(self.manifest);
        // Report the error of the execution first: a full disk causes both errors.
        let status = outcome?;
        written?;
        Ok(status)
    }
}
