//! Executes a single stream with one IO in flight. Generates its IOs ahead, so that a simulated
//! drive can prefetch the data that they need.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Completion, Device, Io, Nanos};
use flashscope_workload::Stream;

use super::{RunEnd, check_answer, given_up, note_error};

/// The number of IOs generated at once: enough to overlap the cache misses of a simulated drive.
const STEP: usize = 16;

/// Does the same as [`super::execute`] for a stream that [`Stream::follows_answers`], with one IO
/// in flight. IOs that were generated but not submitted at the end are lost.
pub(super) fn execute_alone<D: Device + ?Sized, S: Stream, E>(
    device: &mut D,
    stream: &mut S,
    stop: &AtomicBool,
    each: impl FnMut(&D, &Completion) -> Result<(), E>,
) -> Result<RunEnd, E> {
    let ended = execute_drawn(device, stream, stop, each);
    device.announce(&[], &[]);
    ended
}

fn execute_drawn<D: Device + ?Sized, S: Stream, E>(
    device: &mut D,
    stream: &mut S,
    stop: &AtomicBool,
    mut each: impl FnMut(&D, &Completion) -> Result<(), E>,
) -> Result<RunEnd, E> {
    let mut drawn: VecDeque<Io> = VecDeque::with_capacity(2 * STEP);
    let mut at = device.now();
    let mut draw = |drawn: &mut VecDeque<Io>| {
        drawn.extend(std::iter::from_fn(|| stream.next(Nanos(0))).take(STEP));
    };
    draw(&mut drawn);
    loop {
        draw(&mut drawn);
        if drawn.is_empty() {
            return Ok(RunEnd::Complete);
        }
        let near = drawn.len().min(STEP);
        let window = drawn.make_contiguous();
        device.announce(&window[..near], &window[near..]);
        for io in drawn.drain(..near) {
            let io = Io { at, ..io };
            let answered = device.round_trip(&io);
            let completion = match answered {
                Some(answered) => check_answer(answered, answered.io == io),
                None => given_up(io, device.now()),
            };
            each(device, &completion)?;
            let mut ended = RunEnd::Complete;
            note_error(&mut ended, &completion, answered.is_none());
            if ended == RunEnd::Complete && stop.load(Ordering::Relaxed) {
                ended = RunEnd::Interrupted;
            }
            if ended != RunEnd::Complete {
                return Ok(ended);
            }
            at = completion.completed;
        }
    }
}
