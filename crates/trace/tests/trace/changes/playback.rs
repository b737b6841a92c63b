use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Io, Nanos, Op};
use flashscope_trace::{Request, Survey};
use flashscope_workload::Stream;
use flashscope_workload::playback::{Pace, Playback};

use super::{Folder, write_at};

fn playback(folder: &Folder, pace: Pace) -> Playback {
    Playback {
        files: vec![folder.at("t.parquet").to_str().unwrap().into()],
        fields: BTreeMap::new(),
        pace,
        capacity: Bytes::mib(64),
        logical_block: Bytes(4096),
        longest: Bytes::mib(1),
    }
}

fn survey(playback: &Playback) -> Result<Survey, String> {
    let stop = AtomicBool::new(false);
    let survey =
        flashscope_trace::survey(playback, &stop, |_| {}).map_err(|error| error.to_string())?;
    Ok(survey.expect("nobody stops it"))
}

/// Returns the IOs of a replay from 1 ms on, each completed after 10 µs.
fn played(playback: &Playback) -> Vec<Io> {
    let mut stream = flashscope_trace::replay(playback).unwrap();
    let mut now = Nanos::millis(1);
    let next = || {
        let io = stream.next(now)?;
        now = io.at.max(now) + Nanos::micros(10);
        Some(io)
    };
    let ios = std::iter::from_fn(next).collect();
    assert!(stream.error().take().is_none());
    ios
}

// IOs are due at their recorded times, or as fast as completions allow.
#[test]
fn ios_follow_their_times_or_completions() {
    let folder = Folder::new();
    let times = [5_000_000, 5_100_000, 5_050_000, 9_000_000];
    let requests: Vec<Request> = times.map(|at| write_at(at, at / 1_000_000 * 4096)).to_vec();
    folder.write("t.parquet", &["v"], &requests);
    let at = |pace| -> Vec<u64> {
        played(&playback(&folder, pace)).iter().map(|io| io.at.0 / 1000).collect()
    };
    // A request out of order is due at its issue time.
    assert_eq!(at(Pace::Timed), [1000, 1100, 1050, 5000]);
    assert_eq!(at(Pace::Asap), [1000, 1010, 1020, 1030]);
}

// Requests become whole logical blocks, long ones are split, and the survey counts the results.
#[test]
fn requests_become_whole_blocks_and_parts() {
    let folder = Folder::new();
    let request =
        |op, offset, len| Request { op, offset: Bytes(offset), len: Bytes(len), ..write_at(0, 0) };
    folder.write(
        "t.parquet",
        &["v"],
        &[
            request(Op::Read, 5000, 100),
            request(Op::Write, 4095, 2),
            request(Op::Trim, 4095, 4098),
            request(Op::Trim, 1, 4096),
            request(Op::Flush, 0, 0),
            request(Op::Write, 8 << 20, (2 << 20) + 4096),
        ],
    );
    let playback = playback(&folder, Pace::Asap);
    let ios: Vec<_> = played(&playback).iter().map(|io| (io.op, io.offset.0, io.len.0)).collect();
    assert_eq!(
        ios,
        [
            (Op::Read, 4096, 4096),
            (Op::Write, 0, 8192),
            (Op::Trim, 4096, 4096),
            (Op::Flush, 0, 0),
            (Op::Write, 8 << 20, 1 << 20),
            (Op::Write, 9 << 20, 1 << 20),
            (Op::Write, 10 << 20, 4096),
        ]
    );
    let survey = survey(&playback).unwrap();
    assert_eq!((survey.requests, survey.ios), (6, 7));
    assert_eq!((survey.by_op, survey.fitted, survey.parted), ([1, 2, 2, 1], 4, 1));
    assert_eq!(survey.end, Bytes((10 << 20) + 4096));
    assert!(survey.modifies());
}

// A trace that does not fit the drive is refused before the replay, with a remedy.
#[test]
fn a_trace_that_does_not_fit_is_refused() {
    let folder = Folder::new();
    let beyond = write_at(0, 64 << 20);
    folder.write("t.parquet", &["v", "w"], &[beyond]);
    let mut one = playback(&folder, Pace::Timed);
    let error = survey(&one).unwrap_err();
    assert!(
        error.contains("reaches up to 64 MiB (67112960 B), and the drive has 64 MiB"),
        "{error}"
    );
    one.fields.insert("remap".into(), "fold".into());
    assert_eq!(survey(&one).unwrap().end, Bytes(4096));
    one.fields = BTreeMap::from([("ops".into(), "read".into())]);
    let error = survey(&one).unwrap_err();
    assert!(error.contains("it has no requests, or the options select none"), "{error}");
    let folder = Folder::new();
    let second = Request { volume: 1, ..write_at(0, 0) };
    folder.write("t.parquet", &["v", "w"], &[write_at(0, 0), second]);
    let error = survey(&playback(&folder, Pace::Timed)).unwrap_err();
    assert!(error.contains("it has 2 volumes for one drive"), "{error}");
}

// Reading stops on request, and a damaged trace reports its error in the replay.
#[test]
fn stops_on_request_and_reports_errors() {
    let folder = Folder::new();
    folder.write("t.parquet", &["v"], &[write_at(0, 0)]);
    let playback = playback(&folder, Pace::Timed);
    assert_eq!(flashscope_trace::survey(&playback, &AtomicBool::new(true), |_| {}).unwrap(), None);
    std::fs::write(folder.at("t.parquet"), "128166372003061629,hm,1,Read,0,4096,1\nnonsense\n")
        .unwrap();
    let mut stream = flashscope_trace::replay(&playback).unwrap();
    assert_eq!(stream.next(Nanos(0)).map(|io| io.op), Some(Op::Read));
    assert_eq!(stream.next(Nanos(0)), None);
    let error = stream.error().take().expect("the second line").to_string();
    assert!(error.contains("line 2"), "{error}");
}
