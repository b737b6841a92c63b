//! What was measured on one drive, done again on another.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Completion, Device, Nanos};
use flashscope_result::manifest::{Manifest, Progress, Run};
use flashscope_workload::trace;

use crate::execute::{Ended, execute, fill};
use crate::execution::Until;
use crate::order;
use crate::state::{rest_after_state, state_fill};

/// Does on `device` what was done for `manifest`: the state, the pauses, and as many IOs of each run as
/// were recorded, in the same order and with the same seeds; `each` is told of every completion with its
/// run and the time at which that began, and may end everything. Up to `last`, a run that is done, and no further where that is given.
///
/// A state into which a drive brings itself is taken for a trimmed one that the drive has already.
///
/// # Errors
/// A trace of the plan cannot be read.
pub fn again<D: Device + ?Sized>(
    device: &mut D,
    manifest: &Manifest,
    last: Option<u32>,
    stop: &AtomicBool,
    mut each: impl FnMut(&Run, Nanos, &Completion) -> ControlFlow<()>,
) -> Result<Ended, trace::Error> {
    let mut pause = manifest.options.run_pause_ns;
    let mut fresh = enforce(device, manifest, pause, stop);
    for id in order(&manifest.micro_benchmarks) {
        let Some(run) = manifest.runs().find(|run| run.id == id) else { continue };
        if matches!(run.progress, Progress::Skipped { .. } | Progress::Pending) {
            continue;
        }
        if run.reset && !fresh {
            enforce(device, manifest, pause, stop);
        }
        device.idle_until(device.now() + pause);
        let ended = repeat(device, run, stop, &mut each)?;
        if ended != Ended::Complete || last == Some(id) {
            return Ok(ended);
        }
        fresh = !run.reference.writes();
        if manifest.options.methodology.finds_run_pause {
            let mut looks = manifest.findings.interference.iter();
            pause = looks.find(|look| look.run == id).map_or(pause, |look| look.run_pause_ns);
        }
    }
    Ok(Ended::Complete)
}

/// Brings the drive into its state, and lets it rest: whether there was one to bring it into.
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

/// As many IOs of a run as were recorded.
fn repeat<D: Device + ?Sized>(
    device: &mut D,
    run: &Run,
    stop: &AtomicBool,
    each: &mut impl FnMut(&Run, Nanos, &Completion) -> ControlFlow<()>,
) -> Result<Ended, trace::Error> {
    let enough = Cell::new(false);
    let streams = run.reference.streams()?.into_iter();
    let mut streams: Vec<_> = streams.map(|stream| Until { stream, enough: &enough }).collect();
    let (began, depth, recorded) = (device.now(), run.reference.queue_depth(), run.progress.ios());
    let mut done = 0;
    let ended = execute(device, &mut streams, depth, stop, |_, completion| {
        done += 1;
        // Those in flight with the last were recorded, too.
        enough.set(done + u64::from(depth) * u64::from(run.reference.streams_count()) > recorded);
        match each(run, began, completion) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Ended::Interrupted),
        }
    });
    Ok(ended.unwrap_or_else(|ended| ended))
}
