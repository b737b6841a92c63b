use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Completion, Device, Errno, Io, Nanos, Op};
use flashscope_workload::Stream;

/// The longest wait within a pause before an interruption is noticed, on the clock of a drive on
/// the machine's.
const LONGEST_WAIT: Nanos = Nanos::millis(100);

/// The last time that can be waited for. [`Device::complete`] takes the end of time for no deadline.
const END: Nanos = Nanos(u64::MAX - 1);

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
                    Some(io) if due(&io) > completion.completed => waiting.push(io),
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
            waiting.extract_if(.., |io| due(io) <= now).for_each(|io| in_flight.submit(device, io));
        }
    }
}

/// When an IO is submitted, at the end of time at the latest.
fn due(io: &Io) -> Nanos {
    io.at.min(END)
}

/// How far to wait at once, towards `until`: a step after which an interruption is noticed, as
/// often as the drive has something to do meanwhile. A step ends where it would end if all of them
/// had the same length, so that what the drive does is independent of how many are passed over.
pub(crate) fn step_towards<D: Device + ?Sized>(device: &D, until: Nanos) -> Nanos {
    let (now, quiet, until) = (device.now(), device.quiet_until(), until.min(END));
    if quiet >= until {
        return until;
    }
    let steps = (quiet.since(now).0 / LONGEST_WAIT.0).max(1);
    until.min(now + Nanos(steps * LONGEST_WAIT.0))
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

#[cfg(test)]
mod tests {
    use flashscope_block::{Data, DeviceInfo, DeviceKind};

    use super::*;

    /// A drive on virtual time that answers at once, and counts how often it is waited for. After an IO it works in
    /// the background for `busy`, a piece every second.
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
        let info = DeviceInfo {
            name: "virtual".into(),
            kind: DeviceKind::Sim,
            capacity: Bytes::MIB,
            logical_block: Bytes(512),
            queue_depth: 4,
            model: None,
            serial: None,
            firmware: None,
            engine: None,
        };
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
                assert!(self.waits < 1000, "it is waited for without an end");
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

    /// IOs at these times.
    struct At(VecDeque<Nanos>);

    impl Stream for At {
        fn next(&mut self, _previous: Nanos) -> Option<Io> {
            let (op, stream, offset, len) = (Op::Write, 0, Bytes(0), Bytes(512));
            Some(Io { op, stream, offset, len, at: self.0.pop_front()?, data: Data::Random })
        }
    }

    /// When the IOs at these times were answered, and how often the drive was waited for.
    fn played(busy: Nanos, times: &[Nanos]) -> (Vec<Nanos>, u64) {
        let (mut drive, mut answered) = (drive(busy), Vec::new());
        let mut streams = [At(times.iter().copied().collect())];
        let ended = execute(&mut drive, &mut streams, 1, &false.into(), |_, completion| {
            answered.push(completion.completed);
            Ok::<(), Infallible>(())
        });
        assert_eq!(ended, Ok(Ended::Complete));
        (answered, drive.waits)
    }

    // Is a gap of 300 years waited for in one step where the drive has nothing to do, and otherwise in one for each
    // piece of work?
    #[test]
    fn a_gap_of_centuries_takes_a_step() {
        let year = 365 * 86_400 * SECOND.0;
        let times = [Nanos(0), Nanos(300 * year), Nanos(301 * year)];
        let (answered, waits) = played(Nanos(0), &times);
        assert_eq!((answered, waits), (times.to_vec(), 3), "two gaps, and that nothing is left");
        let (answered, waits) = played(Nanos::secs(5), &times);
        assert_eq!(answered, times);
        assert!(waits <= 3 + 2 * 6, "{waits} waits");
    }

    // Are IOs at the end of time submitted, rather than waited for without an end?
    #[test]
    fn the_end_of_time_is_reached() {
        let times = [Nanos(5), Nanos(u64::MAX - 1), Nanos::MAX, Nanos::MAX];
        let (answered, _) = played(Nanos(0), &times);
        assert_eq!(answered, [Nanos(5), END, END, END]);
    }
}
