use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Errno, Nanos, NotErased};
use flashscope_result::ResultFolder;
use flashscope_result::manifest::{Experiment, Manifest, MicroBenchmark, Run, Status};

use crate::FailedIo;
use crate::execution::Execution;
use crate::surroundings::Surroundings;
use crate::timestamp;

/// Why a benchmark could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The result could not be written.
    #[error(transparent)]
    Result(#[from] flashscope_result::Error),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] flashscope_workload::trace::Error),
    /// A trace ended before what was found when it was looked at.
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
    /// The drive was gone before anything was measured.
    #[error("the drive is gone: {0}; nothing was measured")]
    Gone(FailedIo),
    /// The drive was not erased.
    #[error("cannot bring the drive into its state: {0}")]
    NotErased(#[from] NotErased),
    /// The benchmark was stopped while the drive erased itself.
    #[error(
        "interrupted, but the drive goes on erasing itself, after a loss of power too, and answers \
         nothing else until it is done (`nvme sanitize-log` tells how far it is)"
    )]
    ErasesOn,
}

fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EOPNOTSUPP => {
            "; a drive that knows no trims cannot be purged, choose another --state"
        }
        errno if errno.is_of_a_drive_that_is_gone() => "; it was removed",
        _ => "",
    }
}

/// Is told what happens while a plan is executed. What is left out is not told; `()` is told nothing.
pub trait Observer {
    /// So much of the state of the drive is enforced.
    fn state(&mut self, _done: Bytes, _total: Bytes) {}
    /// A run begins, `now` on the clock of the drive: where the times of its records count from.
    fn run_started(
        &mut self,
        _benchmark: &MicroBenchmark,
        _experiment: &Experiment,
        _run: &Run,
        _now: Nanos,
    ) {
    }
    /// So many IOs of the current run are answered.
    fn progress(&mut self, _ios: u64) {}
    /// The current run ended after so many IOs, for better or worse, and so long on the clock of the
    /// drive.
    fn run_finished(&mut self, _run: &Run, _ios: u64, _took: Nanos) {}
}

impl Observer for () {}

/// The execution of the plan in a manifest: every IO of every run is kept.
pub struct Bench<'a, D: Device + ?Sized> {
    /// What is measured. It accepts as many IOs in flight as the plan has concurrent streams.
    pub device: &'a mut D,
    /// Where the result goes.
    pub folder: &'a ResultFolder,
    /// The plan; the progress of its runs is noted in it, and written after each.
    pub manifest: &'a mut Manifest,
    /// Whether the drive has lost what earlier executions of the plan did to it, as a simulated one
    /// does with its process: then runs that were done are repeated, and their records left as they
    /// are, so that the rest finds the drive as it would have been.
    pub forgot: bool,
    /// Set to end early: what was done is kept.
    pub stop: &'a AtomicBool,
    /// Is told what happens.
    pub observer: &'a mut dyn Observer,
    /// What else happens on the drive and the machine is recorded from here, for a real drive.
    pub surroundings: Option<&'a Surroundings>,
}

impl<D: Device + ?Sized> Bench<'_, D> {
    /// Enforces the state, executes what is pending, and writes the manifest as it goes.
    ///
    /// An error of the drive ends its run and, as the options say, the rest; a drive that is gone ends
    /// everything. An error of the result folder does, too; what was written before is intact.
    pub fn run(&mut self) -> Result<Status, Error> {
        let outcome = Execution::new(self).run();
        self.manifest.status = match outcome {
            Ok(status) => status,
            Err(Error::ErasesOn) => Status::Interrupted,
            Err(_) => Status::Failed,
        };
        self.manifest.finished = Some(timestamp());
        let written = self.folder.write_manifest(self.manifest);
        // The first error is the cause; a full disk fails both.
        let status = outcome?;
        written?;
        Ok(status)
    }
}
