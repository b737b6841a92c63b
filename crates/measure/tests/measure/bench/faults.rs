//! Injects every kind of fault into a drive during a measurement, at points generated from seeds.
//! Checks the surviving records of each kind of run, and the report of the fault.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashscope_block::faulty::{Fault, Faulty};
use flashscope_block::{Bytes, Device, Errno, Io, Nanos, Record};
use flashscope_document::manifest::{
    Manifest, MicroBenchmark, OnError, Progress, Run, State, Status, find_run, runs_of,
};
use flashscope_measure::{Bench, Error, trace_plan};
use flashscope_result::ResultFolder;
use flashscope_workload::pattern::Reference;
use flashscope_workload::playback::{Pace, Playback};
use flashscope_workload::uflip::{MICRO_BENCHMARKS, PREPARATION};

use crate::bench::drive::{ScriptedDrive, place, planned, short};

const LATENCY: Nanos = Nanos::micros(100);

/// The number of points at which each fault strikes each kind of run, in the tests that always run.
const POINTS: u64 = 4;

/// Returns every kind of fault, with random sizes. A clock that goes back by less than the latency
/// of an IO looks the same as a fast IO.
fn faults(random: &mut fastrand::Rng) -> [Fault; 10] {
    let long = Nanos(random.u64(2 * LATENCY.0..10_000_000_000));
    [
        Fault::Refused(Errno::EIO),
        Fault::Refused(Errno::ETIMEDOUT),
        Fault::Short,
        Fault::Overtaken(random.u32(1..20)),
        Fault::Lost,
        Fault::Repeated,
        Fault::Forward(long),
        Fault::Back(long),
        Fault::Removed,
        Fault::Shrunk(Bytes(0)),
    ]
}

/// Returns the error that reports a fault on `io`; `None` if the fault is no error.
fn reported_as(fault: Fault, io: &Io) -> Option<Errno> {
    match fault {
        Fault::Refused(errno) => Some(errno),
        Fault::Short | Fault::Shrunk(_) if io.op == flashscope_block::Op::Read => {
            Some(Errno::ENODATA)
        }
        Fault::Short | Fault::Shrunk(_) => Some(Errno::ENOSPC),
        Fault::Lost => Some(Errno::ETIMEDOUT),
        Fault::Repeated | Fault::Back(_) => Some(Errno::EPROTO),
        Fault::Removed => Some(Errno::ENODEV),
        Fault::Overtaken(_) | Fault::Forward(_) => None,
    }
}

/// A drive with varying latencies, the same each time.
fn drive() -> ScriptedDrive {
    let mut ios = 0;
    ScriptedDrive::new(move |_, _| {
        ios += 1;
        LATENCY + Nanos(ios * 7919 % 50_000)
    })
}

/// Plans the first and the last run of each experiment of a micro-benchmark.
fn some_runs(name: &str) -> Vec<MicroBenchmark> {
    let benchmark = flashscope_workload::uflip::find(name).unwrap();
    let options = short(State::Keep, OnError::Continue);
    let mut plan = flashscope_measure::plan(&[benchmark], &options, &drive().info, false);
    for experiment in plan.iter_mut().flat_map(|benchmark| &mut benchmark.experiments) {
        let last = experiment.runs.len() - 1;
        let mut index = 0;
        experiment.runs.retain(|run| {
            index += 1;
            (index == 1 || index == last + 1) && run.progress == Progress::Pending
        });
    }
    plan
}

/// Plans the replay of a trace, which it writes to a folder: 100 requests, one each millisecond.
fn replay(pace: Pace, folder: &Path) -> Vec<MicroBenchmark> {
    let request = |i: u32| format!("{i}.0 0 {} 8 {}\n", i * 7919 % 100_000, i % 2);
    let file = folder.join("trace.ascii").display().to_string();
    std::fs::write(&file, (0..100).map(request).collect::<String>()).unwrap();
    let info = drive().info;
    let playback = Playback {
        files: vec![file],
        fields: BTreeMap::new(),
        pace,
        capacity: info.capacity,
        logical_block: info.logical_block,
        longest: Bytes::kib(128),
    };
    let survey =
        flashscope_trace::survey(&playback, &AtomicBool::new(false), |_| {}).unwrap().unwrap();
    let (ios, modifies) = (survey.ios, survey.modifies());
    trace_plan(Reference::Trace { playback, queue_depth: 4, ios, modifies })
}

/// Returns every kind of run by name, with its files in `folder`.
fn kinds(folder: &Path) -> Vec<(String, Vec<MicroBenchmark>)> {
    let names = MICRO_BENCHMARKS.iter().map(|benchmark| benchmark.name);
    let mut kinds: Vec<_> =
        names.chain([PREPARATION.name]).map(|name| (name.to_string(), some_runs(name))).collect();
    kinds.push(("a replay as timed".into(), replay(Pace::Timed, folder)));
    kinds.push(("a replay as fast as possible".into(), replay(Pace::Asap, folder)));
    kinds
}

/// The outcome of a plan on a failing drive.
struct FaultOutcome {
    ended: Result<Status, Error>,
    manifest: Manifest,
    /// The records of each run that has records.
    records: BTreeMap<u32, Vec<Record>>,
    struck: Vec<(Fault, Io)>,
    asked: u64,
}

fn measure(plan: &[MicroBenchmark], state: State, faults: &[(u64, Fault)]) -> FaultOutcome {
    let within = drive();
    let mut manifest = planned(&within, short(state, OnError::Continue), plan.to_vec());
    let mut device = Faulty::new(within, faults.iter().copied());
    // Use memory if possible: result files are synced, which is slow on a disk.
    let parent = place();
    let folder = ResultFolder::create(&parent.path().join("r.flashscope"), &manifest).unwrap();
    let stop = AtomicBool::new(false);
    let ended = Bench {
        device: &mut device as &mut dyn Device,
        folder: &folder,
        manifest: &mut manifest,
        forgot: false,
        stop: &stop,
        observer: &mut (),
        surroundings: None,
    }
    .run();
    let (folder, read) = ResultFolder::open(folder.path()).unwrap();
    assert_eq!(read, manifest, "the manifest on disk equals the one in memory");
    let of = |run: &Run| (run.id, folder.records(run).unwrap().to_vec().unwrap());
    let records = manifest.runs().filter(|run| run.progress.ios() > 0).map(of).collect();
    let (struck, asked) = (device.injected().to_vec(), device.submitted());
    FaultOutcome { ended, manifest, records, struck, asked }
}

/// Returns the length of the common prefix of two lists of records.
fn common(one: &[Record], other: &[Record]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Asserts that the records hold everything answered before IO `number` of the plan, bit for bit.
fn assert_kept(sound: &FaultOutcome, measured: &FaultOutcome, number: u64, what: &str) {
    let mut before = 0;
    for id in flashscope_measure::order(&sound.manifest.micro_benchmarks) {
        let Some(whole) = sound.records.get(&id) else { continue };
        let empty = Vec::new();
        let kept = measured.records.get(&id).unwrap_or(&empty);
        if before + whole.len() as u64 <= number {
            assert!(kept == whole, "{what}: run {id} was over before the fault");
        } else {
            // Other IOs may have been in flight with the failed IO.
            let answered = usize::try_from(number - before).unwrap().saturating_sub(16);
            let same = common(kept, whole);
            assert!(same >= answered, "{what}: {same} of {answered} records of run {id} are there");
            return;
        }
        before += whole.len() as u64;
    }
}

/// Asserts that the fault is reported by the run that it struck and by the record of its IO.
fn assert_reported(measured: &FaultOutcome, what: &str) {
    let [(fault, io), ..] = measured.struck[..] else { panic!("{what}: nothing was struck") };
    let plan = &measured.manifest.micro_benchmarks;
    let runs = flashscope_measure::order(plan).into_iter().filter_map(|id| find_run(plan, id));
    let failed =
        runs.map(|(.., run)| run).find(|run| matches!(run.progress, Progress::Failed { .. }));
    let Some(errno) = reported_as(fault, &io) else {
        assert!(failed.is_none(), "{what}: {:?}", failed.map(|run| &run.progress));
        return;
    };
    let run = failed.unwrap_or_else(|| panic!("{what}: no run failed"));
    let Progress::Failed { errors, errno: said, .. } = &run.progress else { unreachable!() };
    let records = &measured.records[&run.id];
    let errors_kept = records.iter().filter(|record| record.result.is_err()).count();
    assert_eq!((*said, *errors), (errno, errors_kept as u64), "{what}");
    let of_io =
        |record: &&Record| (record.op, record.offset, record.len) == (io.op, io.offset, io.len);
    let record = records.iter().filter(of_io).any(|record| record.result == Err(errno));
    assert!(record, "{what}: no record of {io:?}");
    let gone = matches!(fault, Fault::Removed | Fault::Lost);
    let expected = if gone { Status::Failed } else { Status::Complete };
    assert_eq!(measured.manifest.status, expected, "{what}");
}

/// Injects each fault into each kind of run at `points` points generated from `seed`; returns the
/// number of injections.
fn inject(points: u64, seed: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let folder = place();
    let kinds = kinds(folder.path());
    let mut injected = 0;
    for (name, plan) in &kinds {
        let sound = measure(plan, State::Keep, &[]);
        assert_eq!(sound.manifest.status, Status::Complete);
        assert!(sound.asked > 20, "{name}: only {} IOs", sound.asked);
        for _ in 0..points {
            for fault in faults(&mut random) {
                let number = random.u64(0..sound.asked);
                let what = format!("{name}, {fault:?} at IO {number}");
                let measured = measure(plan, State::Keep, &[(number, fault)]);
                assert_kept(&sound, &measured, number, &what);
                assert_reported(&measured, &what);
                injected += 1;
            }
        }
    }
    injected
}

// For every kind of run and fault: the records from before the fault are kept and readable, and the
// result names the fault and its IO.
#[test]
fn records_survive_faults_and_faults_are_reported() {
    println!("{} faults were injected while drives were measured", inject(POINTS, 13));
}

// The same claim at 40 times as many points.
#[test]
#[ignore = "takes minutes: scripts/test-trust runs it"]
fn records_survive_faults_at_many_points() {
    println!("{} faults were injected while drives were measured", inject(40 * POINTS, 16));
}

#[test]
fn a_fault_during_a_fill_ends_the_plan_and_is_reported() {
    let mut random = fastrand::Rng::with_seed(14);
    let plan = some_runs("order");
    for _ in 0..POINTS {
        for fault in faults(&mut random) {
            let number = random.u64(0..512);
            let measured = measure(&plan, State::Sequential, &[(number, fault)]);
            let [(_, io)] = measured.struck[..] else { panic!("{:?}", measured.struck) };
            let Some(errno) = reported_as(fault, &io) else {
                assert_eq!(measured.ended.unwrap(), Status::Complete);
                continue;
            };
            let said = measured.ended.unwrap_err().to_string();
            let io = format!("{errno} at a {} of {} at offset {}", io.op, io.len, io.offset.0);
            assert!(said.starts_with("cannot bring the drive into its state: "), "{said}");
            assert!(said.contains(&io) || errno == Errno::EPROTO, "{said} without {io}");
            assert_eq!(measured.manifest.status, Status::Failed);
            assert!(
                runs_of(&measured.manifest.micro_benchmarks).all(|run| run.progress.ios() == 0)
            );
        }
    }
}

// A regression test: the missing answer ended the run as if the trace were too short, with the
// message that the trace had been changed.
#[test]
fn a_lost_answer_times_out_instead_of_ending_a_short_trace() {
    let measured = measure(&some_runs("order"), State::Keep, &[(5, Fault::Lost)]);
    assert_eq!(measured.ended.unwrap(), Status::Failed);
    let records = &measured.records[&1];
    assert_eq!((records.len(), records[5].result), (6, Err(Errno::ETIMEDOUT)));
}

// A regression test: each remaining run was tried on the removed drive, after its pause.
#[test]
fn a_removed_drive_gets_no_further_ios() {
    let measured = measure(&some_runs("order"), State::Keep, &[(40, Fault::Removed)]);
    assert_eq!(measured.asked, 41);
    let pending = measured.manifest.runs().filter(|run| run.progress == Progress::Pending);
    assert!(pending.count() > 1);
}

// A regression test: the difference of times wrapped around to centuries.
#[test]
fn a_clock_that_goes_back_ends_its_run() {
    let back = Fault::Back(Nanos::millis(3));
    let measured = measure(&some_runs("order"), State::Keep, &[(35, back), (70, back)]);
    assert!(measured.manifest.spent.time_ns < Nanos::secs(3600), "{:?}", measured.manifest.spent);
    let failed = |run: &&Run| matches!(run.progress, Progress::Failed { errno: Errno::EPROTO, .. });
    assert_eq!(measured.manifest.runs().filter(failed).count(), 2);
}
