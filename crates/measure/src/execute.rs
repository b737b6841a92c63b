use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Completion, Device, Errno, Io, Nanos};
use flashscope_workload::Stream;

/// The longest wait within a pause before an interruption is noticed, on the clock of the drive.
const LONGEST_WAIT: Nanos = Nanos::millis(100);

/// How many IOs of a fill are in flight: it prepares, so it may be as fast as the drive allows.
pub(crate) const FILL_DEPTH: u32 = 16;

/// How often progress is told, on the clock of the drive.
pub(crate) const PROGRESS_INTERVAL: Nanos = Nanos::millis(100);

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every IO was answered without an error.
    Complete,
    /// `stop` was set; IOs in flight were waited for.
    Interrupted,
    /// An IO failed; no further one was submitted.
    Failed {
        /// How many failed: those in flight with the first may have failed as well.
        errors: u64,
        /// The first error.
        errno: Errno,
        /// Where it was to read or write.
        offset: Bytes,
    },
}

/// Runs concurrent streams on a drive, each with `depth` IOs in flight, and gives every completion
/// to `each` with the drive as it is then, in the order of completion.
///
/// A stream that says when its IOs are due without regard to answers is an open loop: what is due
/// while `depth` IOs are in flight is held back, in order.
///
/// The streams must be numbered as they stand (the IOs of one alone may bear any number), and the
/// drive must accept `depth` IOs for each. An error of `each` ends the run and is returned. In
/// every case nothing is left in flight.
pub fn execute<D: Device + ?Sized, S: Stream, E>(
    device: &mut D,
    streams: &mut [S],
    depth: u32,
    stop: &AtomicBool,
    mut each: impl FnMut(&D, &Completion) -> Result<(), E>,
) -> Result<Ended, E> {
    let mut ended = Ended::Complete;
    let mut outcome = Ok(());
    // IOs that are not due yet: at most `depth` of each stream.
    let mut waiting: Vec<Io> = Vec::new();
    let start = device.now();
    for stream in streams.iter_mut() {
        for _ in 0..depth {
            match stream.next(start) {
                Some(io) if io.at > start => waiting.push(io),
                Some(io) => device.submit(&io),
                None => break,
            }
        }
    }
    loop {
        let until = waiting.iter().map(|io| io.at).min().map_or(Nanos::MAX, |due| {
            due.min(Nanos(device.now().0.saturating_add(LONGEST_WAIT.0)))
        });
        match device.complete(until) {
            Some(completion) => {
                if outcome.is_ok() {
                    outcome = each(device, &completion);
                }
                note_error(&mut ended, &completion);
                if ended == Ended::Complete && stop.load(Ordering::Relaxed) {
                    ended = Ended::Interrupted;
                }
                if ended != Ended::Complete || outcome.is_err() {
                    waiting.clear();
                    continue;
                }
                let alone = streams.len() == 1;
                let index = if alone { 0 } else { usize::from(completion.io.stream) };
                let stream = &mut streams[index];
                match stream.next(completion.completed) {
                    Some(io) if io.at > completion.completed => waiting.push(io),
                    Some(io) => device.submit(&io),
                    None => {}
                }
            }
            None if waiting.is_empty() => return outcome.map(|()| ended),
            None if stop.load(Ordering::Relaxed) => {
                ended = Ended::Interrupted;
                waiting.clear();
            }
            None => {}
        }
        if !waiting.is_empty() {
            let now = device.now();
            waiting.extract_if(.., |io| io.at <= now).for_each(|io| device.submit(&io));
        }
    }
}

/// Fills a space of a drive as fast as the drive allows, and tells how much is done.
pub(crate) fn fill<D: Device + ?Sized>(
    device: &mut D,
    fill: impl Stream,
    stop: &AtomicBool,
    mut tell: impl FnMut(Bytes),
) -> Ended {
    let depth = device.info().queue_depth.min(FILL_DEPTH);
    let (mut done, mut tell_at) = (Bytes(0), Nanos(0));
    let filled = execute(device, &mut [fill], depth, stop, |_, completion| {
        done += completion.io.len;
        if completion.completed >= tell_at {
            tell_at = completion.completed + PROGRESS_INTERVAL;
            tell(done);
        }
        Ok::<(), Infallible>(())
    });
    tell(done);
    let Ok(ended) = filled;
    ended
}

fn note_error(ended: &mut Ended, completion: &Completion) {
    let Err(errno) = completion.result else { return };
    match ended {
        Ended::Failed { errors, .. } => *errors += 1,
        _ => *ended = Ended::Failed { errors: 1, errno, offset: completion.io.offset },
    }
}
