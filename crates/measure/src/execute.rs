mod ahead;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Completion, Device, Errno, Io, Nanos, Op};
use flashscope_workload::Stream;

/// Maximum duration of a single wait within a pause, on the clock of the drive. An interruption
/// takes effect between waits.
const LONGEST_WAIT: Nanos = Nanos::millis(100);

/// The latest possible deadline: [`Device::complete`] interprets `u64::MAX` as "no deadline".
const END: Nanos = Nanos(u64::MAX - 1);

/// IOs in flight during a fill. A fill is not measured, so it may be as fast as the drive allows.
pub(crate) const FILL_DEPTH: u32 = 16;

/// The interval between progress reports, on the clock of the drive.
pub(crate) const PROGRESS_INTERVAL: Nanos = Nanos::millis(100);

/// The largest difference accepted between the clocks of two processors.
const CLOCK_SLACK: Nanos = Nanos::millis(1);

/// The way a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Every IO completed without an error.
    Complete,
    /// `stop` was set; the IOs in flight were completed.
    Interrupted,
    /// An IO failed. No IO was submitted after the failure.
    Failed {
        /// The number of failed IOs: more than 1 if IOs in flight with the first failed as well.
        errors: u64,
        /// The first failed IO.
        first: FailedIo,
        /// True if the drive was removed or no longer answers; nothing may be submitted to it then.
        gone: bool,
    },
}

/// An IO that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedIo {
    /// The error.
    pub errno: Errno,
    /// The operation.
    pub op: Op,
    /// The offset of the first byte.
    pub offset: Bytes,
    /// The length.
    pub len: Bytes,
}

impl fmt::Display for FailedIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FailedIo { errno, op, offset, len } = self;
        write!(f, "{errno} at a {op} of {len} at offset {}", offset.0)
    }
}

/// Runs concurrent streams on a drive, each with `depth` IOs in flight. Passes every completion to
/// `each` in the order of completion, together with the drive at that moment.
///
/// A stream whose IOs are due regardless of answers is an open loop. IOs that fall due while
/// `depth` IOs are in flight are held back, in order.
///
/// The streams must be numbered by position (the IOs of a single stream may bear any number). IOs
/// beyond the queue depth of the drive wait in a queue of the host, first in, first out, as in an
/// operating system. [`Io::at`] is the time at which the host submitted them, and
/// [`Completion::submitted`] the time at which they reached the drive. An error of `each` ends the
/// run and is returned. When this function returns, nothing is left in flight.
///
/// An impossible answer counts as an IO that failed with `EPROTO`: an answer to an IO that was not
/// submitted, or with a time before its submission. The second case happens if a clock goes back.
/// IOs that the drive will never answer are passed to `each` with `ETIMEDOUT`.
pub fn execute<D: Device + ?Sized, S: Stream, E>(
    device: &mut D,
    streams: &mut [S],
    depth: u32,
    stop: &AtomicBool,
    each: impl FnMut(&D, &Completion) -> Result<(), E>,
) -> Result<RunEnd, E> {
    execute_streams(device, streams, &vec![depth; streams.len()], stop, each)
}

/// Does the same as [`execute`], with a separate number of IOs in flight (`depths`) for each
/// stream.
pub(crate) fn execute_streams<D: Device + ?Sized, S: Stream, E>(
    device: &mut D,
    streams: &mut [S],
    depths: &[u32],
    stop: &AtomicBool,
    each: impl FnMut(&D, &Completion) -> Result<(), E>,
) -> Result<RunEnd, E> {
    if let ([stream], [1]) = (&mut *streams, depths)
        && stream.follows_answers()
    {
        return ahead::execute_alone(device, stream, stop, each);
    }
    let alone = streams.len() == 1;
    let stream_of = |io: &Io| if alone { 0 } else { usize::from(io.stream) };
    execute_by(device, streams, depths, stream_of, stop, each)
}

/// Does the same as [`execute_streams`]. `stream_of` returns the position of the stream of an IO.
pub(crate) fn execute_by<D: Device + ?Sized, S: Stream, E>(
    device: &mut D,
    streams: &mut [S],
    depths: &[u32],
    stream_of: impl Fn(&Io) -> usize,
    stop: &AtomicBool,
    mut each: impl FnMut(&D, &Completion) -> Result<(), E>,
) -> Result<RunEnd, E> {
    let mut ended = RunEnd::Complete;
    let mut outcome = Ok(());
    // IOs that are not due yet: at most `depth` of each stream.
    let mut waiting: Vec<Io> = Vec::new();
    let mut in_flight = InFlight::of(device.info().queue_depth);
    let start = device.now();
    for (stream, depth) in streams.iter_mut().zip(depths) {
        for _ in 0..*depth {
            match stream.next(start) {
                Some(io) if due(&io) > start => waiting.push(io),
                Some(io) => in_flight.submit(device, io),
                None => break,
            }
        }
    }
    loop {
        let until = waiting.iter().map(due).min();
        let until = until.map_or(Nanos::MAX, |until| step_towards(device, until));
        let answered = device.complete(until).map(|answered| in_flight.take(answered));
        // If only answers can arrive and none does, the drive will never answer the IOs in flight.
        let silent = answered.is_none() && waiting.is_empty();
        let given_up = if silent { in_flight.unanswered(device) } else { None };
        match answered.or(given_up) {
            Some(completion) => {
                if outcome.is_ok() {
                    outcome = each(device, &completion);
                }
                note_error(&mut ended, &completion, answered.is_none());
                if ended == RunEnd::Complete && stop.load(Ordering::Relaxed) {
                    ended = RunEnd::Interrupted;
                }
                if ended != RunEnd::Complete || outcome.is_err() {
                    waiting.clear();
                    in_flight.held.clear();
                    continue;
                }
                in_flight.submit_held(device);
                let stream = &mut streams[stream_of(&completion.io)];
                match stream.next(completion.completed) {
                    Some(io) if due(&io) > completion.completed => waiting.push(io),
                    Some(io) => in_flight.submit(device, io),
                    None => {}
                }
            }
            None if waiting.is_empty() => return outcome.map(|()| ended),
            None if stop.load(Ordering::Relaxed) => {
                ended = RunEnd::Interrupted;
                waiting.clear();
            }
            None => {}
        }
        if !waiting.is_empty() {
            let now = device.now();
            waiting.extract_if(.., |io| due(io) <= now).for_each(|io| in_flight.submit(device, io));
        }
    }
}

/// Returns the time at which an IO is due, limited to [`END`].
fn due(io: &Io) -> Nanos {
    io.at.min(END)
}

/// Returns the end of the next wait on the way to `until`. Waits are short, so that an interruption
/// takes effect soon. While the drive has nothing to do, one wait covers several steps. Waits end
/// on a fixed grid of steps, so the drive behaves the same however many steps are skipped.
pub(crate) fn step_towards<D: Device + ?Sized>(device: &D, until: Nanos) -> Nanos {
    let (now, quiet, until) = (device.now(), device.quiet_until(), until.min(END));
    if quiet >= until {
        return until;
    }
    let steps = (quiet.since(now).0 / LONGEST_WAIT.0).max(1);
    until.min(now + Nanos(steps * LONGEST_WAIT.0))
}

/// Submitted IOs without an answer.
struct InFlight {
    /// The IOs that the drive has, in submission order, because most drives answer in that order.
    submitted: VecDeque<Io>,
    /// The IOs that wait in the host because the queue of the drive is full.
    held: VecDeque<Io>,
    queue_depth: usize,
}

impl InFlight {
    /// Creates the queue for a drive that accepts `queue_depth` IOs at once.
    fn of(queue_depth: u32) -> InFlight {
        let queue_depth = usize::try_from(queue_depth.max(1)).unwrap_or(usize::MAX);
        InFlight { submitted: VecDeque::new(), held: VecDeque::new(), queue_depth }
    }

    fn submit<D: Device + ?Sized>(&mut self, device: &mut D, io: Io) {
        if self.submitted.len() < self.queue_depth && self.held.is_empty() {
            device.submit(&io);
            self.submitted.push_back(io);
        } else {
            self.held.push_back(io);
        }
    }

    /// Submits IOs that wait in the host until the queue of the drive is full.
    fn submit_held<D: Device + ?Sized>(&mut self, device: &mut D) {
        while self.submitted.len() < self.queue_depth
            && let Some(io) = self.held.pop_front()
        {
            device.submit(&io);
            self.submitted.push_back(io);
        }
    }

    /// Removes the IO of an answer. Turns an impossible answer into a failure.
    fn take(&mut self, answered: Completion) -> Completion {
        let index = self.submitted.iter().position(|io| *io == answered.io);
        let asked = index.and_then(|index| self.submitted.remove(index)).is_some();
        check_answer(answered, asked)
    }

    /// Removes the oldest IO that will never be answered, and returns it as failed now.
    fn unanswered<D: Device + ?Sized>(&mut self, device: &D) -> Option<Completion> {
        Some(given_up(self.submitted.pop_front()?, device.now()))
    }
}

/// Returns the answer. Its result becomes `EPROTO` if its times are impossible or if its IO was
/// never submitted.
#[inline]
fn check_answer(answered: Completion, asked: bool) -> Completion {
    let in_order = answered.submitted <= answered.completed
        && answered.io.at.since(answered.submitted) <= CLOCK_SLACK;
    let result = if asked && in_order { answered.result } else { Err(Errno::EPROTO) };
    Completion { result, ..answered }
}

/// Returns the failure of an IO that will never be answered.
fn given_up(io: Io, now: Nanos) -> Completion {
    let result = Err(Errno::ETIMEDOUT);
    Completion { io, submitted: io.at.min(now), completed: now, result }
}

/// Fills a space of a drive as fast as the drive allows, and passes the number of bytes written so
/// far to `tell`.
pub(crate) fn fill<D: Device + ?Sized>(
    device: &mut D,
    fill: impl Stream,
    stop: &AtomicBool,
    mut tell: impl FnMut(Bytes),
) -> RunEnd {
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

fn note_error(ended: &mut RunEnd, completion: &Completion, unanswered: bool) {
    let Err(errno) = completion.result else { return };
    let is_gone = unanswered || errno.is_drive_gone();
    match ended {
        RunEnd::Failed { errors, gone, .. } => (*errors, *gone) = (*errors + 1, *gone || is_gone),
        _ => {
            let Io { op, offset, len, .. } = completion.io;
            let first = FailedIo { errno, op, offset, len };
            *ended = RunEnd::Failed { errors: 1, first, gone: is_gone };
        }
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::{Data, DeviceInfo, DeviceKind};

    use super::*;

    /// A drive on virtual time that answers at once and counts the waits for it. After an IO it
    /// works in the background for `busy`, one step per second.
    struct Virtual {
        info: DeviceInfo,
        now: Nanos,
        answered: VecDeque<Io>,
        busy: Nanos,
        busy_until: Nanos,
        waits: u64,
    }

    const SECOND: Nanos = Nanos::secs(1);

    fn drive(busy: Nanos) -> Virtual {
        let info = DeviceInfo::new(("virtual", DeviceKind::Sim), (Bytes::MIB, Bytes(512)), 4);
        let (now, answered) = (Nanos(0), VecDeque::new());
        Virtual { info, now, answered, busy, busy_until: Nanos(0), waits: 0 }
    }

    impl Device for Virtual {
        fn info(&self) -> &DeviceInfo {
            &self.info
        }
        fn now(&self) -> Nanos {
            self.now
        }
        fn submit(&mut self, io: &Io) {
            self.answered.push_back(*io);
            self.busy_until = self.now + self.busy;
        }
        fn complete(&mut self, until: Nanos) -> Option<Completion> {
            let Some(io) = self.answered.pop_front() else {
                assert!(self.waits < 1000, "`execute` waits, but no IO is in flight");
                self.waits += 1;
                self.now = if until == Nanos::MAX { self.now } else { until };
                return None;
            };
            Some(Completion { io, submitted: self.now, completed: self.now, result: Ok(()) })
        }
        fn quiet_until(&self) -> Nanos {
            let next = Nanos((self.now.0 / SECOND.0 + 1) * SECOND.0);
            if next > self.busy_until { Nanos::MAX } else { next }
        }
    }

    /// A stream of IOs at these times.
    struct At(VecDeque<Nanos>);

    impl Stream for At {
        fn next(&mut self, _previous: Nanos) -> Option<Io> {
            let (op, stream, offset, len) = (Op::Write, 0, Bytes(0), Bytes(512));
            Some(Io { op, stream, offset, len, at: self.0.pop_front()?, data: Data::Random })
        }
    }

    /// Returns the times at which the IOs at `times` were answered, and the number of waits.
    fn played(busy: Nanos, times: &[Nanos]) -> (Vec<Nanos>, u64) {
        let (mut drive, mut answered) = (drive(busy), Vec::new());
        let mut streams = [At(times.iter().copied().collect())];
        let ended = execute(&mut drive, &mut streams, 1, &false.into(), |_, completion| {
            answered.push(completion.completed);
            Ok::<(), Infallible>(())
        });
        assert_eq!(ended, Ok(RunEnd::Complete));
        (answered, drive.waits)
    }

    // A gap of 300 years takes one wait if the drive is idle. A busy drive needs one wait per
    // background step.
    #[test]
    fn a_gap_of_centuries_takes_a_step() {
        let year = 365 * 86_400 * SECOND.0;
        let times = [Nanos(0), Nanos(300 * year), Nanos(301 * year)];
        let (answered, waits) = played(Nanos(0), &times);
        assert_eq!((answered, waits), (times.to_vec(), 3), "one wait per gap and at the end");
        let (answered, waits) = played(Nanos::secs(5), &times);
        assert_eq!(answered, times);
        assert!(waits <= 3 + 2 * 6, "{waits} waits");
    }

    #[test]
    fn ios_at_the_end_of_time_are_submitted() {
        let times = [Nanos(5), Nanos(u64::MAX - 1), Nanos::MAX, Nanos::MAX];
        let (answered, _) = played(Nanos(0), &times);
        assert_eq!(answered, [Nanos(5), END, END, END]);
    }
}
