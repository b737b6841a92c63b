//! Runs of a grid, in which IOs count only once the cost is level.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Nanos};
use flashscope_document::manifest::{Manifest, OnError, Options, Run, State, Status};
use flashscope_document::methodology::{EndedBy, Methodology, Precision};
use flashscope_measure::grid::GridOptions;
use flashscope_workload::pattern::{Reference, UniformWrites};
use flashscope_workload::uflip::Setup;

use crate::bench::drive::{ScriptedDrive, bench, planned, short};

/// Plans one point: writes of a page to 8 MiB, with 8 MiB of free space.
fn one_point(device: &mut ScriptedDrive) -> Manifest {
    device.info.capacity = Bytes::mib(16);
    let choice = GridOptions {
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

#[test]
fn a_level_drive_counts_after_five_windows() {
    let mut device = ScriptedDrive::even(Nanos::micros(100));
    let mut manifest = one_point(&mut device);
    assert_eq!(bench(&mut device, &mut manifest, &AtomicBool::new(false)).0, Status::Complete);
    let (run, writes) = only_run(&manifest);
    assert!(run.level.unwrap().steady && run.level.unwrap().inside.is_none());
    assert_eq!((writes.io_ignore, run.progress.ios()), (5 * WINDOW, 7 * WINDOW));
    assert_eq!(run.length.unwrap().ended_by, EndedBy::Precision);
}

#[test]
fn ios_before_the_level_are_ignored() {
    let mut count = 0;
    let mut device = ScriptedDrive::new(move |_, _| {
        count += 1;
        Nanos::micros(100 + 100 * (count / WINDOW).min(12))
    });
    let mut manifest = one_point(&mut device);
    bench(&mut device, &mut manifest, &AtomicBool::new(false));
    let (run, writes) = only_run(&manifest);
    assert!(run.level.unwrap().steady);
    // The level starts at the thirteenth window. The line through the window before it and four of
    // its windows rises by 6 %.
    assert_eq!(writes.io_ignore, 17 * WINDOW);
}

#[test]
fn a_drive_that_is_never_level_is_measured_and_marked() {
    let mut count = 0;
    let mut device = ScriptedDrive::new(move |_, _| {
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
