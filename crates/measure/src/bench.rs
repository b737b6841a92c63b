use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Completion, Device, Errno, Nanos, Record};
use flashscope_result::environment::Conditions;
use flashscope_result::manifest::{Experiment, Manifest, MicroBenchmark, OnError, Progress, Run};
use flashscope_result::manifest::{State, Status};
use flashscope_result::{Recorder, ResultFolder};
use flashscope_workload::Stream;
use flashscope_workload::state::{Purge, RandomFill, SequentialFill};

use crate::execute::{Ended, PROGRESS_INTERVAL, execute, fill};
use crate::surroundings::{Asked, Snapshot, Surroundings};
use crate::{order, timestamp};

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
    #[error("cannot bring the drive into its state: {errno} at {offset}{}", hint(*errno))]
    State {
        /// What failed.
        errno: Errno,
        /// Where.
        offset: Bytes,
    },
}

fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EOPNOTSUPP => {
            "; a drive that knows no trims cannot be purged, choose another --state"
        }
        _ => "",
    }
}

/// Is told what happens while a plan is executed.
pub trait Observer {
    /// So much of the state of the drive is enforced.
    fn state(&mut self, done: Bytes, total: Bytes);
    /// A run begins.
    fn run_started(&mut self, benchmark: &MicroBenchmark, experiment: &Experiment, run: &Run);
    /// So many IOs of the current run are answered.
    fn progress(&mut self, ios: u64);
    /// The current run ended after so many IOs, for better or worse, and so long on the clock of the
    /// drive.
    fn run_finished(&mut self, run: &Run, ios: u64, took: Nanos);
}

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
    /// An error of the drive ends its run and, as the options say, the rest. An error of the result
    /// folder ends everything; what was written before is intact.
    pub fn run(&mut self) -> Result<Status, Error> {
        let outcome = self.run_plan();
        self.manifest.status = match outcome {
            Ok(status) => status,
            Err(_) => Status::Failed,
        };
        self.manifest.finished = Some(timestamp());
        let written = self.folder.write_manifest(self.manifest);
        // The first error is the cause; a full disk fails both.
        let status = outcome?;
        written?;
        Ok(status)
    }

    fn run_plan(&mut self) -> Result<Status, Error> {
        if self.enforce_state()? == Ended::Interrupted {
            return Ok(Status::Interrupted);
        }
        let mut recorder = self.folder.recorder();
        for id in order(&self.manifest.micro_benchmarks) {
            let over = self.manifest.run_mut(id).is_some_and(|run| {
                matches!(run.progress, Progress::Done { .. } | Progress::Failed { .. })
            });
            if over && !self.forgot {
                continue;
            }
            let before = self.surroundings.map(Surroundings::snapshot);
            self.pause();
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Status::Interrupted);
            }
            if over {
                match self.execute_one(id, None, |_| Ok(()))? {
                    Some(Executed { ended: Ended::Interrupted, .. }) => {
                        return Ok(Status::Interrupted);
                    }
                    _ => continue,
                }
            }
            let (progress, conditions) = self.run_one(id, &mut recorder, before.as_ref())?;
            if let Some(run) = self.manifest.run_mut(id) {
                run.progress = progress.clone();
                run.conditions = conditions;
            }
            self.folder.write_manifest(self.manifest)?;
            match progress {
                Progress::Interrupted { .. } => return Ok(Status::Interrupted),
                Progress::Failed { .. } if self.manifest.options.on_error == OnError::Stop => {
                    return Ok(Status::Failed);
                }
                _ => {}
            }
        }
        Ok(Status::Complete)
    }

    /// Lets the drive rest between runs, in steps, so that an interruption does not wait for it.
    fn pause(&mut self) {
        let pause = self.manifest.options.run_pause_ns;
        let end = Nanos(self.device.now().0.saturating_add(pause.0));
        while self.device.now() < end && !self.stop.load(Ordering::Relaxed) {
            let step = Nanos(self.device.now().0.saturating_add(PROGRESS_INTERVAL.0));
            self.device.idle_until(step.min(end));
        }
    }

    /// Executes a run, keeping its records. `before` is what the surroundings were like before the
    /// pause.
    fn run_one(
        &mut self,
        id: u32,
        recorder: &mut Recorder,
        before: Option<&Snapshot>,
    ) -> Result<(Progress, Option<Conditions>), Error> {
        recorder.begin(id)?;
        let executed = self.execute_one(id, before, |record| recorder.push(record))?;
        let Some(Executed { planned, ended, conditions }) = executed else {
            return Ok((Progress::Pending, None));
        };
        let ios = recorder.end()?;
        if ended == Ended::Complete && ios < planned {
            return Err(Error::Short { ios, planned });
        }
        let progress = match ended {
            Ended::Complete => Progress::Done { ios },
            Ended::Interrupted => Progress::Interrupted { ios },
            Ended::Failed { errors, errno, offset } => {
                let error = errno.to_string();
                Progress::Failed { ios, errors, errno, error, offset_bytes: offset }
            }
        };
        Ok((progress, conditions))
    }

    /// Executes a run of the plan, if there is such a one, and gives each IO to `keep`.
    fn execute_one(
        &mut self,
        id: u32,
        before: Option<&Snapshot>,
        mut keep: impl FnMut(&Record) -> Result<(), flashscope_result::Error>,
    ) -> Result<Option<Executed>, Error> {
        let Some((benchmark, experiment, run)) = find(&self.manifest.micro_benchmarks, id) else {
            return Ok(None);
        };
        self.observer.run_started(benchmark, experiment, run);
        let (depth, open_loop) = (run.reference.queue_depth(), run.reference.is_open_loop());
        let mut streams = run.reference.streams()?;
        let surroundings = self.surroundings;
        let began = surroundings.map(Surroundings::snapshot);
        let start = self.device.now();
        let (mut asked, mut tell_at) = (Asked::default(), start + PROGRESS_INTERVAL);
        let observer = &mut *self.observer;
        let ended =
            execute(self.device, &mut streams, depth, self.stop, |_, completion: &Completion| {
                asked.add(completion);
                if completion.completed >= tell_at {
                    tell_at = completion.completed + PROGRESS_INTERVAL;
                    observer.progress(asked.ios);
                }
                keep(&match open_loop {
                    true => Record::open_loop(completion, start),
                    false => Record::new(completion, start),
                })
            })?;
        let took = Nanos(self.device.now().0 - start.0);
        // What is still to be recorded is written after this, perhaps to the same drive.
        let conditions =
            surroundings.zip(before).zip(began).map(|((surroundings, before), began)| {
                surroundings.conditions([before, &began, &surroundings.snapshot()], asked)
            });
        self.observer.run_finished(run, asked.ios, took);
        Ok(Some(Executed { planned: run.reference.io_count(), ended, conditions }))
    }

    fn enforce_state(&mut self) -> Result<Ended, Error> {
        let setup = &self.manifest.options.setup;
        let (offset, size) = (setup.target_offset, setup.target_size);
        let block = self.device.info().logical_block;
        let stream: Box<dyn Stream + Send> = match self.manifest.options.state {
            State::Keep => return Ok(Ended::Complete),
            State::Purged => Box::new(Purge::new(offset, size)),
            State::Sequential => Box::new(SequentialFill::new(offset, size)),
            State::Random => Box::new(RandomFill::new(offset, size, block, setup.seed)),
        };
        let observer = &mut *self.observer;
        let ended = fill(self.device, stream, self.stop, |done| observer.state(done, size));
        match ended {
            Ended::Failed { errno, offset, .. } => Err(Error::State { errno, offset }),
            ended => Ok(ended),
        }
    }
}

/// A run that was executed.
struct Executed {
    /// How many IOs it was to have.
    planned: u64,
    ended: Ended,
    conditions: Option<Conditions>,
}

fn find(plan: &[MicroBenchmark], id: u32) -> Option<(&MicroBenchmark, &Experiment, &Run)> {
    plan.iter().find_map(|benchmark| {
        benchmark.experiments.iter().find_map(|experiment| {
            let run = experiment.runs.iter().find(|run| run.id == id)?;
            Some((benchmark, experiment, run))
        })
    })
}
