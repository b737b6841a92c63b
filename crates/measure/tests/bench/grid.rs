//! Runs that count only once the drive is used to them.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Nanos};
use flashscope_measure::grid::Choice;
use flashscope_result::manifest::{Manifest, OnError, Options, Run, State, Status};
use flashscope_result::methodology::{EndedBy, Methodology, Precision};
use flashscope_workload::pattern::{Reference, UniformWrites};
use flashscope_workload::uflip::Setup;

use crate::drive::{Scripted, bench, planned, short};

/// One point: writes of a page to 8 MiB, with 8 MiB beside them.
fn one_point(device: &mut Scripted) -> Manifest {
    device.info.capacity = Bytes::mib(16);
    let choice = Choice {
        page: Bytes::kib(4),
        lengths: vec![1],
        free_spaces: vec![1.0],
        physical_capacity: Some(Bytes::mib(24)),
    };
    let rule = choice.rule(device).unwrap();
    let setup = Setup::paper(device.info.capacity, 1);
    let methodology =
        Methodology { precision: Some(Precision::default()), ..Methodology::default() };
    let run_pause_ns = Nanos(0);
    let short = short(State::Keep, OnError::Continue);
    let options = Options { setup, methodology, run_pause_ns, grid: Some(rule), ..short };
    let plan = choice.plan(&rule, &options, &device.info).unwrap();
    planned(device, options, plan)
}

fn only_run(manifest: &Manifest) -> (&Run, &UniformWrites) {
    let run = manifest.runs().next().unwrap();
    let Reference::Uniform { writes } = &run.reference else { panic!("{:?}", run.reference) };
    (run, writes)
}

/// Writes in a window of 8 MiB.
const WINDOW: u64 = 2048;

// Does a drive count at once that is level from the start, and for as long as it must?
#[test]
fn a_level_drive_counts_after_five_windows() {
    let mut device = Scripted::even(Nanos::micros(100));
    let mut manifest = one_point(&mut device);
    assert_eq!(bench(&mut device, &mut manifest, &AtomicBool::new(false)).0, Status::Complete);
    let (run, writes) = only_run(&manifest);
    assert!(run.level.unwrap().steady && run.level.unwrap().inside.is_none());
    assert_eq!((writes.io_ignore, run.progress.ios()), (5 * WINDOW, 7 * WINDOW));
    assert_eq!(run.length.unwrap().ended_by, EndedBy::Precision);
}

// Is what comes before the drive is level left out, however long that takes?
#[test]
fn what_comes_before_is_left_out() {
    let mut count = 0;
    let mut device = Scripted::new(move |_, _| {
        count += 1;
        Nanos::micros(100 + 100 * (count / WINDOW).min(12))
    });
    let mut manifest = one_point(&mut device);
    bench(&mut device, &mut manifest, &AtomicBool::new(false));
    let (run, writes) = only_run(&manifest);
    assert!(run.level.unwrap().steady);
    // From the thirteenth window on. The line through the one before it and four of them rises by 6 %.
    assert_eq!(writes.io_ignore, 17 * WINDOW);
}

// Is a drive that never is level measured all the same, and said not to be?
#[test]
fn a_drive_that_is_never_level_is_said_not_to_be() {
    let mut count = 0;
    let mut device = Scripted::new(move |_, _| {
        count += 1;
        Nanos::micros(if (count / WINDOW).is_multiple_of(2) { 100 } else { 200 })
    });
    let mut manifest = one_point(&mut device);
    bench(&mut device, &mut manifest, &AtomicBool::new(false));
    let (run, writes) = only_run(&manifest);
    assert!(!run.level.unwrap().steady);
    assert_eq!(writes.io_ignore, 25 * WINDOW);
    assert_eq!((run.length.unwrap().ended_by, run.progress.ios()), (EndedBy::Bytes, 45 * WINDOW));
}
