//! Repeats the runs of one drive's result on another drive.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Completion, Device, Nanos};
use flashscope_document::manifest::{Manifest, Progress, Run};

use crate::execute::{RunEnd, execute_streams, fill};
use crate::execution::Until;
use crate::order;
use crate::state::{rest_after_state, state_fill};

/// Repeats the recorded work of `manifest` on `device`, in the same order and with the same seeds.
/// The work is the state, the pauses and the recorded number of IOs of each run.
///
/// Passes every completion to `each`, with its run and the start time of that run; `each` ends the
/// repetition if it returns `Break`. If `last` is given, stops after that run, which must have been
/// executed.
///
/// If the recorded state is `formatted` or `sanitized`, assumes that `device` is already trimmed.
///
/// # Errors
/// A trace of the plan cannot be read.
pub fn again<D: Device + ?Sized>(
    device: &mut D,
    manifest: &Manifest,
    last: Option<u32>,
    stop: &AtomicBool,
    mut each: impl FnMut(&Run, Nanos, &Completion) -> ControlFlow<()>,
) -> Result<RunEnd, flashscope_trace::Error> {
    let mut pause = manifest.options.run_pause_ns;
    let mut fresh = enforce(device, manifest, pause, stop);
    for id in order(&manifest.micro_benchmarks) {
        let Some(run) = manifest.runs().find(|run| run.id == id) else { continue };
        if matches!(run.progress, Progress::Skipped { .. } | Progress::Pending) {
            continue;
        }
        if run.reset && !fresh {
            fresh = enforce(device, manifest, pause, stop);
        }
        device.idle_until(device.now() + pause);
        let ended = repeat(device, run, stop, &mut each)?;
        if ended != RunEnd::Complete || last == Some(id) {
            return Ok(ended);
        }
        fresh &= !run.reference.writes();
        if manifest.options.methodology.finds_run_pause {
            let mut looks = manifest.findings.interference.iter();
            pause = looks.find(|look| look.run == id).map_or(pause, |look| look.run_pause_ns);
        }
    }
    Ok(RunEnd::Complete)
}

/// Enforces the state and then leaves the drive idle. Returns `false` if the state requires no
/// writes or trims.
fn enforce<D: Device + ?Sized>(
    device: &mut D,
    manifest: &Manifest,
    pause: Nanos,
    stop: &AtomicBool,
) -> bool {
    let (began, block) = (device.now(), device.info().logical_block);
    let Some(stream) = state_fill(&manifest.options, block) else { return false };
    fill(device, stream, stop, |_: Bytes| {});
    let took = device.now().since(began);
    device.idle_until(device.now() + rest_after_state(took, pause));
    true
}

/// Repeats as many IOs of a run as were recorded.
fn repeat<D: Device + ?Sized>(
    device: &mut D,
    run: &Run,
    stop: &AtomicBool,
    each: &mut impl FnMut(&Run, Nanos, &Completion) -> ControlFlow<()>,
) -> Result<RunEnd, flashscope_trace::Error> {
    let enough = Cell::new(false);
    let streams = flashscope_trace::streams(&run.reference)?.into_iter();
    let mut streams: Vec<_> = streams.map(|stream| Until { stream, enough: &enough }).collect();
    let (began, recorded) = (device.now(), run.progress.ios());
    let in_flight = u64::from(run.reference.in_flight());
    let mut done = 0;
    let ended = execute_streams(
        device,
        &mut streams,
        &run.reference.queue_depths(),
        stop,
        |_, completion| {
            done += 1;
            // The recorded IOs include those in flight at the end of the run. End the streams once
            // completed IOs and IOs in flight together reach the recorded number.
            enough.set(done + in_flight > recorded);
            match each(run, began, completion) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(RunEnd::Interrupted),
            }
        },
    );
    Ok(ended.unwrap_or_else(|ended| ended))
}
