//! What was measured on one drive, done again on another.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos, Op};
use flashscope_measure::{Ended, again};
use flashscope_result::manifest::{OnError, Options, State};
use flashscope_workload::uflip::{PerBaseline, Setup};

use super::drive::{Scripted, bench, manifest, short};

fn drive() -> Scripted {
    Scripted::new(|io, _| Nanos::micros(if io.op == Op::Read { 100 } else { 700 }))
}

// Does another drive get the same IOs at the same times, fills, resets and pauses among them?
#[test]
fn everything_is_done_again() {
    let (mut one, mut other, stop) = (drive(), drive(), AtomicBool::new(false));
    let benchmarks = ["granularity", "parallelism", "pause"];
    let setup = Setup { io_count: PerBaseline::same(300), ..Setup::paper(Bytes::mib(64), 1) };
    let options = Options { setup, ..short(State::Random, OnError::Continue) };
    let mut manifest = manifest(&one, &benchmarks, options);
    bench(&mut one, &mut manifest, &stop);
    assert!(manifest.runs().any(|run| run.reset));
    let mut told = 0;
    let ended = again(&mut other, &manifest, None, &stop, |_, _, _| {
        told += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(ended.unwrap(), Ended::Complete);
    assert_eq!(told, manifest.runs().map(|run| run.progress.ios()).sum::<u64>());
    assert_eq!(one.log, other.log);
    assert_eq!(one.now(), other.now());
}

// Does it end with the last run that is wanted?
#[test]
fn no_more_than_is_wanted() {
    let (mut drive, stop) = (drive(), AtomicBool::new(false));
    let mut manifest = manifest(&drive, &["order"], short(State::Keep, OnError::Continue));
    bench(&mut drive, &mut manifest, &stop);
    let mut runs = Vec::new();
    let ended = again(&mut drive, &manifest, Some(2), &stop, |run, _, _| {
        runs.push(run.id);
        ControlFlow::Continue(())
    });
    runs.dedup();
    assert_eq!((ended.unwrap(), runs), (Ended::Complete, vec![1, 2]));
}

// Does it end at once where who is told has seen enough, with nothing left in flight?
#[test]
fn enough_is_enough() {
    let (mut drive, stop) = (drive(), AtomicBool::new(false));
    let mut manifest = manifest(&drive, &["order"], short(State::Keep, OnError::Continue));
    bench(&mut drive, &mut manifest, &stop);
    let mut told = 0;
    let ended = again(&mut drive, &manifest, None, &stop, |_, _, _| {
        told += 1;
        if told < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!((ended.unwrap(), told), (Ended::Interrupted, 3));
    assert!(drive.complete(Nanos::MAX).is_none());
}
