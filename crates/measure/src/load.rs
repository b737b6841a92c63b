//! A workload on a drive: fill it, warm it up until it is steady, and measure.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Completion, Device, Io, Nanos, Op};
use flashscope_stats::Summary;
use flashscope_workload::Stream;
use flashscope_workload::state::{RandomFill, SequentialFill};

use crate::execute::{Ended, execute, fill};
use crate::steady::STEADY;
use crate::warm_up::WarmUp;

/// Progress is told after so many IOs.
const TELL_EVERY: u64 = 1 << 12;

/// What the drive holds at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// What it holds.
    None,
    /// Every byte written once, from start to end.
    Sequential,
    /// Every byte written once, in random order, in IOs of random size.
    Random,
}

/// How long it is measured, unless the workload ends before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// For so many IOs.
    Ios(u64),
    /// For so long on the clock of the drive.
    Time(Nanos),
    /// To the end of the workload.
    Whole,
}

/// What is done with a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// What the drive holds at first.
    pub fill: Fill,
    /// How long the workload runs before anything is measured.
    pub warm_up: WarmUp,
    /// How long it is measured.
    pub length: Length,
    /// How many IOs each stream of the workload has in flight.
    pub queue_depth: u32,
    /// Whether IOs are due whatever is in flight. Then the latency counts from when an IO was
    /// due, also where it had to wait for others (else their *coordinated omission* would hide
    /// what a user waits for).
    pub open_loop: bool,
    /// Seed of a random fill.
    pub seed: u64,
}

/// What else is read off the drive beside the completions, such as what it counts.
pub struct Gauge<D: ?Sized, R> {
    /// Reads it.
    pub read: fn(&D) -> R,
    /// The metric that has to become steady, from one reading to a later one; `None` where it
    /// has no value.
    pub metric: fn(&R, &R) -> Option<f64>,
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It fills the drive.
    Fill,
    /// It warms the drive up.
    WarmUp,
    /// It measures.
    Measure,
}

/// A workload that is put on a drive.
pub struct Session<'a, D, R> {
    /// The drive. It accepts as many IOs at once as all streams have in flight.
    pub device: &'a mut D,
    /// What is done.
    pub load: Load,
    /// What is read off the drive.
    pub gauge: Gauge<D, R>,
    /// Set to end early: what was measured is kept.
    pub stop: &'a AtomicBool,
    /// Is told when the measurement begins, on the clock of the drive.
    pub begin: &'a mut dyn FnMut(Nanos),
    /// Is told how much is done of how much (in bytes, IOs or nanoseconds), as far as known.
    pub progress: &'a mut dyn FnMut(Phase, u64, u64),
}

/// What came of a session.
pub struct Outcome<R> {
    /// How it ended. If it failed, then at the first error.
    pub ended: Ended,
    /// The warm-up, as far as it went.
    pub warm_up: WarmedUp,
    /// What was measured; `None` where it ended before.
    pub measured: Option<Measured<R>>,
}

/// A warm-up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WarmedUp {
    /// How many IOs were answered.
    pub ios: u64,
    /// How many bytes were read, written and trimmed.
    pub bytes: Bytes,
    /// The metric in each window; empty unless it was to become steady.
    pub windows: Vec<f64>,
    /// Whether it became steady; `None` where it was not looked at.
    pub steady: Option<bool>,
}

/// What was measured.
#[derive(Debug, Clone)]
pub struct Measured<R> {
    /// When it began, at the end of the warm-up, on the clock of the drive.
    pub began: Nanos,
    /// From then to the last answer that counts, on the clock of the drive.
    pub took: Nanos,
    /// Bytes read, written and trimmed, by operation code.
    pub bytes: [Bytes; Op::ALL.len()],
    /// The latencies of what was carried out; an IO that fails is not counted.
    pub latencies: Latencies,
    /// The gauge at the start.
    pub before: R,
    /// The gauge at the end.
    pub after: R,
}

/// The latencies of all IOs, and of each operation.
#[derive(Debug, Clone, Default)]
pub struct Latencies {
    all: Summary,
    /// The operation of all IOs so far, as long as there is but one: no need to count twice.
    only: Option<Op>,
    apart: Option<Box<[Summary; Op::ALL.len()]>>,
}

impl Latencies {
    /// Those of all IOs.
    pub fn all(&self) -> &Summary {
        &self.all
    }

    /// Those of one operation; `None` where there was none.
    pub fn of(&self, op: Op) -> Option<&Summary> {
        match &self.apart {
            Some(apart) => Some(&apart[usize::from(op.code())]).filter(|s| s.count() > 0),
            None => Some(&self.all).filter(|_| self.only == Some(op)),
        }
    }

    #[inline]
    fn push(&mut self, op: Op, latency: Nanos) {
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

/// Ends the execution of a stream: what was to be measured is measured.
struct Enough;

/// Is told of every IO that is measured: what it did where, when it was answered, from the begin of the
/// measurement, and its latency.
pub type Each<'a> = dyn FnMut(&Io, Nanos, Nanos) + 'a;

impl<D: Device, R> Session<'_, D, R> {
    /// Fills, warms up and measures. `runs` are executed one after the other, each with its
    /// concurrent streams; warm-up and measurement follow upon each other without a break.
    pub fn run<S: Stream>(self, runs: impl IntoIterator<Item = Vec<S>>) -> Outcome<R> {
        self.run_and_tell(runs, None)
    }

    /// As [`Session::run`], and tells of every IO that is measured.
    pub fn run_and_tell<S: Stream>(
        self,
        runs: impl IntoIterator<Item = Vec<S>>,
        each: Option<&mut Each<'_>>,
    ) -> Outcome<R> {
        let Session { device, load, gauge, stop, begin, progress } = self;
        let mut tell = |done: Bytes, size: Bytes| progress(Phase::Fill, done.0, size.0);
        let filled = fill_drive(device, load.fill, load.seed, stop, &mut tell);
        let mut meter = Meter::new(device, load, gauge, Told { begin, each, progress });
        if filled != Ended::Complete {
            meter.measured = None;
            return meter.outcome(filled);
        }
        let mut ended = Ended::Complete;
        for mut streams in runs {
            let depth = load.queue_depth;
            let executed = execute(device, &mut streams, depth, stop, |device, completion| {
                meter.take(device, completion)
            });
            match executed {
                Ok(Ended::Complete) => {}
                Ok(early) => {
                    ended = early;
                    break;
                }
                Err(Enough) => return meter.outcome(ended),
            }
        }
        // The workload ended, or was ended, before its time.
        meter.read_off(device);
        meter.outcome(ended)
    }
}

/// Brings a drive to hold what `state` says, all of it; `seed` is that of the random one. `progress` is told
/// how many bytes of how many are written.
pub fn fill_drive<D: Device>(
    device: &mut D,
    state: Fill,
    seed: u64,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Bytes, Bytes),
) -> Ended {
    let info = device.info();
    let block = info.logical_block;
    let size = info.capacity.round_down(block);
    let tell = |done: Bytes| progress(done, size);
    match state {
        Fill::None => Ended::Complete,
        Fill::Sequential => fill(device, SequentialFill::new(Bytes(0), size), stop, tell),
        Fill::Random => fill(device, RandomFill::new(Bytes(0), size, block, seed), stop, tell),
    }
}

/// Those who are told how a session goes.
struct Told<'a, 'e> {
    begin: &'a mut dyn FnMut(Nanos),
    each: Option<&'a mut Each<'e>>,
    progress: &'a mut dyn FnMut(Phase, u64, u64),
}

/// Counts what is answered, and knows when to measure and when it is enough.
struct Meter<'a, 'e, D, R> {
    load: Load,
    gauge: Gauge<D, R>,
    told: Told<'a, 'e>,
    /// Bytes in a window of the warm-up, where it goes by bytes.
    window: u64,
    /// The bytes of the warm-up at which the next window ends, and the gauge where it began.
    window_end: u64,
    window_start: R,
    warm_up: WarmedUp,
    start: Nanos,
    end: Nanos,
    measured: Option<Measured<R>>,
}

/// How many windows a warm-up is expected to take: one more as long as it is not steady.
fn expected(windows: &[f64]) -> u64 {
    STEADY.windows.max(windows.len() + 1) as u64
}

impl<'a, 'e, D: Device, R> Meter<'a, 'e, D, R> {
    fn new(device: &D, load: Load, gauge: Gauge<D, R>, told: Told<'a, 'e>) -> Self {
        let capacity = device.info().capacity.0;
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
            told,
            window,
            window_end: window,
            window_start: (gauge.read)(device),
            gauge,
            warm_up: WarmedUp::default(),
            start: Nanos(0),
            end: Nanos::MAX,
            measured: None,
        };
        let none = matches!(load.warm_up, WarmUp::None | WarmUp::Ios(0));
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
        self.warm_up.bytes += completion.io.len;
        if self.warm_up.ios.is_multiple_of(TELL_EVERY) {
            self.tell_warm_up();
        }
        let done = match self.load.warm_up {
            WarmUp::None => true,
            WarmUp::Ios(ios) => self.warm_up.ios >= ios,
            WarmUp::Capacities(_) => self.warm_up.bytes.0 >= self.window_end,
            WarmUp::Steady => self.warm_up.bytes.0 >= self.window_end && self.end_window(device),
            WarmUp::Passes { ios } => {
                self.warm_up.ios.is_multiple_of(ios) && self.end_window(device)
            }
        };
        if done {
            self.begin(device, completion.completed);
        }
    }

    /// Notes a window of the warm-up; returns whether it was the last.
    fn end_window(&mut self, device: &D) -> bool {
        let reading = (self.gauge.read)(device);
        let value = (self.gauge.metric)(&self.window_start, &reading);
        self.window_start = reading;
        self.window_end += self.window;
        // Where the metric has no value, nothing happens that could change the drive.
        let steady = value.is_none_or(|value| {
            self.warm_up.windows.push(value);
            STEADY.holds(&self.warm_up.windows)
        });
        self.warm_up.steady = Some(steady);
        steady || self.warm_up.windows.len() >= STEADY.most
    }

    fn tell_warm_up(&mut self) {
        let WarmedUp { ios, bytes, windows, .. } = &self.warm_up;
        let (done, total) = match self.load.warm_up {
            WarmUp::Ios(total) => (*ios, total),
            WarmUp::Steady => (bytes.0, expected(windows).saturating_mul(self.window)),
            WarmUp::Passes { ios: pass } => (*ios, expected(windows).saturating_mul(pass)),
            _ => (bytes.0, self.window),
        };
        (self.told.progress)(Phase::WarmUp, done, total);
    }

    fn begin(&mut self, device: &D, now: Nanos) {
        self.start = now;
        (self.told.begin)(now);
        if let Length::Time(time) = self.load.length {
            self.end = Nanos(now.0.saturating_add(time.0));
        }
        let read = || (self.gauge.read)(device);
        self.measured = Some(Measured {
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
        if let Some(each) = &mut self.told.each {
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
            (self.told.progress)(Phase::Measure, done, total);
        }
        Ok(())
    }

    /// Takes the last reading of what was measured so far.
    fn read_off(&mut self, device: &D) {
        if let Some(measured) = &mut self.measured {
            measured.after = (self.gauge.read)(device);
        }
    }

    fn outcome(self, ended: Ended) -> Outcome<R> {
        Outcome { ended, warm_up: self.warm_up, measured: self.measured }
    }
}
