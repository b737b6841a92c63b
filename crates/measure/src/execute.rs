use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Completion, Device, Errno, Io, Nanos, Op};
use flashscope_workload::Stream;

/// The longest wait within a pause before an interruption is noticed, on the clock of the drive.
const LONGEST_WAIT: Nanos = Nanos::millis(100);

/// How many IOs of a fill are in flight: it prepares, so it may be as fast as the drive allows.
pub(crate) const FILL_DEPTH: u32 = 16;

/// How often progress is told, on the clock of the drive.
pub(crate) const PROGRESS_INTERVAL: Nanos = Nanos::millis(100);

/// By how much the clocks of two processors may differ.
const CLOCK_SLACK: Nanos = Nanos::millis(1);

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
        /// The first of them.
        first: FailedIo,
        /// Whether the drive was removed, or does not answer any more: nothing may be asked of it then.
        gone: bool,
    },
}

/// An IO that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedIo {
    /// Its error.
    pub errno: Errno,
    /// What it was to do.
    pub op: Op,
    /// Where it was to read or write.
    pub offset: Bytes,
    /// How much.
    pub len: Bytes,
}

impl fmt::Display for FailedIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FailedIo { errno, op, offset, len } = self;
        write!(f, "{errno} at a {op} of {len} at offset {}", offset.0)
    }
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
///
/// An answer that cannot be true, of an IO that was not asked for or before it was, is taken for an IO that
/// failed with `EPROTO`: as it is when a clock goes back. What the drive will never answer is given to `each`
/// with `ETIMEDOUT`.
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
    let mut in_flight = InFlight::default();
    let start = device.now();
    for stream in streams.iter_mut() {
        for _ in 0..depth {
            match stream.next(start) {
                Some(io) if io.at > start => waiting.push(io),
                Some(io) => in_flight.submit(device, io),
                None => break,
            }
        }
    }
    loop {
        let until = waiting.iter().map(|io| io.at).min().map_or(Nanos::MAX, |due| {
            due.min(Nanos(device.now().0.saturating_add(LONGEST_WAIT.0)))
        });
        let answered = device.complete(until).map(|answered| in_flight.take(answered));
        // Where there is nothing but answers to wait for, none means that there will be none.
        let silent = answered.is_none() && waiting.is_empty();
        let given_up = if silent { in_flight.unanswered(device) } else { None };
        match answered.or(given_up) {
            Some(completion) => {
                if outcome.is_ok() {
                    outcome = each(device, &completion);
                }
                note_error(&mut ended, &completion, answered.is_none());
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
                    Some(io) => in_flight.submit(device, io),
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
            waiting.extract_if(.., |io| io.at <= now).for_each(|io| in_flight.submit(device, io));
        }
    }
}

/// What was asked of a drive and is not answered yet, in this order: most drives answer in it.
#[derive(Default)]
struct InFlight(VecDeque<Io>);

impl InFlight {
    fn submit<D: Device + ?Sized>(&mut self, device: &mut D, io: Io) {
        device.submit(&io);
        self.0.push_back(io);
    }

    /// Takes an answer, as one that failed if it cannot be true.
    fn take(&mut self, answered: Completion) -> Completion {
        let index = self.0.iter().position(|io| *io == answered.io);
        let asked = index.and_then(|index| self.0.remove(index)).is_some();
        let in_order = answered.submitted <= answered.completed
            && answered.io.at.since(answered.submitted) <= CLOCK_SLACK;
        let result = if asked && in_order { answered.result } else { Err(Errno::EPROTO) };
        Completion { result, ..answered }
    }

    /// The next of what is never answered, as an IO that was given up now.
    fn unanswered<D: Device + ?Sized>(&mut self, device: &D) -> Option<Completion> {
        let (io, now) = (self.0.pop_front()?, device.now());
        let result = Err(Errno::ETIMEDOUT);
        Some(Completion { io, submitted: io.at.min(now), completed: now, result })
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

fn note_error(ended: &mut Ended, completion: &Completion, unanswered: bool) {
    let Err(errno) = completion.result else { return };
    let is_gone = unanswered || errno.is_of_a_drive_that_is_gone();
    match ended {
        Ended::Failed { errors, gone, .. } => (*errors, *gone) = (*errors + 1, *gone || is_gone),
        _ => {
            let Io { op, offset, len, .. } = completion.io;
            let first = FailedIo { errno, op, offset, len };
            *ended = Ended::Failed { errors: 1, first, gone: is_gone };
        }
    }
}
