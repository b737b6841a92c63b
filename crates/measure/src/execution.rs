use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use flashscope_block::{Bytes, Device, Erasure, Io, Nanos, Record};
use flashscope_document::environment::Conditions;
use flashscope_document::manifest::{
    Enforcing, MicroBenchmark, OnError, Progress, ResourceUse, Status, find_run,
};
use flashscope_document::methodology::Length;
use flashscope_document::rounds::Totals;
use flashscope_result::Recorder;
use flashscope_workload::Stream;
use flashscope_workload::pattern::Reference;
use flashscope_workload::uflip;

use crate::bench::{Bench, Error, forgets};
use crate::execute::{
    FILL_DEPTH, FailedIo, PROGRESS_INTERVAL, RunEnd, execute, execute_streams, step_towards,
};
use crate::length::{Aim, Limits, Watch};
use crate::level::{LevelDetector, LevelOutcome};
use crate::placement::{Placer, restore};
use crate::rounds::{self, Meter};
use crate::state::{StateSize, eraser, erasure, rest_after_state, state_fill};
use crate::surroundings::{IoCount, Snapshot, Surroundings};
use crate::{findings, order, plan};

/// The interval at which the progress of a fill is saved, on the clock of the drive. A crash loses
/// at most this much.
const NOTE_INTERVAL: Nanos = Nanos::secs(10);

/// The number of IOs before the saved progress that may be incomplete: an upper bound for the IOs
/// in flight.
const IN_FLIGHT: u64 = 1024;

/// A plan in execution.
pub(crate) struct Execution<'b, 'a, D: Device + ?Sized> {
    bench: &'b mut Bench<'a, D>,
    /// Time and bytes that earlier executions of the plan consumed.
    before: ResourceUse,
    /// The start of this execution on the clock of the drive.
    began: Nanos,
    written: Bytes,
    /// True if nothing was written since the state was enforced.
    fresh: bool,
    /// The pause between runs, once it is known.
    pause: Option<Nanos>,
    /// Assigns target spaces to the runs of uFLIP's micro-benchmarks; `None` for other plans.
    placer: Option<Placer>,
}

impl<'b, 'a, D: Device + ?Sized> Execution<'b, 'a, D> {
    pub(crate) fn new(bench: &'b mut Bench<'a, D>) -> Self {
        let before = if bench.forgot { ResourceUse::default() } else { bench.manifest.spent };
        let began = bench.device.now();
        // Repeated runs must use the pauses of the first execution.
        let finds = bench.manifest.options.methodology.finds_run_pause && !bench.forgot;
        let found = findings::run_pause(&bench.manifest.findings).filter(|_| finds);
        let (written, fresh) = (Bytes(0), false);
        let placed = |benchmark: &MicroBenchmark| uflip::find(&benchmark.name).is_some();
        let placer = bench.manifest.micro_benchmarks.iter().any(placed);
        let placer = placer.then(|| Placer::new(&bench.manifest.options));
        Execution { bench, before, began, written, fresh, pause: found, placer }
    }

    pub(crate) fn run(&mut self) -> Result<Status, Error> {
        let under_way = !self.bench.forgot && rounds::begun(self.bench.manifest);
        if !under_way && self.enforce_state()? == RunEnd::Interrupted {
            return Ok(Status::Interrupted);
        }
        let mut recorder = self.bench.folder.recorder();
        for id in order(&self.bench.manifest.micro_benchmarks) {
            let Some(run) = self.bench.manifest.run_mut(id) else { continue };
            // An earlier run has ended the test that this run belongs to.
            if matches!(run.progress, Progress::Skipped { .. }) {
                continue;
            }
            let over = matches!(run.progress, Progress::Done { .. } | Progress::Failed { .. });
            if over && !self.bench.forgot {
                continue;
            }
            if !over && !self.is_ready(id)? {
                continue;
            }
            let status = self.reset(id)?;
            let status = match status {
                Some(status) => Some(status),
                None if over => self.repeat(id)?,
                None => self.measure(id, &mut recorder)?,
            };
            self.follow(id);
            if let Some(status) = status {
                return Ok(status);
            }
        }
        Ok(Status::Complete)
    }

    /// Prepares a pending run: applies the findings, and gives it a target space. Returns false if
    /// the run must not start, because the budget is exhausted, its test is over, or the space is
    /// too small.
    fn is_ready(&mut self, id: u32) -> Result<bool, Error> {
        if let Some(reason) = self.exhausted(Bytes(0)) {
            return self.skip(id, reason).map(|()| false);
        }
        if let Some(reason) = rounds::over(self.bench.manifest, id) {
            rounds::end(self.bench.manifest, &reason);
            self.bench.folder.write_manifest(self.bench.manifest)?;
            return Ok(false);
        }
        self.adapt(id);
        self.place(id)
    }

    /// Gives a pending run its target space. Returns false if it was skipped.
    fn place(&mut self, id: u32) -> Result<bool, Error> {
        let Some(placer) = &mut self.placer else { return Ok(true) };
        let found = plan::find(&mut self.bench.manifest.micro_benchmarks, id);
        let Some((run, keeps_size)) = found else { return Ok(false) };
        placer.place(run, keeps_size);
        let (reset, skipped) = (run.reset, matches!(run.progress, Progress::Skipped { .. }));
        if skipped {
            self.note_unknown(id);
            self.bench.folder.write_manifest(self.bench.manifest)?;
            return Ok(false);
        }
        let state = StateSize::of(&self.bench.manifest.options).written;
        match self.exhausted(state).filter(|_| reset && !self.fresh) {
            Some(reason) => self.skip(id, reason).map(|()| false),
            None => Ok(true),
        }
    }

    /// Enforces the state before run `id` if the plan says so and the state is not fresh. Returns
    /// the final status if that ends the execution.
    fn reset(&mut self, id: u32) -> Result<Option<Status>, Error> {
        let reset = self.bench.manifest.run_mut(id).is_some_and(|run| run.reset);
        let interrupted = reset && !self.fresh && self.enforce_state()? == RunEnd::Interrupted;
        Ok(interrupted.then_some(Status::Interrupted))
    }

    /// Updates the pause between runs, if run `id` measured it.
    fn follow(&mut self, id: u32) {
        let manifest = &*self.bench.manifest;
        let mut looks = manifest.findings.interference.iter();
        let found =
            looks.find(|found| found.run == id && manifest.options.methodology.finds_run_pause);
        self.pause = found.map(|found| found.run_pause_ns).or(self.pause);
    }

    /// Repeats a run on a drive that has lost the effects of the run. Returns the final status if
    /// the repetition ends the execution.
    fn repeat(&mut self, id: u32) -> Result<Option<Status>, Error> {
        if !self.rest(self.run_pause()) {
            return Ok(Some(Status::Interrupted));
        }
        let executed = self.execute(id, None, None)?;
        self.note(id, None);
        Ok(executed.and_then(|executed| match executed.ended {
            RunEnd::Interrupted => Some(Status::Interrupted),
            RunEnd::Failed { gone: true, .. } => Some(Status::Failed),
            RunEnd::Complete | RunEnd::Failed { .. } => None,
        }))
    }

    /// Measures a pending run. Returns the final status if it ends the execution.
    fn measure(&mut self, id: u32, recorder: &mut Recorder) -> Result<Option<Status>, Error> {
        let mut disturbed_before = None;
        loop {
            let before = self.bench.surroundings.map(Surroundings::snapshot);
            if !self.rest(self.run_pause()) {
                return Ok(Some(Status::Interrupted));
            }
            let Some((progress, executed)) = self.record(id, before.as_ref(), recorder)? else {
                return Ok(None);
            };
            let mut conditions = executed.conditions;
            let disturbed = conditions.as_ref().is_some_and(|c| !c.disturbed_by.is_empty());
            let again = disturbed && executed.ended == RunEnd::Complete;
            if again && disturbed_before.is_none() {
                // Repeat only once: if the disturbance is permanent, the benchmark still finishes
                // and reports it.
                disturbed_before = conditions.map(|conditions| conditions.disturbed_by);
                self.bench.folder.discard_unfinished(self.bench.manifest)?;
                self.note(id, Some(progress.ios()));
                // The first attempt has disturbed the target space.
                if !self.place(id)? {
                    return Ok(None);
                }
                if let Some(status) = self.reset(id)? {
                    return Ok(Some(status));
                }
                continue;
            }
            if let Some(conditions) = &mut conditions {
                conditions.repeated_as_disturbed_by = disturbed_before.unwrap_or_default();
            }
            let spent = self.spent();
            let manifest = &mut *self.bench.manifest;
            manifest.spent = spent;
            if let Some(run) = manifest.run_mut(id) {
                run.progress = progress.clone();
                (run.conditions, run.length) = (conditions, executed.length);
                executed.leveled.into_iter().for_each(|leveled| leveled.note(run));
                executed.ramp_ios.into_iter().for_each(|ios| run.reference.end_ramp(ios));
            }
            self.note(id, None);
            self.learn(id, &executed.series, executed.totals);
            self.bench.folder.write_manifest(self.bench.manifest)?;
            let gone = matches!(executed.ended, RunEnd::Failed { gone: true, .. });
            let stops = gone || self.bench.manifest.options.on_error == OnError::Stop;
            return Ok(match progress {
                Progress::Interrupted { .. } => Some(Status::Interrupted),
                Progress::Failed { .. } if stops => Some(Status::Failed),
                _ => None,
            });
        }
    }

    /// Marks in the disturbance map the ranges that the first `ios` IOs of run `id` have written.
    /// Without `ios`, all recorded IOs count.
    fn note(&mut self, id: u32, ios: Option<u64>) {
        let run = self.bench.manifest.runs().find(|run| run.id == id);
        if let Some((placer, run)) = self.placer.as_mut().zip(run) {
            placer.executed(run, ios.unwrap_or(run.progress.ios()));
        }
    }

    /// Applies the findings to a pending run. The preparation itself stays as planned.
    fn adapt(&mut self, id: u32) {
        let manifest = &mut *self.bench.manifest;
        let found = find_run(&manifest.micro_benchmarks, id);
        let prepares = found.is_some_and(|(benchmark, ..)| benchmark.prepares());
        if prepares || !manifest.options.methodology.finds_io_ignore {
            return;
        }
        let findings = std::mem::take(&mut manifest.findings);
        manifest.run_mut(id).into_iter().for_each(|run| {
            restore(run);
            findings::adapt(&findings, run);
        });
        manifest.findings = findings;
    }

    /// Updates the findings with a completed run.
    fn learn(&mut self, id: u32, series: &[f64], totals: Option<Totals>) {
        let manifest = &mut *self.bench.manifest;
        let found = find_run(&manifest.micro_benchmarks, id);
        let Some((benchmark, experiment, run)) = found else { return };
        if !matches!(run.progress, Progress::Done { .. }) {
            self.note_unknown(id);
            return;
        }
        let methodology = &manifest.options.methodology;
        if benchmark.prepares() && methodology.finds() {
            findings::learn(&mut manifest.findings, &experiment.name, run, series);
            let findings = std::mem::take(&mut manifest.findings);
            if methodology.finds_io_ignore {
                let run = manifest.run_mut(id);
                run.into_iter().for_each(|run| findings::ignore_start_up(&findings, run));
            }
            manifest.findings = findings;
        }
        self.note_unknown(id);
        let manifest = &mut *self.bench.manifest;
        totals.into_iter().for_each(|totals| rounds::keep(manifest, totals));
    }

    /// Adds the quantities that a preparation run could not determine to the findings.
    fn note_unknown(&mut self, id: u32) {
        let manifest = &mut *self.bench.manifest;
        let Some((benchmark, experiment, run)) = find_run(&manifest.micro_benchmarks, id) else {
            return;
        };
        if !benchmark.prepares()
            || !manifest.options.methodology.finds()
            || matches!(run.progress, Progress::Pending | Progress::Interrupted { .. })
        {
            return;
        }
        let unknown = findings::unknown(&manifest.findings, &experiment.name, run);
        manifest.findings.unknown.retain(|other| other.run != id);
        manifest.findings.unknown.extend(unknown);
    }

    /// Returns what the plan has consumed so far.
    fn spent(&self) -> ResourceUse {
        let time = self.bench.device.now().since(self.began);
        ResourceUse { time_ns: self.before.time_ns + time, bytes: self.before.bytes + self.written }
    }

    /// Returns the reason to stop if the budget is exhausted, or would be after another `more`
    /// bytes.
    fn exhausted(&self, more: Bytes) -> Option<String> {
        let (budget, spent) = (self.bench.manifest.options.methodology.budget, self.spent());
        if let Some(time) = budget.time_ns.filter(|time| spent.time_ns >= *time) {
            return Some(format!("the time budget, {time}, is used up"));
        }
        let bytes = budget.bytes.filter(|bytes| spent.bytes + more >= *bytes)?;
        Some(format!("the write budget, {bytes}, is used up"))
    }

    fn limits(&self) -> Limits {
        let methodology = &self.bench.manifest.options.methodology;
        let (budget, spent) = (methodology.budget, self.spent());
        let left = |most: Option<u64>, spent: u64| {
            most.map_or(u64::MAX, |most| most.saturating_sub(spent))
        };
        let time = Nanos(left(budget.time_ns.map(|time| time.0), spent.time_ns.0));
        let bytes = Bytes(left(budget.bytes.map(|bytes| bytes.0), spent.bytes.0));
        Limits::of(methodology, Limits { time, bytes })
    }

    fn skip(&mut self, id: u32, reason: String) -> Result<(), Error> {
        if let Some(run) = self.bench.manifest.run_mut(id) {
            run.progress = Progress::Skipped { reason };
        }
        self.note_unknown(id);
        Ok(self.bench.folder.write_manifest(self.bench.manifest)?)
    }

    /// Returns the measured pause between runs, or the configured pause until a run has measured
    /// it.
    fn run_pause(&self) -> Nanos {
        self.pause.unwrap_or(self.bench.manifest.options.run_pause_ns)
    }

    /// Leaves the drive idle for `pause`, in short steps. Returns `false` if the user interrupts
    /// the pause.
    fn rest(&mut self, pause: Nanos) -> bool {
        let Bench { device, stop, .. } = &mut *self.bench;
        let start = device.now();
        let end = Nanos(start.0.saturating_add(pause.0));
        // If the clock goes back, stop waiting rather than wait for longer than the pause.
        while (start..end).contains(&device.now()) && !stop.load(Ordering::Relaxed) {
            let step = step_towards(&**device, end);
            device.idle_until(step);
        }
        !stop.load(Ordering::Relaxed)
    }

    /// Executes a run and records it. `before` is a snapshot of the surroundings from before the
    /// pause.
    fn record(
        &mut self,
        id: u32,
        before: Option<&Snapshot>,
        recorder: &mut Recorder,
    ) -> Result<Option<(Progress, RunOutcome)>, Error> {
        recorder.begin(id)?;
        let Some(executed) = self.execute(id, before, Some(recorder))? else { return Ok(None) };
        let ios = recorder.end()?;
        let planned = executed.planned;
        if executed.ended == RunEnd::Complete && executed.length.is_none() && ios < planned {
            return Err(Error::Short { ios, planned });
        }
        let progress = match executed.ended {
            RunEnd::Complete => Progress::Done { ios },
            RunEnd::Interrupted => Progress::Interrupted { ios },
            RunEnd::Failed { errors, first: FailedIo { errno, offset, .. }, .. } => {
                let error = errno.to_string();
                Progress::Failed { ios, errors, errno, error, offset_bytes: offset }
            }
        };
        Ok(Some((progress, executed)))
    }

    /// Executes a run of the plan and passes each IO to the recorder. Returns `None` if the plan
    /// has no run `id`.
    fn execute(
        &mut self,
        id: u32,
        before: Option<&Snapshot>,
        mut recorder: Option<&mut Recorder>,
    ) -> Result<Option<RunOutcome>, Error> {
        let mut limits = self.limits();
        let Bench { device, manifest, stop, observer, surroundings, .. } = &mut *self.bench;
        let found = find_run(&manifest.micro_benchmarks, id);
        let Some((benchmark, experiment, run)) = found else { return Ok(None) };
        observer.run_started(benchmark, experiment, run, device.now());
        let prepares = benchmark.prepares();
        let (depths, open_loop) = (run.reference.queue_depths(), run.reference.is_open_loop());
        limits.time = run.reference.time().map_or(limits.time, |time| time.min(limits.time));
        let enough = Cell::new(false);
        let streams = flashscope_trace::streams(&run.reference)?.into_iter();
        let mut streams: Vec<_> = streams.map(|stream| Until { stream, enough: &enough }).collect();
        let began = surroundings.map(Surroundings::snapshot);
        let start = device.now();
        let period = findings::period(&manifest.findings, &run.reference);
        // The preparation looks for late effects, so it keeps its planned length.
        let precision = manifest.options.methodology.precision.filter(|_| !prepares);
        let aim = match (&manifest.options.grid, &run.reference) {
            (Some(rule), Reference::Uniform { writes }) => {
                Aim::Level(Box::new(LevelDetector::new(rule, writes, precision, device.flash())))
            }
            (_, reference) => Aim::statistic(
                precision,
                period,
                findings::least_ios(&manifest.findings, reference),
            ),
        };
        let mut watch = Watch::new(aim, limits, (run.reference.io_ignore(), period), start);
        watch.is_cut = run.cut_from_ios.is_some();
        let mut series = Vec::new();
        let mut meter = manifest.options.rounds.as_ref().map(|_| Meter::default());
        let (mut own, mut tell_at) = (IoCount::default(), start + PROGRESS_INTERVAL);
        let (ramp_ends, mut ramp_ios) = (run.reference.ramp().map(|ramp| start + ramp), 0);
        // The host queues the IOs beyond the queue depth of the drive.
        let queued = run.reference.queues_in_host(device.info().queue_depth);
        let ended =
            execute_streams(&mut **device, &mut streams, &depths, stop, |device, completion| {
                own.add(completion);
                ramp_ios += u64::from(ramp_ends.is_some_and(|end| completion.completed < end));
                if let Some(meter) = &mut meter {
                    meter.take(completion);
                }
                if completion.completed >= tell_at {
                    tell_at = completion.completed + PROGRESS_INTERVAL;
                    observer.progress(own.ios);
                }
                let whole = if queued { completion.from_host() } else { *completion };
                if watch.take(&whole, || device.flash()) {
                    enough.set(true);
                }
                if prepares {
                    #[allow(clippy::cast_precision_loss)] // far below 2^53 ns
                    series.push(completion.latency().0 as f64);
                }
                let Some(recorder) = &mut recorder else { return Ok(()) };
                recorder.push(&match (open_loop, queued) {
                    (true, _) => Record::open_loop(completion, start),
                    (false, true) => Record::host_queued(completion, start),
                    (false, false) => Record::new(completion, start),
                })
            })?;
        let took = device.now().since(start);
        // The remaining records are written after this snapshot, perhaps to the same drive.
        let conditions =
            surroundings.zip(before).zip(began).map(|((surroundings, before), began)| {
                surroundings.conditions([before, &began, &surroundings.snapshot()], own)
            });
        observer.run_finished(run, own.ios, took);
        let planned = run.reference.min_io_count();
        self.written += watch.written();
        self.fresh &= watch.written() == Bytes(0);
        let (length, totals) = (watch.length(), meter.map(|meter| meter.totals(id)));
        let leveled = watch.level(device.flash());
        let ramp_ios = ramp_ends.map(|_| ramp_ios);
        Ok(Some(RunOutcome {
            planned,
            ended,
            length,
            leveled,
            series,
            totals,
            conditions,
            ramp_ios,
        }))
    }

    /// Brings the drive into its state and then leaves it idle.
    fn enforce_state(&mut self) -> Result<RunEnd, Error> {
        let began = self.bench.device.now();
        let ended = match erasure(self.bench.manifest.options.state) {
            Some(erasure) => self.erase(erasure)?,
            None => match self.fill()? {
                Some(ended) => ended,
                None => return Ok(RunEnd::Complete),
            },
        };
        self.fresh = true;
        self.placer.iter_mut().for_each(Placer::state_enforced);
        let rest = rest_after_state(self.bench.device.now().since(began), self.run_pause());
        let rested = ended == RunEnd::Interrupted || self.rest(rest);
        Ok(if rested { ended } else { RunEnd::Interrupted })
    }

    /// Fills or trims the drive for its state, continuing an interrupted fill. Returns `None` if
    /// the state needs neither.
    fn fill(&mut self) -> Result<Option<RunEnd>, Error> {
        let forgot = self.bench.forgot;
        // A drive that loses its contents starts the fill again, whatever progress the manifest
        // holds.
        let keeps = !forgets(self.bench.device.info());
        let Bench { device, manifest, stop, observer, folder, .. } = &mut *self.bench;
        let block = device.info().logical_block;
        let Some(mut fill) = state_fill(&manifest.options, block) else { return Ok(None) };
        let whole = StateSize::of(&manifest.options);
        let size = whole.trimmed + whole.written;
        let mut done = manifest.enforcing.filter(|_| !forgot).unwrap_or_default();
        skip(&mut done, &mut fill);
        let (left_before, depth) = (done.bytes, device.info().queue_depth.min(FILL_DEPTH));
        let (mut tell_at, mut note_at) = (Nanos(0), device.now() + NOTE_INTERVAL);
        let ended = execute(&mut **device, &mut [fill], depth, stop, |_, completion| {
            (done.ios, done.bytes) = (done.ios + 1, done.bytes + completion.io.len);
            if completion.completed >= tell_at {
                tell_at = completion.completed + PROGRESS_INTERVAL;
                observer.state(done.bytes, size);
            }
            if !keeps || completion.completed < note_at {
                return Ok(());
            }
            note_at = completion.completed + NOTE_INTERVAL;
            manifest.enforcing = Some(done);
            folder.write_manifest(manifest)
        })?;
        observer.state(done.bytes, size);
        self.written += whole.written_of(done.bytes) - whole.written_of(left_before);
        manifest.enforcing = Some(done).filter(|_| ended != RunEnd::Complete);
        match ended {
            RunEnd::Failed { first, .. } => Err(Error::State(first)),
            ended => Ok(Some(ended)),
        }
    }

    /// Makes the drive erase itself.
    fn erase(&mut self, erasure: Erasure) -> Result<RunEnd, Error> {
        let Bench { device, manifest, stop, observer, .. } = &mut *self.bench;
        if stop.load(Ordering::Relaxed) {
            return Ok(RunEnd::Interrupted);
        }
        let size = manifest.options.setup.target_size;
        observer.state(Bytes(0), size);
        let mut tell = |done: u64, of: u64| {
            observer.state(Bytes(size.0 / of.max(1) * done), size);
            match stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        // Check again: other namespaces may have appeared since the last check.
        let left = eraser(&**device, &manifest.options, erasure)?.erase(&mut tell)?;
        match left {
            ControlFlow::Break(()) => Err(Error::StillErasing),
            ControlFlow::Continue(()) => {
                observer.state(size, size);
                Ok(RunEnd::Complete)
            }
        }
    }
}

/// Skips the finished part of an interrupted fill, except for IOs that may have been in flight.
fn skip(done: &mut Enforcing, fill: &mut dyn Stream) {
    let ios = done.ios.saturating_sub(IN_FLIGHT);
    *done = Enforcing::default();
    while done.ios < ios
        && let Some(io) = fill.next(Nanos(0))
    {
        (done.ios, done.bytes) = (done.ios + 1, done.bytes + io.len);
    }
}

/// A stream that ends once `enough` is set.
pub(crate) struct Until<'a, S> {
    pub stream: S,
    pub enough: &'a Cell<bool>,
}

impl<S: Stream> Stream for Until<'_, S> {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        if self.enough.get() { None } else { self.stream.next(previous) }
    }
}

/// The result of an executed run.
struct RunOutcome {
    /// The minimum number of IOs of a run that does not end early.
    planned: u64,
    ended: RunEnd,
    length: Option<Length>,
    /// For a grid: whether and when the drive reached its level.
    leveled: Option<LevelOutcome>,
    /// Response times in ns; filled for the preparation only.
    series: Vec<f64>,
    /// The totals of the run, for a test in rounds.
    totals: Option<Totals>,
    conditions: Option<Conditions>,
    /// For jobs with a ramp: the number of IOs that completed during the ramp.
    ramp_ios: Option<u64>,
}
