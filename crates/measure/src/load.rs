//! Runs a workload on a drive: fills the drive, warms it up until it is steady, and measures.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Completion, Device, Io, Nanos, Op, ZoneLimits};
use flashscope_stats::Summary;
use flashscope_workload::Stream;
use flashscope_workload::state::{InitialContents, RandomFill, SequentialFill};
use flashscope_workload::steady_fill::SteadyFill;

use crate::execute::{RunEnd, execute, execute_by, fill};
use crate::steady::STEADY;
use crate::warm_up::WarmUp;

/// The number of IOs between progress reports.
const TELL_EVERY: u64 = 1 << 12;

/// The length of the measurement, unless the workload ends earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// This many IOs.
    Ios(u64),
    /// This long on the clock of the drive.
    Time(Nanos),
    /// Until the workload ends.
    Whole,
}

/// The settings of a load session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// The initial contents of the drive.
    pub fill: InitialContents,
    /// The length of the warm-up before the measurement.
    pub warm_up: WarmUp,
    /// The length of the measurement.
    pub length: Length,
    /// The IOs in flight of each stream of the workload.
    pub queue_depth: u32,
    /// True if IOs are due regardless of the IOs in flight. The latency then counts from the time
    /// at which an IO was due, including its wait for earlier IOs. A latency from the submission on
    /// would hide this wait (*coordinated omission*).
    pub open_loop: bool,
    /// Seed of a random or steady fill.
    pub seed: u64,
}

/// Reads values of the drive that the completions do not show, such as its counters.
pub struct Gauge<D: ?Sized, R> {
    /// Reads the values.
    pub read: fn(&D) -> R,
    /// Computes the metric that must become steady from a reading and a later reading; `None` if it
    /// has no value.
    pub metric: fn(&R, &R) -> Option<f64>,
    /// Returns true if the drive erased flash between two readings. Before its first erasure, a
    /// drive writes to its spare space, and the metric is that of a new drive, even if it is
    /// steady.
    pub erases: fn(&R, &R) -> bool,
}

/// The phase of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The session fills the drive.
    Fill,
    /// The session warms the drive up.
    WarmUp,
    /// The session measures.
    Measure,
}

/// A workload on a drive.
pub struct Session<'a, D, R> {
    /// The drive. IOs beyond its queue depth wait in the host.
    pub device: &'a mut D,
    /// The settings.
    pub load: Load,
    /// The values to read from the drive.
    pub gauge: Gauge<D, R>,
    /// Set to end early; completed measurements are kept.
    pub stop: &'a AtomicBool,
    /// Receives the start of each phase, on the clock of the drive.
    pub begin: &'a mut dyn FnMut(Phase, Nanos),
    /// Receives the amount done and the total (in bytes, IOs or nanoseconds), as far as known.
    pub progress: &'a mut dyn FnMut(Phase, u64, u64),
}

/// The outcome of a session.
pub struct Outcome<R> {
    /// The way the session ended: at the first error if it failed.
    pub ended: RunEnd,
    /// The warm-up, as far as it ran.
    pub warm_up: WarmUpOutcome,
    /// The measurement; `None` if the session ended before the measurement began.
    pub measured: Option<Measurement<R>>,
}

/// A warm-up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WarmUpOutcome {
    /// IOs answered.
    pub ios: u64,
    /// Bytes read, written and trimmed.
    pub bytes: Bytes,
    /// The metric in each window; empty unless it was to become steady.
    pub windows: Vec<f64>,
    /// True if the metric became steady; `None` if it was not checked.
    pub steady: Option<bool>,
}

/// A measurement.
#[derive(Debug, Clone)]
pub struct Measurement<R> {
    /// The start of the measurement, at the end of the warm-up, on the clock of the drive.
    pub began: Nanos,
    /// The time from the start to the last completion, at most the set duration, on the clock of
    /// the drive.
    pub took: Nanos,
    /// Bytes read, written and trimmed, indexed by operation code.
    pub bytes: [Bytes; Op::ALL.len()],
    /// The latencies of the successful IOs; failed IOs do not count.
    pub latencies: Latencies,
    /// The reading of the gauge at the start.
    pub before: R,
    /// The reading of the gauge at the end.
    pub after: R,
}

/// The latencies of all IOs, and of each operation.
#[derive(Debug, Clone, Default)]
pub struct Latencies {
    all: Summary,
    /// The operation of all IOs so far, while all have the same one. `all` then holds its
    /// latencies, too, which saves counting twice.
    only: Option<Op>,
    apart: Option<Box<[Summary; Op::ALL.len()]>>,
}

impl Latencies {
    /// Returns the latencies of all IOs.
    pub fn all(&self) -> &Summary {
        &self.all
    }

    /// Returns the latencies of one operation; `None` if there were none.
    pub fn of(&self, op: Op) -> Option<&Summary> {
        match &self.apart {
            Some(apart) => Some(&apart[usize::from(op.code())]).filter(|s| s.count() > 0),
            None => Some(&self.all).filter(|_| self.only == Some(op)),
        }
    }

    /// Adds the latency of an IO.
    #[inline]
    pub fn push(&mut self, op: Op, latency: Nanos) {
        if self.only != Some(op) {
            self.push_apart(op, latency);
        }
        self.all.push(latency.0);
    }

    fn push_apart(&mut self, op: Op, latency: Nanos) {
        if self.all.count() == 0 {
            self.only = Some(op);
            return;
        }
        let apart = self.apart.get_or_insert_with(|| {
            let mut apart: Box<[Summary; Op::ALL.len()]> = Box::default();
            if let Some(only) = self.only {
                apart[usize::from(only.code())] = self.all.clone();
            }
            apart
        });
        self.only = None;
        apart[usize::from(op.code())].push(latency.0);
    }
}

/// Ends the execution of a stream when the measurement is complete.
#[derive(PartialEq, Eq)]
struct Enough;

/// Receives every measured IO: the IO, its completion time since the start of the measurement, and
/// its latency.
pub type IoCallback<'a> = dyn FnMut(&Io, Nanos, Nanos) + 'a;

impl<D: Device, R> Session<'_, D, R> {
    /// Fills, warms up and measures. `runs` are executed one after the other, each with its
    /// concurrent streams. Warm-up and measurement follow each other without a break.
    pub fn run<S: Stream>(self, runs: impl IntoIterator<Item = Vec<S>>) -> Outcome<R> {
        self.run_with_callback(runs, None)
    }

    /// Does the same as [`Session::run`], and passes every measured IO to `each`.
    pub fn run_with_callback<S: Stream>(
        self,
        runs: impl IntoIterator<Item = Vec<S>>,
        each: Option<&mut IoCallback<'_>>,
    ) -> Outcome<R> {
        let (depth, stop) = (self.load.queue_depth, self.stop);
        let execute = |device: &mut D, meter: &mut Meter<'_, '_, D, R>| {
            for mut streams in runs {
                let executed = execute(device, &mut streams, depth, stop, |device, completion| {
                    meter.take(device, completion)
                });
                if executed != Ok(RunEnd::Complete) {
                    return executed;
                }
            }
            Ok(RunEnd::Complete)
        };
        self.run_by(execute, each)
    }

    /// Does the same as [`Session::run_with_callback`] for the workloads of several tenants at
    /// once. `depths` has the IOs in flight of each; `tenant_of` returns the position of the tenant
    /// of an IO.
    pub fn run_tenants<S: Stream>(
        self,
        tenants: &mut [S],
        depths: &[u32],
        tenant_of: impl Fn(&Io) -> usize,
        each: &mut IoCallback<'_>,
    ) -> Outcome<R> {
        let stop = self.stop;
        let execute = |device: &mut D, meter: &mut Meter<'_, '_, D, R>| {
            execute_by(device, tenants, depths, tenant_of, stop, |device, completion| {
                meter.take(device, completion)
            })
        };
        self.run_by(execute, Some(each))
    }

    /// Fills the drive, and runs the workload with `execute`, which passes every completion to the
    /// meter.
    fn run_by(
        self,
        execute: impl FnOnce(&mut D, &mut Meter<'_, '_, D, R>) -> Result<RunEnd, Enough>,
        each: Option<&mut IoCallback<'_>>,
    ) -> Outcome<R> {
        let Session { device, load, gauge, stop, begin, progress } = self;
        begin(Phase::Fill, device.now());
        let mut tell = |done: Bytes, size: Bytes| progress(Phase::Fill, done.0, size.0);
        let filled = fill_drive(device, load.fill, load.seed, stop, &mut tell);
        let mut meter = Meter::new(device, load, gauge, Callbacks { begin, each, progress });
        if filled != RunEnd::Complete {
            meter.measured = None;
            return meter.outcome(filled);
        }
        match execute(device, &mut meter) {
            Err(Enough) => meter.outcome(RunEnd::Complete),
            Ok(ended) => {
                // The workload ended, or was stopped, before the measurement was complete.
                meter.read_off(device);
                meter.outcome(ended)
            }
        }
    }
}

/// Fills the whole drive; `seed` seeds a random or steady fill. `progress` receives the bytes
/// written and the total.
pub fn fill_drive<D: Device>(
    device: &mut D,
    contents: InitialContents,
    seed: u64,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Bytes, Bytes),
) -> RunEnd {
    let info = device.info();
    let block = info.logical_block;
    let size = info.capacity.round_down(block);
    let all = match contents {
        InitialContents::Steady(spare) => spare.written(size),
        _ => size,
    };
    let tell = |done: Bytes| progress(done, all);
    match contents {
        InitialContents::None => RunEnd::Complete,
        InitialContents::Sequential => {
            let limits = device.zones().map(|zones| zones.limits());
            let sequential = match limits {
                Some(ZoneLimits { size: zone, capacity, .. }) => {
                    SequentialFill::of_zones(size, zone, capacity)
                }
                None => SequentialFill::new(Bytes(0), size),
            };
            fill(device, sequential, stop, tell)
        }
        InitialContents::Random => {
            fill(device, RandomFill::new(Bytes(0), size, block, seed), stop, tell)
        }
        InitialContents::Steady(spare) => {
            fill(device, SteadyFill::new(Bytes(0), size, spare, seed), stop, tell)
        }
    }
}

/// The callbacks of a session.
struct Callbacks<'a, 'e> {
    begin: &'a mut dyn FnMut(Phase, Nanos),
    each: Option<&'a mut IoCallback<'e>>,
    progress: &'a mut dyn FnMut(Phase, u64, u64),
}

/// Counts completions, and decides when the measurement starts and ends.
struct Meter<'a, 'e, D, R> {
    load: Load,
    gauge: Gauge<D, R>,
    callbacks: Callbacks<'a, 'e>,
    /// The zones of the drive, whose holes do not count.
    zones: Option<ZoneLimits>,
    /// Bytes in a window of the warm-up, if windows are measured in bytes.
    window: u64,
    /// The bytes written and trimmed at which the current window ends.
    window_end: u64,
    /// The gauge at the start of the current window.
    window_start: R,
    /// The bytes written and trimmed in the warm-up.
    modified: Bytes,
    /// Number of windows since the drive began to erase, including the window in which it began.
    erasing: usize,
    warm_up: WarmUpOutcome,
    start: Nanos,
    end: Nanos,
    measured: Option<Measurement<R>>,
}

/// Returns how many windows a warm-up is expected to take: at least one more than it has had so
/// far.
fn expected(windows: &[f64]) -> u64 {
    STEADY.windows.max(windows.len() + 1) as u64
}

impl<'a, 'e, D: Device, R> Meter<'a, 'e, D, R> {
    fn new(device: &mut D, load: Load, gauge: Gauge<D, R>, callbacks: Callbacks<'a, 'e>) -> Self {
        let of_zones = |limits: ZoneLimits| u64::from(limits.zones) * limits.capacity.0;
        let zones = device.zones().map(|zones| zones.limits());
        let capacity = zones.map_or(device.info().capacity.0, of_zones);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )] // saturates
        let window = match load.warm_up {
            WarmUp::Capacities(times) => (times * capacity as f64) as u64,
            _ => capacity,
        };
        let mut meter = Meter {
            load,
            callbacks,
            zones,
            window,
            window_end: window,
            window_start: (gauge.read)(device),
            modified: Bytes(0),
            erasing: 0,
            gauge,
            warm_up: WarmUpOutcome::default(),
            start: Nanos(0),
            end: Nanos::MAX,
            measured: None,
        };
        let none = matches!(load.warm_up, WarmUp::None | WarmUp::Ios(0));
        (meter.callbacks.begin)(Phase::WarmUp, device.now());
        if none || load.warm_up == WarmUp::Capacities(0.0) {
            meter.begin(device, device.now());
        }
        meter
    }

    #[inline]
    fn take(&mut self, device: &D, completion: &Completion) -> Result<(), Enough> {
        if self.measured.is_none() {
            self.warm(device, completion);
            return Ok(());
        }
        self.measure(device, completion)
    }

    fn warm(&mut self, device: &D, completion: &Completion) {
        self.warm_up.ios += 1;
        let data = self.data_of(&completion.io);
        self.warm_up.bytes += data;
        if completion.io.op.modifies() {
            self.modified += data;
        }
        if self.warm_up.ios.is_multiple_of(TELL_EVERY) {
            self.tell_warm_up();
        }
        let done = match self.load.warm_up {
            WarmUp::None => true,
            WarmUp::Ios(ios) => self.warm_up.ios >= ios,
            WarmUp::Capacities(_) => self.warm_up.bytes.0 >= self.window_end,
            WarmUp::Steady => self.is_window_over() && self.end_window(device),
            WarmUp::Passes { ios } => {
                self.warm_up.ios.is_multiple_of(ios) && self.end_window(device)
            }
        };
        if done {
            self.begin(device, completion.completed);
        }
    }

    /// Returns true if a window of [`WarmUp::Steady`] ends. Reads do not change a drive. They count
    /// only if there are no other IOs, or for the maximum length of the warm-up.
    fn is_window_over(&self) -> bool {
        let changes = match self.modified {
            Bytes(0) => self.warm_up.bytes,
            modified => modified,
        };
        changes.0 >= self.window_end || self.is_too_long()
    }

    /// Returns true if reads and changes together fill the maximum number of windows.
    fn is_too_long(&self) -> bool {
        let most = self.window.saturating_mul(STEADY.most as u64);
        self.load.warm_up == WarmUp::Steady && self.warm_up.bytes.0 >= most
    }

    /// Returns the length of an IO without the holes of the zones that it resets.
    fn data_of(&self, io: &Io) -> Bytes {
        match self.zones {
            Some(zones) if io.op == Op::Trim => Bytes(io.len.0 / zones.size.0 * zones.capacity.0),
            _ => io.len,
        }
    }

    /// Records a window of the warm-up. Returns true if it was the last.
    fn end_window(&mut self, device: &D) -> bool {
        let reading = (self.gauge.read)(device);
        let value = (self.gauge.metric)(&self.window_start, &reading);
        if self.erasing > 0 || (self.gauge.erases)(&self.window_start, &reading) {
            self.erasing += 1;
        }
        self.window_start = reading;
        self.window_end += self.window;
        // If the metric has no value, nothing changes the drive, so it is steady.
        let steady = value.is_none_or(|value| {
            self.warm_up.windows.push(value);
            self.erasing >= STEADY.windows && STEADY.holds(&self.warm_up.windows)
        });
        self.warm_up.steady = Some(steady);
        steady || self.warm_up.windows.len() >= STEADY.most || self.is_too_long()
    }

    fn tell_warm_up(&mut self) {
        let WarmUpOutcome { ios, bytes, windows, .. } = &self.warm_up;
        let (done, total) = match self.load.warm_up {
            WarmUp::Ios(total) => (*ios, total),
            WarmUp::Steady => (self.modified.0, expected(windows).saturating_mul(self.window)),
            WarmUp::Passes { ios: pass } => (*ios, expected(windows).saturating_mul(pass)),
            _ => (bytes.0, self.window),
        };
        (self.callbacks.progress)(Phase::WarmUp, done, total);
    }

    fn begin(&mut self, device: &D, now: Nanos) {
        self.start = now;
        (self.callbacks.begin)(Phase::Measure, now);
        if let Length::Time(time) = self.load.length {
            self.end = Nanos(now.0.saturating_add(time.0));
        }
        let read = || (self.gauge.read)(device);
        self.measured = Some(Measurement {
            began: now,
            took: Nanos(0),
            bytes: Default::default(),
            latencies: Latencies::default(),
            before: read(),
            after: read(),
        });
    }

    #[inline]
    fn measure(&mut self, device: &D, completion: &Completion) -> Result<(), Enough> {
        let Some(measured) = &mut self.measured else { return Ok(()) };
        if completion.completed > self.end {
            measured.took = Nanos(self.end.0 - self.start.0);
            self.read_off(device);
            return Err(Enough);
        }
        measured.took = Nanos(completion.completed.0.saturating_sub(self.start.0));
        if completion.result.is_err() {
            return Ok(());
        }
        let io = &completion.io;
        let latency = match self.load.open_loop {
            true => Nanos(completion.completed.0.saturating_sub(io.at.0)),
            false => completion.latency(),
        };
        measured.latencies.push(io.op, latency);
        measured.bytes[usize::from(io.op.code())] += io.len;
        if let Some(each) = &mut self.callbacks.each {
            each(io, measured.took, latency);
        }
        let ios = measured.latencies.all().count();
        if self.load.length == Length::Ios(ios) {
            self.read_off(device);
            return Err(Enough);
        }
        if ios.is_multiple_of(TELL_EVERY) {
            let (done, total) = match self.load.length {
                Length::Ios(total) => (ios, total),
                Length::Time(time) => (measured.took.0, time.0),
                Length::Whole => (ios, ios),
            };
            (self.callbacks.progress)(Phase::Measure, done, total);
        }
        Ok(())
    }

    /// Takes the last reading of the gauge for the measurement.
    fn read_off(&mut self, device: &D) {
        if let Some(measured) = &mut self.measured {
            measured.after = (self.gauge.read)(device);
        }
    }

    fn outcome(self, ended: RunEnd) -> Outcome<R> {
        Outcome { ended, warm_up: self.warm_up, measured: self.measured }
    }
}
