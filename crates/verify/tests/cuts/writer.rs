//! Tests the writer on drives that delay flushes, fail, or complete an IO twice.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, Errno, Io, Nanos, Op};
use flashscope_document::verification::{JournalTotals, WritingEnd};
use flashscope_verify::journal::{Encoder, Journal};
use flashscope_verify::{History, Limits, Moment, Stamper, Writer, WritingResult};

use crate::{Trial, info};

/// The behaviour of a drive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    /// Answers in order.
    Plain,
    /// Answers a flush only when nothing else is in flight.
    HoldsBackFlushes,
    /// Fails from the answer with this number on.
    FailsAt(u64),
    /// Gives the answer with this number twice.
    RepeatsAt(u64),
}

struct Queue {
    info: DeviceInfo,
    behaviour: Behaviour,
    in_flight: VecDeque<Io>,
    answers: u64,
    last: Option<Completion>,
}

impl Device for Queue {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Nanos {
        Nanos(self.answers)
    }

    fn submit(&mut self, io: &Io) {
        self.in_flight.push_back(*io);
    }

    fn complete(&mut self, _until: Nanos) -> Option<Completion> {
        self.answers += 1;
        if self.behaviour == Behaviour::RepeatsAt(self.answers) {
            return self.last;
        }
        let is_held = |io: &Io| io.op == Op::Flush && self.behaviour == Behaviour::HoldsBackFlushes;
        let first = self.in_flight.iter().position(|io| !is_held(io)).unwrap_or(0);
        let io = self.in_flight.remove(first)?;
        let has_failed = matches!(self.behaviour, Behaviour::FailsAt(at) if self.answers >= at);
        let result = if has_failed { Err(Errno::EIO) } else { Ok(()) };
        let now = Nanos(self.answers);
        self.last = Some(Completion { io, submitted: io.at, completed: now, result });
        self.last
    }
}

/// Writes to a drive with this behaviour, with a flush after every 11 writes. Checks the journal.
fn write(behaviour: Behaviour, limits: Limits, stop: bool) -> (WritingResult, JournalTotals) {
    let trial = Trial::new(10, Bytes(512), None);
    let workload = trial.plan.workload();
    assert_eq!(workload.flush_every, 11);
    let stamper = Stamper::new(workload.run, workload.queue_depth);
    let (in_flight, answers, last) = (VecDeque::new(), 0, None);
    let mut drive = Queue { info: info(), behaviour, in_flight, answers, last };
    let (encoder, mut journal) = Encoder::new(&trial.opening());
    let clock = || Moment { wall_ns: 0, steady_ns: 0 };
    let writer = Writer::new(&trial.plan, (&mut drive, &stamper), (encoder, &mut journal), &clock);
    let result = writer.run(limits, &AtomicBool::new(stop), &mut |_| ()).unwrap();
    let journal = Journal::parse(journal).unwrap();
    let history = History::new(&trial.plan, journal.events()).unwrap();
    assert_eq!(history.end(), result.end);
    assert_eq!(history.totals().acknowledged, result.acknowledged);
    (result, *history.totals())
}

const LIMITS: Limits = Limits { writes: 400, duration: None };

#[test]
fn a_complete_verification_flushes_every_write() {
    for behaviour in [Behaviour::Plain, Behaviour::HoldsBackFlushes] {
        let (result, totals) = write(behaviour, LIMITS, false);
        assert_eq!((result.end, result.error), (WritingEnd::Complete, None));
        assert_eq!((totals.writes, totals.acknowledged, totals.flushed), (407, 407, 407));
        // The flushes follow the fill, every 11 random writes, and the end.
        assert!((36..=39).contains(&totals.flushes), "{totals:?}");
    }
}

#[test]
fn a_limit_of_time_and_an_interruption_end_the_writing() {
    let limits = Limits { writes: u64::MAX, duration: Some(Nanos(100)) };
    let (result, totals) = write(Behaviour::Plain, limits, false);
    assert_eq!(result.end, WritingEnd::Complete);
    assert!((90..120).contains(&totals.writes) && totals.flushed == totals.writes, "{totals:?}");
    let (result, totals) = write(Behaviour::Plain, limits, true);
    assert_eq!((result.end, totals.writes), (WritingEnd::Interrupted, 0));
}

#[test]
fn a_failed_or_invented_answer_ends_the_writing() {
    let (result, totals) = write(Behaviour::FailsAt(50), LIMITS, false);
    assert_eq!((result.end, result.error), (WritingEnd::DriveFailed, Some(Errno::EIO)));
    assert!(totals.acknowledged < 50 && (7..=8).contains(&totals.failed), "{totals:?}");
    let (result, totals) = write(Behaviour::RepeatsAt(50), LIMITS, false);
    assert_eq!((result.end, result.error), (WritingEnd::DriveFailed, Some(Errno::EPROTO)));
    assert_eq!(totals.failed, 0);
}
