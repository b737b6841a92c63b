//! Whole benchmarks on a drive with scripted answers.

mod again;
mod drive;
mod erasing;
mod faults;
mod grid;
mod methodology;
mod placement;
mod rounds;

use std::sync::atomic::AtomicBool;

use drive::{ScriptedDrive, bench, manifest, short};
use flashscope_block::{Bytes, Completion, Errno, Nanos, Op};
use flashscope_document::manifest::{OnError, Progress, State, Status};
use flashscope_measure::{RunEnd, execute};
use flashscope_result::ResultFolder;
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};

const LATENCY: Nanos = Nanos::micros(100);

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

fn run(device: &mut ScriptedDrive, reference: &Reference) -> (RunEnd, Vec<Completion>) {
    let mut completions = vec![];
    let stop = AtomicBool::new(false);
    let ended = execute(
        device,
        &mut flashscope_trace::streams(reference).unwrap(),
        1,
        &stop,
        |_, completion| {
            completions.push(*completion);
            Ok::<(), ()>(())
        },
    );
    (ended.unwrap(), completions)
}

// One IO of each stream is in flight, and each stream keeps its own pace.
#[test]
fn parallel_streams_are_concurrent() {
    let mut device = ScriptedDrive::even(LATENCY);
    let reference = Reference::Parallel { pattern: pattern(Timing::Consecutive, 40), degree: 4 };
    let (ended, completions) = run(&mut device, &reference);
    assert_eq!((ended, completions.len()), (RunEnd::Complete, 40));
    assert_eq!(device.now, Nanos(LATENCY.0 * 10));
    for stream in 0..4 {
        let own: Vec<_> = completions.iter().filter(|c| c.io.stream == stream).collect();
        assert!(own.windows(2).all(|pair| pair[1].submitted == pair[0].completed));
    }
}

// A pause counts from the completion of an IO, to the nanosecond.
#[test]
fn pauses_are_exact() {
    let mut device = ScriptedDrive::even(LATENCY);
    let pause = Nanos::micros(250);
    let reference = Reference::Basic { pattern: pattern(Timing::Pause { pause }, 5) };
    run(&mut device, &reference);
    let submitted: Vec<u64> = device.log.iter().map(|(at, _)| at.0 / 1000).collect();
    assert_eq!(submitted, [0, 350, 700, 1050, 1400]);
}

#[test]
fn pauses_of_one_stream_do_not_delay_others() {
    let mut device = ScriptedDrive::even(LATENCY);
    let timing = Timing::Burst { pause: Nanos::millis(1), burst: 2 };
    let reference = Reference::Parallel { pattern: pattern(timing, 12), degree: 3 };
    let (ended, completions) = run(&mut device, &reference);
    assert_eq!((ended, completions.len()), (RunEnd::Complete, 12));
    let submitted: Vec<u64> = device.log.iter().map(|(at, _)| at.0 / 1000).collect();
    assert_eq!(submitted, [0, 0, 0, 100, 100, 100, 1200, 1200, 1200, 1300, 1300, 1300]);
}

// The error is recorded with errno and offset, and everything before it is kept.
#[test]
fn an_error_ends_only_its_run() {
    let mut device = ScriptedDrive::even(LATENCY);
    device.fail_at = Some(5);
    let mut manifest = manifest(&device, &["order"], short(State::Keep, OnError::Continue));
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

#[test]
fn an_error_ends_the_benchmark_if_the_options_say_so() {
    let mut device = ScriptedDrive::even(LATENCY);
    device.fail_at = Some(5);
    let mut manifest = manifest(&device, &["order"], short(State::Keep, OnError::Stop));
    let (status, ..) = bench(&mut device, &mut manifest, &AtomicBool::new(false));
    assert_eq!(status, Status::Failed);
    assert_eq!(manifest.runs().filter(|run| run.progress.ios() > 0).count(), 1);
}

#[test]
fn an_interruption_keeps_the_completed_ios() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut device = ScriptedDrive::even(LATENCY);
    device.stop_at = Some((100, &STOP));
    let mut manifest = manifest(&device, &["pause"], short(State::Keep, OnError::Continue));
    let (status, folder, _parent) = bench(&mut device, &mut manifest, &STOP);
    assert_eq!((status, device.log.len()), (Status::Interrupted, 100));
    let ios: u64 = manifest.runs().map(|run| run.progress.ios()).sum();
    let rows: u64 = manifest.runs().map(|run| folder.rows(run.id).unwrap().total()).sum();
    assert_eq!((ios, rows), (100, 100));
    assert_eq!(ResultFolder::open(folder.path()).unwrap().1, manifest);
}

// The whole target space is written once, before any other IO.
#[test]
fn the_state_is_enforced_first() {
    for state in [State::Sequential, State::Random] {
        let mut device = ScriptedDrive::even(LATENCY);
        let mut manifest = manifest(&device, &["order"], short(state, OnError::Continue));
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

#[test]
fn runs_are_separated_by_the_requested_pause() {
    let mut device = ScriptedDrive::even(LATENCY);
    let mut manifest = manifest(&device, &["order"], short(State::Keep, OnError::Continue));
    bench(&mut device, &mut manifest, &AtomicBool::new(false));
    let starts: Vec<Nanos> = device.log.iter().step_by(32).map(|(at, _)| *at).collect();
    assert_eq!(starts.len(), 22);
    let apart = Nanos::secs(1) + Nanos(LATENCY.0 * 32);
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == apart));
}
