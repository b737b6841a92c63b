//! Estimates the progress of a plan and the time left.

use flashscope_block::{Bytes, DeviceInfo, DeviceKind, Nanos, Op};
use flashscope_document::conclusion::EvidenceUnit;
use flashscope_document::manifest::{
    Experiment, Manifest, MicroBenchmark, Progress as RunProgress, Run,
};
use flashscope_measure::Observer;
use flashscope_workload::pattern::{Reference, Timing};

use crate::{PartialResult, Progress, Step, Unit};

/// The assumed cost of an IO until the first measurement.
const FIRST_GUESS: Nanos = Nanos::micros(100);

/// Reports the progress of a plan and the time left.
///
/// For a real drive, work is measured in time, from the mean cost of reads and writes so far and
/// the pauses of the plan. With virtual time, work is measured in IOs (for uniform writes, in
/// pages), because pauses cost nothing.
pub(super) struct Ahead<'a> {
    sink: &'a mut dyn Progress,
    /// The current run, in words.
    now: String,
    /// The experiment of the current run.
    experiment: String,
    /// The number of runs that ended.
    ended: u32,
    virtual_time: bool,
    run_pause: Nanos,
    /// Average response times of reads and writes, in ns. Later runs weigh more than earlier runs.
    cost: [f64; 2],
    /// The average ratio of a run's length to its maximum length, for runs that end by precision.
    share: Option<f64>,
    /// The runs after the current one.
    pending: Vec<Run>,
    current: Option<Run>,
    done: f64,
}

/// The assumed ratio of a run's length to its maximum length, until the first run ends.
const FIRST_SHARE: f64 = 0.2;

/// The weight of the last run in the average share.
const SHARE_WEIGHT: f64 = 0.05;

/// Returns true if a run has yet to be executed. A drive that `forgot` its state repeats completed
/// and failed runs.
fn ahead(run: &Run, forgot: bool) -> bool {
    match run.progress {
        RunProgress::Pending | RunProgress::Interrupted { .. } => true,
        RunProgress::Done { .. } | RunProgress::Failed { .. } => forgot,
        RunProgress::Skipped { .. } => false,
    }
}

/// Returns the work of an IO: the mean number of pages for uniform writes, 1 for other IOs.
fn weight(run: &Run) -> f64 {
    match run.reference {
        Reference::Uniform { writes } => f64::from(writes.mean_len),
        _ => 1.0,
    }
}

/// Returns the number of IOs in flight of a blend or of jobs; 1 for other runs.
fn at_once(run: &Run) -> f64 {
    match run.reference {
        Reference::Blend { .. } | Reference::Jobs { .. } => {
            f64::from(run.reference.in_flight().max(1))
        }
        _ => 1.0,
    }
}

impl<'a> Ahead<'a> {
    pub(super) fn new(manifest: &Manifest, forgot: bool, sink: &'a mut dyn Progress) -> Self {
        let DeviceInfo { kind, .. } = manifest.device;
        #[allow(clippy::cast_precision_loss)]
        let guess = FIRST_GUESS.0 as f64;
        Ahead {
            sink,
            now: String::new(),
            experiment: String::new(),
            ended: 0,
            // The work of a test in rounds is measured in time, because its runs end by the clock.
            virtual_time: matches!(kind, DeviceKind::Sim | DeviceKind::Null)
                && manifest.options.rounds.is_none(),
            run_pause: manifest.options.run_pause_ns,
            cost: [guess; 2],
            share: manifest.options.methodology.precision.map(|_| FIRST_SHARE),
            pending: manifest.runs().filter(|run| ahead(run, forgot)).cloned().collect(),
            current: None,
            done: 0.0,
        }
    }

    /// Returns the work of `ios` IOs of a run.
    #[allow(clippy::cast_precision_loss)]
    fn work(&self, run: &Run, ios: u64) -> f64 {
        if self.virtual_time {
            return ios as f64 * weight(run);
        }
        let share_of_writes = if run.reference.writes() { 1 } else { 0 };
        let ios = ios as f64;
        let pauses: f64 = run
            .reference
            .patterns()
            .iter()
            .map(|p| match p.timing {
                Timing::Consecutive => 0.0,
                Timing::Pause { pause } => pause.0 as f64,
                Timing::Burst { pause, burst } => pause.0 as f64 / burst as f64,
            })
            .sum();
        let cost = self.cost[share_of_writes] * weight(run) / at_once(run);
        let work = ios * (cost + pauses);
        match run.reference.time() {
            Some(time) => work.min(time.0 as f64),
            None => work,
        }
    }

    fn whole(&self, run: &Run) -> f64 {
        #[allow(clippy::cast_precision_loss)]
        let pause = if self.virtual_time { 0.0 } else { self.run_pause.0 as f64 };
        self.share.unwrap_or(1.0) * self.work(run, run.reference.io_count()) + pause
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn show(&mut self, ios: u64) {
        let (now, whole) =
            self.current.as_ref().map_or((0.0, 0.0), |run| (self.work(run, ios), self.whole(run)));
        let ahead: f64 = self.pending.iter().map(|run| self.whole(run)).sum();
        self.sink.show(&Step {
            phase: "measuring",
            now: &self.now,
            done: (self.done + now) as u64,
            // The total never falls below the work done, because a run may take longer than the
            // average run.
            total: Some((self.done + whole.max(now) + ahead) as u64),
            unit: Unit::Share,
        });
    }
}

impl Observer for Ahead<'_> {
    fn state(&mut self, done: Bytes, total: Bytes) {
        self.sink.show(&Step {
            phase: "preparing the state of the drive",
            now: "",
            done: done.0,
            total: Some(total.0),
            unit: Unit::Bytes,
        });
    }

    fn run_started(
        &mut self,
        benchmark: &MicroBenchmark,
        experiment: &Experiment,
        run: &Run,
        _now: Nanos,
    ) {
        self.pending.retain(|pending| pending.id != run.id);
        self.current = Some(run.clone());
        let value = benchmark.unit.text(run.value);
        self.now = format!("{} {} {value}", benchmark.name, experiment.name);
        self.experiment.clone_from(&experiment.name);
        self.show(0);
    }

    fn progress(&mut self, ios: u64) {
        self.show(ios);
    }

    fn run_finished(&mut self, run: &Run, ios: u64, took: Nanos) {
        #[allow(clippy::cast_precision_loss)]
        if let Some(share) = &mut self.share {
            let took = ios as f64 / run.reference.io_count().max(1) as f64;
            *share += SHARE_WEIGHT * (took - *share);
        }
        self.done += self.whole(run);
        self.current = None;
        self.ended += 1;
        if ios > 0 && took.0 > 0 {
            #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 IOs")]
            let rate = ios as f64 / took.as_secs_f64();
            self.sink.found(&PartialResult {
                chart: "IOs per second of each run",
                x_axis: "run",
                series: &self.experiment,
                x: self.ended.into(),
                what: &self.now,
                value: rate,
                unit: EvidenceUnit::IosPerSecond,
            });
        }
        let plain = matches!(&run.reference,
            Reference::Basic { pattern } | Reference::Blend { pattern, .. }
            if pattern.timing == Timing::Consecutive);
        let uniform = matches!(run.reference, Reference::Uniform { .. });
        if (plain || uniform) && ios > 0 {
            let writes = run.reference.patterns().first().is_none_or(|p| p.op == Op::Write);
            let write = usize::from(writes);
            #[allow(clippy::cast_precision_loss)]
            let mean = took.0 as f64 / ios as f64 * at_once(run) / weight(run);
            self.cost[write] = 0.5 * (self.cost[write] + mean);
        }
        self.show(0);
    }
}
