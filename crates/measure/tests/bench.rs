//! Whole benchmarks against a drive whose every answer is known.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op};
use flashscope_measure::{Bench, Ended, Observer, execute, machine, plan, timestamp};
use flashscope_result::ResultFolder;
use flashscope_result::manifest::{
    Calibration, Experiment, Manifest, MicroBenchmark, OnError, Options, Progress, Run,
    SCHEMA_VERSION, Spent, State, Status, Tool,
};
use flashscope_result::methodology::{Findings, Methodology};
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};
use flashscope_workload::uflip::{self, PerBaseline, Setup};

const LATENCY: Nanos = Nanos::micros(100);

/// Serves every IO in 100 µs, all in flight at once, on virtual time.
struct Scripted {
    info: DeviceInfo,
    now: Nanos,
    in_flight: VecDeque<(Nanos, Io)>,
    /// Every IO that was submitted, with when.
    log: Vec<(Nanos, Io)>,
    fail_at: Option<usize>,
    /// Sets the flag once so many IOs were submitted.
    stop_at: Option<(usize, &'static AtomicBool)>,
}

impl Scripted {
    fn new() -> Scripted {
        Scripted {
            info: DeviceInfo {
                name: "scripted".into(),
                kind: DeviceKind::Sim,
                capacity: Bytes::gib(1),
                logical_block: Bytes(512),
                queue_depth: 16,
                model: None,
                serial: None,
                firmware: None,
                engine: None,
            },
            now: Nanos(0),
            in_flight: VecDeque::new(),
            log: vec![],
            fail_at: None,
            stop_at: None,
        }
    }
}

impl Device for Scripted {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn now(&self) -> Nanos {
        self.now
    }
    fn submit(&mut self, io: &Io) {
        assert!(self.in_flight.len() < 16 && io.at <= self.now);
        self.log.push((self.now, *io));
        self.in_flight.push_back((self.now, *io));
        if let Some((count, stop)) = self.stop_at {
            stop.fetch_or(self.log.len() >= count, Ordering::Relaxed);
        }
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let due = self.in_flight.front().map(|(submitted, _)| *submitted + LATENCY);
        let Some(completed) = due.filter(|&due| due <= until) else {
            if until != Nanos::MAX {
                self.now = self.now.max(until);
            }
            return None;
        };
        let (submitted, io) = self.in_flight.pop_front()?;
        self.now = completed;
        let number = self.log.iter().position(|entry| *entry == (submitted, io));
        let result =
            if number == self.fail_at && number.is_some() { Err(Errno::EIO) } else { Ok(()) };
        Some(Completion { io, submitted, completed, result })
    }
}

struct Silent;
impl Observer for Silent {
    fn state(&mut self, _: Bytes, _: Bytes) {}
    fn run_started(&mut self, _: &MicroBenchmark, _: &Experiment, _: &Run) {}
    fn progress(&mut self, _: u64) {}
    fn run_finished(&mut self, _: &Run, _: u64, _: Nanos) {}
}

fn pattern(timing: Timing, io_count: u64) -> Pattern {
    Pattern {
        op: Op::Read,
        address: Address::Sequential,
        timing,
        io_size: Bytes::kib(4),
        io_shift: Bytes(0),
        target_offset: Bytes(0),
        target_size: Bytes::mib(64),
        io_count,
        io_ignore: 0,
        seed: 1,
    }
}

fn run(device: &mut Scripted, reference: &Reference) -> (Ended, Vec<Completion>) {
    let mut completions = vec![];
    let stop = AtomicBool::new(false);
    let ended = execute(device, &mut reference.streams().unwrap(), 1, &stop, |_, completion| {
        completions.push(*completion);
        Ok::<(), ()>(())
    });
    (ended.unwrap(), completions)
}

fn manifest(device: &Scripted, names: &[&str], state: State, on_error: OnError) -> Manifest {
    let benchmarks: Vec<_> = names.iter().map(|name| uflip::find(name).unwrap()).collect();
    let setup = Setup { io_count: PerBaseline::same(32), ..Setup::paper(Bytes::mib(64), 1) };
    let (run_pause_ns, methodology) = (Nanos::secs(1), Methodology::default());
    let options = Options { setup, state, run_pause_ns, on_error, methodology, rounds: None };
    Manifest {
        schema_version: SCHEMA_VERSION,
        tool: Tool { version: "0".into(), commit: None },
        machine: machine::describe(),
        environment: None,
        device: device.info.clone(),
        calibration: Calibration { clock_resolution_ns: Nanos(1), clock_cost_ns: Nanos(1) },
        micro_benchmarks: plan(&benchmarks, &options, &device.info, false),
        options,
        findings: Findings::default(),
        spent: Spent::default(),
        enforcing: None,
        started: timestamp(),
        resumed: Vec::new(),
        finished: None,
        status: Status::Running,
    }
}

fn bench(
    device: &mut Scripted,
    manifest: &mut Manifest,
    stop: &AtomicBool,
) -> (Status, ResultFolder, tempfile::TempDir) {
    let parent = tempfile::tempdir().unwrap();
    let folder = ResultFolder::create(&parent.path().join("r.flashscope"), manifest).unwrap();
    let status = Bench {
        device,
        folder: &folder,
        manifest,
        forgot: false,
        stop,
        observer: &mut Silent,
        surroundings: None,
    }
    .run();
    (status.unwrap(), folder, parent)
}

// Are parallel patterns concurrent streams: one IO of each in flight, each at its own pace?
#[test]
fn parallel_streams_are_concurrent() {
    let mut device = Scripted::new();
    let reference = Reference::Parallel { pattern: pattern(Timing::Consecutive, 40), degree: 4 };
    let (ended, completions) = run(&mut device, &reference);
    assert_eq!((ended, completions.len()), (Ended::Complete, 40));
    assert_eq!(device.now, Nanos(LATENCY.0 * 10));
    for stream in 0..4 {
        let own: Vec<_> = completions.iter().filter(|c| c.io.stream == stream).collect();
        assert!(own.windows(2).all(|pair| pair[1].submitted == pair[0].completed));
    }
}

// Is a pause counted from the completion of an IO, to the nanosecond?
#[test]
fn pauses_are_exact() {
    let mut device = Scripted::new();
    let pause = Nanos::micros(250);
    let reference = Reference::Basic { pattern: pattern(Timing::Pause { pause }, 5) };
    run(&mut device, &reference);
    let submitted: Vec<u64> = device.log.iter().map(|(at, _)| at.0 / 1000).collect();
    assert_eq!(submitted, [0, 350, 700, 1050, 1400]);
}

// Does a stream that pauses hold up no other?
#[test]
fn pauses_of_one_stream_do_not_delay_others() {
    let mut device = Scripted::new();
    let timing = Timing::Burst { pause: Nanos::millis(1), burst: 2 };
    let reference = Reference::Parallel { pattern: pattern(timing, 12), degree: 3 };
    let (ended, completions) = run(&mut device, &reference);
    assert_eq!((ended, completions.len()), (Ended::Complete, 12));
    let submitted: Vec<u64> = device.log.iter().map(|(at, _)| at.0 / 1000).collect();
    assert_eq!(submitted, [0, 0, 0, 100, 100, 100, 1200, 1200, 1200, 1300, 1300, 1300]);
}

// Does an error end its run only, with errno and offset, and everything before it kept?
#[test]
fn an_error_ends_its_run() {
    let mut device = Scripted::new();
    device.fail_at = Some(5);
    let mut manifest = manifest(&device, &["order"], State::Keep, OnError::Continue);
    let (status, folder, _parent) = bench(&mut device, &mut manifest, &AtomicBool::new(false));
    assert_eq!(status, Status::Complete);
    let offset = device.log[5].1.offset;
    let failed: Vec<_> =
        manifest.runs().filter(|run| matches!(run.progress, Progress::Failed { .. })).collect();
    assert_eq!(failed.len(), 1);
    let expected = Progress::Failed {
        ios: 6,
        errors: 1,
        errno: Errno::EIO,
        error: "EIO (input/output error)".into(),
        offset_bytes: offset,
    };
    assert_eq!(failed[0].progress, expected);
    let records = folder.rows(failed[0].id).unwrap().to_vec().unwrap();
    assert_eq!(records.len(), 6);
    assert_eq!(records[5].result, Err(Errno::EIO));
    assert!(records[..5].iter().all(|record| record.result.is_ok()));
    let done = manifest.runs().filter(|run| matches!(run.progress, Progress::Done { .. }));
    assert!(done.count() > 5);
}

// Does an error end everything where that was asked for?
#[test]
fn an_error_stops_where_asked() {
    let mut device = Scripted::new();
    device.fail_at = Some(5);
    let mut manifest = manifest(&device, &["order"], State::Keep, OnError::Stop);
    let (status, ..) = bench(&mut device, &mut manifest, &AtomicBool::new(false));
    assert_eq!(status, Status::Failed);
    assert_eq!(manifest.runs().filter(|run| run.progress.ios() > 0).count(), 1);
}

// Is everything kept that was done before an interruption, and nothing done after it?
#[test]
fn an_interruption_keeps_what_was_done() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut device = Scripted::new();
    device.stop_at = Some((100, &STOP));
    let mut manifest = manifest(&device, &["pause"], State::Keep, OnError::Continue);
    let (status, folder, _parent) = bench(&mut device, &mut manifest, &STOP);
    assert_eq!((status, device.log.len()), (Status::Interrupted, 100));
    let ios: u64 = manifest.runs().map(|run| run.progress.ios()).sum();
    let rows: u64 = manifest.runs().map(|run| folder.rows(run.id).unwrap().total()).sum();
    assert_eq!((ios, rows), (100, 100));
    assert_eq!(ResultFolder::open(folder.path()).unwrap().1, manifest);
}

// Is the state enforced before the first run: the whole target space, nothing but writes?
#[test]
fn the_state_is_enforced_first() {
    for state in [State::Sequential, State::Random] {
        let mut device = Scripted::new();
        let mut manifest = manifest(&device, &["order"], state, OnError::Continue);
        bench(&mut device, &mut manifest, &AtomicBool::new(false));
        let mut filled = 0;
        let fill = device.log.iter().take_while(|(_, io)| {
            filled += io.len.0;
            io.op == Op::Write && filled <= Bytes::mib(64).0
        });
        assert!(fill.count() >= 512);
        assert_eq!(device.log.iter().filter(|(_, io)| io.op == Op::Read).count(), 11 * 32);
    }
}

// Is there the pause between runs that was asked for?
#[test]
fn runs_are_apart() {
    let mut device = Scripted::new();
    let mut manifest = manifest(&device, &["order"], State::Keep, OnError::Continue);
    bench(&mut device, &mut manifest, &AtomicBool::new(false));
    let starts: Vec<Nanos> = device.log.iter().step_by(32).map(|(at, _)| *at).collect();
    assert_eq!(starts.len(), 22);
    let apart = Nanos::secs(1) + Nanos(LATENCY.0 * 32);
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == apart));
}
