//! Tests in rounds on a drive that becomes steady in a known round, or never.

use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Io, Nanos, Op};
use flashscope_document::manifest::{
    Experiment, Manifest, MicroBenchmark, OnError, Options, Progress, Run, State, Status,
};
use flashscope_document::rounds::{Metric, Rounds};
use flashscope_measure::pts;
use flashscope_result::ResultFolder;
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};
use flashscope_workload::uflip::{Setup, Unit};

use crate::bench::drive::{ScriptedDrive, bench, go_on, place, planned, short};

const MAX_ROUNDS: i64 = 25;

/// Answers one IO after the other. The latency in µs depends on the mebibyte of the IO; the last
/// entry holds for all later mebibytes.
fn aging(micros: &'static [u64]) -> ScriptedDrive {
    let mut idle_from = Nanos(0);
    let mut device = ScriptedDrive::new(move |io: &Io, now: Nanos| {
        let place = usize::try_from(io.offset.0 >> 20).unwrap().min(micros.len() - 1);
        idle_from = idle_from.max(now) + Nanos::micros(micros[place]);
        idle_from - now
    });
    device.info.capacity = Bytes::mib(64);
    device
}

/// Returns the bytes that `device` moved for one operation.
fn moved(device: &ScriptedDrive, op: Op) -> Bytes {
    Bytes(device.log.iter().filter(|(_, io)| io.op == op).map(|(_, io)| io.len.0).sum())
}

fn manifest(
    device: &ScriptedDrive,
    state: State,
    plan: Vec<MicroBenchmark>,
    rounds: Rounds,
) -> Manifest {
    let options = Options {
        setup: Setup::paper(Bytes::mib(64), 1),
        spare: None,
        run_pause_ns: Nanos(0),
        rounds: Some(rounds),
        ..short(state, OnError::Continue)
    };
    planned(device, options, plan)
}

/// Rounds of writes for 100 ms each, in round n to the n-th mebibyte, and of reads, which are not
/// tracked.
fn in_rounds(device: &ScriptedDrive) -> Manifest {
    let run = |op: Op, round: i64, id: u32| {
        let pattern = Pattern {
            op,
            address: Address::Random,
            timing: Timing::Consecutive,
            io_size: Bytes::kib(4),
            io_shift: Bytes(0),
            target_offset: Bytes::mib(u64::try_from(round - 1).unwrap()),
            target_size: Bytes::MIB,
            io_count: 1_000_000,
            io_ignore: 0,
            seed: id.into(),
        };
        let reads_percent = if op == Op::Read { 100 } else { 0 };
        let time = Some(Nanos::millis(100));
        Run::new(id, round, Reference::Blend { pattern, reads_percent, queue_depth: 4, time })
    };
    let runs = |op, first: u32| {
        (1..=MAX_ROUNDS).zip((first..).step_by(2)).map(|(round, id)| run(op, round, id)).collect()
    };
    let test = MicroBenchmark {
        name: "aging".into(),
        title: "Aging".into(),
        question: "When is it steady?".into(),
        parameter: "Round".into(),
        unit: Unit::Count,
        experiments: vec![
            Experiment { name: "R".into(), runs: runs(Op::Read, 1) },
            Experiment { name: "W".into(), runs: runs(Op::Write, 2) },
        ],
    };
    let rule = Rounds {
        test: "aging".into(),
        tracked: vec!["W".into()],
        metric: Metric::Iops,
        window: 5,
        range: 0.2,
        slope: 0.1,
        until_steady: true,
        most_bytes: None,
        round_ns: Nanos::millis(100),
        specified_round_ns: Nanos::millis(100),
    };
    manifest(device, State::Keep, vec![test], rule)
}

/// Returns the last round that was run, and the reasons for skipping the others.
fn rounds(manifest: &Manifest) -> (i64, Vec<String>) {
    let done = manifest.runs().filter(|run| matches!(run.progress, Progress::Done { .. }));
    let mut reasons: Vec<String> = manifest
        .runs()
        .filter_map(|run| match &run.progress {
            Progress::Skipped { reason } => Some(reason.clone()),
            _ => None,
        })
        .collect();
    reasons.dedup();
    (done.map(|run| run.value).max().unwrap_or(0), reasons)
}

/// 10,000, 8,333, 6,667, 5,556 and then 5,000 writes a second. Over rounds 3 to 7 the range is 31 %
/// of the mean; over rounds 4 to 8 it is 11 % and the line falls by 9 %.
const DECAYING: &[u64] = &[100, 120, 150, 180, 200];

// The steady round is run completely, and the remaining runs name the reason for being skipped.
#[test]
fn a_test_ends_when_the_drive_is_steady() {
    let mut device = aging(DECAYING);
    let mut manifest = in_rounds(&device);
    let (status, ..) = bench(&mut device, &mut manifest, &AtomicBool::new(false));
    assert_eq!(status, Status::Complete);
    assert_eq!(rounds(&manifest), (8, vec!["steady since round 4".into()]));
    let done = manifest.runs().filter(|run| matches!(run.progress, Progress::Done { .. }));
    assert_eq!(done.count(), 16);
    let values = manifest.tracked_values("W");
    let values: Vec<String> = values.iter().map(|value| format!("{:.0}", value.unwrap())).collect();
    assert_eq!(values.join(" "), "10000 8333 6667 5556 5000 5000 5000 5000");
}

#[test]
fn a_drive_that_is_never_steady_runs_all_rounds() {
    // Alternates between 100 and 130 µs: the range exceeds 20 % of the mean.
    let unsteady: &[u64] = &[
        100, 130, 100, 130, 100, 130, 100, 130, 100, 130, 100, 130, 100, 130, 100, 130, 100, 130,
        100, 130, 100, 130, 100, 130, 100,
    ];
    // Slows down by 3 % a round: the range of 12 % is within bounds, but the fall is not.
    let falling: &[u64] = &[
        1000, 1030, 1061, 1093, 1126, 1159, 1194, 1230, 1267, 1305, 1344, 1384, 1426, 1469, 1513,
        1558, 1605, 1653, 1702, 1754, 1806, 1860, 1916, 1974, 2033,
    ];
    for micros in [unsteady, falling] {
        let mut device = aging(micros);
        let mut manifest = in_rounds(&device);
        let (status, ..) = bench(&mut device, &mut manifest, &AtomicBool::new(false));
        assert_eq!(status, Status::Complete);
        assert_eq!(rounds(&manifest), (MAX_ROUNDS, vec![]));
    }
}

#[test]
fn a_resumed_test_ends_in_the_same_round() {
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    for stop_at in [3, 1_990, 2_400, 6_000, 9_000, 10_090] {
        let mut device = aging(DECAYING);
        let mut manifest = in_rounds(&device);
        let parent = place();
        let folder = ResultFolder::create(&parent.path().join("r"), &manifest).unwrap();
        device.stop_at = Some((stop_at, stop));
        let status = go_on(&mut device, &mut manifest, stop, &folder).unwrap();
        assert_eq!(status, Status::Interrupted, "{stop_at}");
        device.stop_at = None;
        stop.store(false, Ordering::Relaxed);
        let interrupted = |run: &&mut Run| matches!(run.progress, Progress::Interrupted { .. });
        for run in manifest.runs_mut().filter(interrupted) {
            run.progress = Progress::Pending;
        }
        folder.discard_unfinished(&manifest).unwrap();
        let status = go_on(&mut device, &mut manifest, stop, &folder).unwrap();
        assert_eq!(status, Status::Complete);
        assert_eq!(rounds(&manifest), (8, vec!["steady since round 4".into()]), "{stop_at}");
    }
}

// The drive is purged again only if no run of the test was done.
#[test]
fn a_resumed_test_leaves_the_drive_as_it_is() {
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    // Stops once in the preconditioning of 1,024 writes, and once in the rounds.
    for (stop_at, purges) in [(500, 2), (1_100, 1)] {
        let mut device = aging(&[10_000]);
        let mut manifest = of_snia(&device, "pts-throughput-128k", State::Purged);
        let parent = place();
        let folder = ResultFolder::create(&parent.path().join("r"), &manifest).unwrap();
        device.stop_at = Some((stop_at, stop));
        let status = go_on(&mut device, &mut manifest, stop, &folder).unwrap();
        assert_eq!(status, Status::Interrupted);
        device.stop_at = None;
        stop.store(false, Ordering::Relaxed);
        let interrupted = |run: &&mut Run| matches!(run.progress, Progress::Interrupted { .. });
        manifest.runs_mut().filter(interrupted).for_each(|run| run.progress = Progress::Pending);
        folder.discard_unfinished(&manifest).unwrap();
        assert_eq!(go_on(&mut device, &mut manifest, stop, &folder).unwrap(), Status::Complete);
        assert_eq!(moved(&device, Op::Trim), Bytes::mib(64 * purges), "{stop_at}");
        assert!(matches!(manifest.runs().next().unwrap().progress, Progress::Done { ios: 1024 }));
    }
}

// The failed round has no value, so the windows that hold it are not steady.
#[test]
fn a_failed_round_is_not_steady() {
    let mut device = aging(&[100]);
    // The failure is among the writes of round 2.
    device.fail_at = Some(3_500);
    let mut manifest = in_rounds(&device);
    bench(&mut device, &mut manifest, &AtomicBool::new(false));
    assert_eq!(manifest.tracked_values("W")[..2], [Some(10_000.0), None]);
    assert_eq!(rounds(&manifest), (7, vec!["steady since round 3".into()]));
}

fn of_snia(device: &ScriptedDrive, name: &str, state: State) -> Manifest {
    let choice = pts::Choice { round: Nanos::millis(100), queue_depth: None, max_rounds: None };
    let setup = Setup::paper(Bytes::mib(64), 1);
    let (rule, plan) = pts::find(name).unwrap().plan(&setup, choice, &device.info).unwrap();
    manifest(device, state, plan, rule)
}

#[test]
fn saturation_ends_after_four_capacities_though_steady() {
    let mut device = aging(&[10]);
    let mut manifest = of_snia(&device, "pts-write-saturation", State::Purged);
    bench(&mut device, &mut manifest, &AtomicBool::new(false));
    // Each round has 10,000 writes and 15 that are in flight at its end; 65,536 writes are four
    // times 64 MiB.
    let (rounds, reasons) = rounds(&manifest);
    assert_eq!((rounds, reasons.len()), (7, 1));
    assert!(reasons[0].ends_with("were written up to the end of round 7"), "{reasons:?}");
    assert!(
        moved(&device, Op::Write) >= Bytes::mib(256) && moved(&device, Op::Write) < Bytes::mib(300)
    );
    assert_eq!(manifest.written_before(i64::MAX), moved(&device, Op::Write));
}

// The purge fails before anything is written, but the test runs with `State::Keep`.
#[test]
fn drives_without_trim_are_refused_a_purge() {
    let mut device = aging(&[10]);
    device.knows_trims = false;
    let mut manifest = of_snia(&device, "pts-throughput", State::Purged);
    let parent = place();
    let folder = ResultFolder::create(&parent.path().join("r"), &manifest).unwrap();
    let stop = AtomicBool::new(false);
    let refused = go_on(&mut device, &mut manifest, &stop, &folder).unwrap_err().to_string();
    assert!(refused.ends_with("cannot be purged, choose another --state"), "{refused}");
    assert_eq!(moved(&device, Op::Write), Bytes(0));
    let mut manifest = of_snia(&device, "pts-throughput", State::Keep);
    assert_eq!(bench(&mut device, &mut manifest, &stop).0, Status::Complete);
    assert_eq!(rounds(&manifest), (5, vec!["steady since round 1".into()]));
    assert!(moved(&device, Op::Write) >= Bytes::mib(128));
}
