//! Progress on standard error, where that is a terminal.

use flashscope_block::{Bytes, DeviceInfo, DeviceKind, Nanos, Op};
use flashscope_drive::Clock;
use flashscope_measure::{Observer, Phase};
use flashscope_result::manifest::{Experiment, Manifest, MicroBenchmark, Progress, Run};
use flashscope_workload::pattern::{Reference, Timing};
use indicatif::{ProgressBar, ProgressStyle};

/// What an IO is taken to cost until the first was measured.
const FIRST_GUESS: Nanos = Nanos::micros(100);

fn empty_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = "{percent:>3} % {wide_msg} {bar:24} {eta:>4} left";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is well formed"));
    bar
}

/// Progress of what is mostly done before one could read it: shown only after a while.
pub struct LateBar {
    clock: Clock,
    begun: Nanos,
    shown: Option<(ProgressBar, String)>,
}

/// After so long, progress is shown.
const PATIENCE: Nanos = Nanos::secs(2);

/// What a phase of a session is called.
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Fill => "filling the drive",
        Phase::WarmUp => "warming up",
        Phase::Measure => "measuring",
    }
}

impl LateBar {
    pub fn new() -> LateBar {
        let clock = Clock::new();
        LateBar { begun: clock.now(), clock, shown: None }
    }

    /// So much of `what` is done, of how much, where that is known.
    pub fn show(&mut self, what: &str, done: u64, total: Option<u64>) {
        let Some(bar) = self.bar(what) else { return };
        match total {
            Some(total) => {
                bar.set_message(what.to_owned());
                bar.set_length(total);
                bar.set_position(done);
            }
            None => bar.set_message(format!("{what}: {} so far", Bytes(done))),
        }
    }

    /// So many of `what` there are, of nobody knows how many.
    pub fn show_count(&mut self, what: &str, count: u64) {
        if let Some(bar) = self.bar(what) {
            bar.set_message(format!("{what}: {count} so far"));
        }
    }

    /// The bar of a phase, once there is one.
    fn bar(&mut self, what: &str) -> Option<&ProgressBar> {
        if self.shown.is_none() && self.clock.now() < self.begun + PATIENCE {
            return None;
        }
        let (bar, shown) = self.shown.get_or_insert_with(|| (empty_bar(), what.into()));
        if *shown != what {
            // The time that is left follows from what this phase alone has taken.
            bar.reset();
            *shown = what.into();
        }
        Some(bar)
    }

    pub fn finish(&self) {
        if let Some((bar, _)) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

/// Shows how far a plan is and how long it will take.
///
/// On a real drive the work ahead is counted in time, from what reads and writes cost so far and
/// the pauses of the plan; on virtual time pauses cost nothing, so it is counted in IOs.
pub struct Bar {
    bar: ProgressBar,
    virtual_time: bool,
    run_pause: Nanos,
    /// Mean response times of reads and writes so far, in ns.
    cost: [f64; 2],
    /// Of what runs may take whose length is found, the share that they took so far.
    share: Option<f64>,
    /// What is left after the current run, in the unit of the bar.
    pending: Vec<Run>,
    current: Option<Run>,
    done: f64,
}

/// The share that runs whose length is found are taken to take of what they may, until the first did.
const FIRST_SHARE: f64 = 0.2;

/// How much the last run tells of those to come.
const SHARE_WEIGHT: f64 = 0.05;

/// Whether a run is ahead of a benchmark, on a drive that `forgot` runs that are done or not.
fn ahead(run: &Run, forgot: bool) -> bool {
    match run.progress {
        Progress::Pending | Progress::Interrupted { .. } => true,
        Progress::Done { .. } | Progress::Failed { .. } => forgot,
        Progress::Skipped { .. } => false,
    }
}

/// How much work an IO of a run is: of writes of many lengths the pages of the mean, of others one.
fn weight(run: &Run) -> f64 {
    match run.reference {
        Reference::Uniform { writes } => f64::from(writes.mean_len),
        _ => 1.0,
    }
}

/// How many IOs a run whose length is counted in time has in flight.
fn at_once(run: &Run) -> f64 {
    match run.reference {
        Reference::Blend { queue_depth, .. } => f64::from(queue_depth.max(1)),
        _ => 1.0,
    }
}

impl Bar {
    pub fn new(manifest: &Manifest, forgot: bool) -> Bar {
        let DeviceInfo { kind, .. } = manifest.device;
        let bar = empty_bar();
        #[allow(clippy::cast_precision_loss)]
        let guess = FIRST_GUESS.0 as f64;
        Bar {
            bar,
            // Runs that end by the clock are counted by it.
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

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// What `ios` IOs of a run cost, in the unit of the bar.
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
    fn show(&self, ios: u64) {
        let (now, whole) =
            self.current.as_ref().map_or((0.0, 0.0), |run| (self.work(run, ios), self.whole(run)));
        let ahead: f64 = self.pending.iter().map(|run| self.whole(run)).sum();
        self.bar.set_length((self.done + whole + ahead) as u64);
        self.bar.set_position((self.done + now) as u64);
    }
}

impl Observer for Bar {
    fn state(&mut self, done: Bytes, total: Bytes) {
        self.bar.set_message("bringing the drive into its state");
        self.bar.set_length(total.0);
        self.bar.set_position(done.0);
        if done == total {
            self.bar.reset();
        }
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
        self.bar.set_message(format!("{} {} {value}", benchmark.name, experiment.name));
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
