//! Repetition of a result on another drive.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos, Op};
use flashscope_document::manifest::{OnError, Options, State};
use flashscope_measure::{RunEnd, again};
use flashscope_workload::uflip::{PerBaseline, Setup};

use super::drive::{ScriptedDrive, bench, manifest, short};

fn drive() -> ScriptedDrive {
    ScriptedDrive::new(|io, _| Nanos::micros(if io.op == Op::Read { 100 } else { 700 }))
}

#[test]
fn another_drive_gets_the_same_ios_at_the_same_times() {
    let (mut one, mut other, stop) = (drive(), drive(), AtomicBool::new(false));
    let benchmarks = ["granularity", "parallelism", "pause"];
    let setup = Setup { io_count: PerBaseline::same(300), ..Setup::paper(Bytes::mib(64), 1) };
    let options = Options { setup, ..short(State::Random, OnError::Continue) };
    let mut manifest = manifest(&one, &benchmarks, options);
    bench(&mut one, &mut manifest, &stop);
    assert!(manifest.runs().any(|run| run.reset));
    let mut calls = 0;
    let ended = again(&mut other, &manifest, None, &stop, |_, _, _| {
        calls += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(ended.unwrap(), RunEnd::Complete);
    assert_eq!(calls, manifest.runs().map(|run| run.progress.ios()).sum::<u64>());
    assert_eq!(one.log, other.log);
    assert_eq!(one.now(), other.now());
}

#[test]
fn the_repetition_ends_with_the_last_requested_run() {
    let (mut drive, stop) = (drive(), AtomicBool::new(false));
    let mut manifest = manifest(&drive, &["order"], short(State::Keep, OnError::Continue));
    bench(&mut drive, &mut manifest, &stop);
    let mut runs = Vec::new();
    let ended = again(&mut drive, &manifest, Some(2), &stop, |run, _, _| {
        runs.push(run.id);
        ControlFlow::Continue(())
    });
    runs.dedup();
    assert_eq!((ended.unwrap(), runs), (RunEnd::Complete, vec![1, 2]));
}

#[test]
fn a_callback_can_end_the_repetition() {
    let (mut drive, stop) = (drive(), AtomicBool::new(false));
    let mut manifest = manifest(&drive, &["order"], short(State::Keep, OnError::Continue));
    bench(&mut drive, &mut manifest, &stop);
    let mut calls = 0;
    let ended = again(&mut drive, &manifest, None, &stop, |_, _, _| {
        calls += 1;
        if calls < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!((ended.unwrap(), calls), (RunEnd::Interrupted, 3));
    assert!(drive.complete(Nanos::MAX).is_none());
}
