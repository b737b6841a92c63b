//! A drive with scripted answers, and helpers to measure it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op};
use flashscope_document::manifest::{
    Calibration, Manifest, MicroBenchmark, OnError, Options, State, Status, Tool,
};
use flashscope_document::methodology::Methodology;
use flashscope_measure::{Bench, Error, Observer, Surroundings, machine, plan, timestamp};
use flashscope_result::ResultFolder;
use flashscope_workload::uflip::{self, PerBaseline, Setup};

/// Creates a folder in memory if possible: a result waits for its disk after every run.
pub(super) fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Returns the latency of an IO from the IO and its submission time.
type Latency = Box<dyn FnMut(&Io, Nanos) -> Nanos>;

/// Answers every IO when its script says so, in the order of submission, on virtual time.
pub(super) struct ScriptedDrive {
    pub info: DeviceInfo,
    pub now: Nanos,
    latency: Latency,
    /// Completion time, submission time, IO and its number.
    in_flight: VecDeque<(Nanos, Nanos, Io, usize)>,
    /// Every submitted IO with its submission time.
    pub log: Vec<(Nanos, Io)>,
    pub fail_at: Option<usize>,
    pub knows_trims: bool,
    /// The number of submitted IOs after which the flag is set.
    pub stop_at: Option<(usize, &'static AtomicBool)>,
}

impl ScriptedDrive {
    /// A drive whose latencies come from the script.
    pub(super) fn new(latency: impl FnMut(&Io, Nanos) -> Nanos + 'static) -> ScriptedDrive {
        ScriptedDrive {
            info: DeviceInfo::new(("scripted", DeviceKind::Sim), (Bytes::gib(1), Bytes(512)), 16),
            now: Nanos(0),
            latency: Box::new(latency),
            in_flight: VecDeque::new(),
            log: vec![],
            fail_at: None,
            knows_trims: true,
            stop_at: None,
        }
    }

    /// A drive with the same latency for every IO.
    pub(super) fn even(latency: Nanos) -> ScriptedDrive {
        ScriptedDrive::new(move |_, _| latency)
    }
}

impl Device for ScriptedDrive {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn now(&self) -> Nanos {
        self.now
    }
    fn submit(&mut self, io: &Io) {
        assert!(self.in_flight.len() < 16 && io.at <= self.now);
        let answered = self.now + (self.latency)(io, self.now);
        self.in_flight.push_back((answered, self.now, *io, self.log.len()));
        self.log.push((self.now, *io));
        if let Some((count, stop)) = self.stop_at {
            stop.fetch_or(self.log.len() >= count, Ordering::Relaxed);
        }
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let due = self.in_flight.front().map(|(answered, ..)| (*answered).max(self.now));
        let Some(completed) = due.filter(|&due| due <= until) else {
            if until != Nanos::MAX {
                self.now = self.now.max(until);
            }
            return None;
        };
        let (_, submitted, io, number) = self.in_flight.pop_front()?;
        self.now = completed;
        let result = match (io.op, self.fail_at == Some(number)) {
            (Op::Trim, _) if !self.knows_trims => Err(Errno::EOPNOTSUPP),
            (_, true) => Err(Errno::EIO),
            _ => Ok(()),
        };
        Some(Completion { io, submitted, completed, result })
    }
}

/// Options of short runs on the first 64 MiB.
pub(super) fn short(state: State, on_error: OnError) -> Options {
    let setup = Setup { io_count: PerBaseline::same(32), ..Setup::paper(Bytes::mib(64), 1) };
    let (run_pause_ns, methodology) = (Nanos::secs(1), Methodology::default());
    Options {
        setup,
        state,
        run_pause_ns,
        on_error,
        methodology,
        rounds: None,
        grid: None,
        spare: None,
    }
}

/// Returns the manifest for these micro-benchmarks.
pub(super) fn manifest(device: &ScriptedDrive, names: &[&str], options: Options) -> Manifest {
    let benchmarks: Vec<_> = names.iter().map(|name| uflip::find(name).unwrap()).collect();
    let plan = plan(&benchmarks, &options, &device.info, false);
    planned(device, options, plan)
}

/// Returns the manifest for a plan.
pub(super) fn planned(
    device: &ScriptedDrive,
    options: Options,
    plan: Vec<MicroBenchmark>,
) -> Manifest {
    let calibration = Calibration {
        clock_resolution_ns: Nanos(1),
        clock_cost_ns: Nanos(1),
        harness_cost_ns: None,
    };
    let tool = Tool { version: "0".into(), commit: None };
    let (info, machine) = (device.info.clone(), machine::describe());
    Manifest::new(tool, machine, calibration, info, options, plan, timestamp())
}

pub(super) fn bench(
    device: &mut ScriptedDrive,
    manifest: &mut Manifest,
    stop: &AtomicBool,
) -> (Status, ResultFolder, tempfile::TempDir) {
    bench_among(device, manifest, stop, None)
}

/// Does the same as [`bench`], and records the surroundings of the drive.
pub(super) fn bench_among(
    device: &mut ScriptedDrive,
    manifest: &mut Manifest,
    stop: &AtomicBool,
    surroundings: Option<&Surroundings>,
) -> (Status, ResultFolder, tempfile::TempDir) {
    let parent = place();
    let folder = ResultFolder::create(&parent.path().join("r.flashscope"), manifest).unwrap();
    let status = execute(device, manifest, stop, &folder, surroundings);
    (status.unwrap(), folder, parent)
}

/// Continues a result.
pub(super) fn go_on(
    device: &mut ScriptedDrive,
    manifest: &mut Manifest,
    stop: &AtomicBool,
    folder: &ResultFolder,
) -> Result<Status, Error> {
    execute(device, manifest, stop, folder, None)
}

fn execute(
    device: &mut ScriptedDrive,
    manifest: &mut Manifest,
    stop: &AtomicBool,
    folder: &ResultFolder,
    surroundings: Option<&Surroundings>,
) -> Result<Status, Error> {
    observe(device, manifest, stop, folder, (surroundings, &mut ()))
}

/// Executes the plan of the manifest and reports to `observer`.
pub(super) fn observe(
    device: &mut ScriptedDrive,
    manifest: &mut Manifest,
    stop: &AtomicBool,
    folder: &ResultFolder,
    (surroundings, observer): (Option<&Surroundings>, &mut dyn Observer),
) -> Result<Status, Error> {
    Bench { device, folder, manifest, forgot: false, stop, observer, surroundings }.run()
}
