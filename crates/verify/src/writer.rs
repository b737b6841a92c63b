use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Completion, Data, Device, Errno, Io, Nanos, Op};
use flashscope_document::verification::WritingEnd;

use crate::clock::Moment;
use crate::journal::{Encoder, Event, Log};
use crate::plan::Plan;
use crate::stamper::Stamper;

/// The length of encoded events, in bytes, at which they become a record even without a flush.
const LONG_RECORD: usize = 4096;

/// The limits of the writing. A power cut usually ends it first.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The maximum number of writes, in addition to those that fill the target space.
    pub writes: u64,
    /// The maximum duration on the clock of the drive.
    pub duration: Option<Nanos>,
}

/// The end of the writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WritingResult {
    /// The reason.
    pub end: WritingEnd,
    /// The number of acknowledged writes.
    pub acknowledged: u64,
    /// The first error of the drive.
    pub error: Option<Errno>,
}

/// Writes to a drive and journals what the drive acknowledges.
pub struct Writer<'a> {
    plan: &'a Plan,
    device: &'a mut dyn Device,
    stamper: &'a Stamper,
    encoder: Encoder,
    log: &'a mut dyn Log,
    /// Reads the clocks of the machine.
    clock: &'a dyn Fn() -> Moment,
    /// The encoded events since the last record.
    events: Vec<u8>,
    /// The IO in flight of each stream, if any.
    in_flight: Vec<Option<InFlight>>,
    free: Vec<u16>,
    /// The number of submitted writes.
    submitted: u64,
    acknowledged: u64,
    /// The number of submitted writes at the last flush.
    flushed_at: u64,
    is_flushing: bool,
    error: Option<Errno>,
}

#[derive(Clone, Copy)]
struct InFlight {
    io: Io,
    /// The number of the write; `None` for a flush.
    write: Option<u64>,
}

impl<'a> Writer<'a> {
    /// Creates a writer. `stamper` must be the source of the data that `device` writes, and `log`
    /// must have received the start of the journal that `encoder` continues.
    pub fn new(
        plan: &'a Plan,
        (device, stamper): (&'a mut dyn Device, &'a Stamper),
        (encoder, log): (Encoder, &'a mut dyn Log),
        clock: &'a dyn Fn() -> Moment,
    ) -> Writer<'a> {
        let depth = u16::try_from(plan.workload().queue_depth).expect("checked by the plan");
        Writer {
            plan,
            device,
            stamper,
            encoder,
            log,
            clock,
            events: Vec::new(),
            in_flight: vec![None; depth.into()],
            free: (0..depth).rev().collect(),
            submitted: 0,
            acknowledged: 0,
            flushed_at: 0,
            is_flushing: false,
            error: None,
        }
    }

    /// Writes until a limit, until `stop` is set, or until the drive fails. Calls `progress` with
    /// the number of acknowledged writes.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be written.
    pub fn run(
        mut self,
        limits: Limits,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<WritingResult> {
        let most = self.plan.fills().saturating_add(limits.writes);
        let until = limits.duration.map_or(Nanos::MAX, |time| self.device.now() + time);
        // The first record contains the time before the first write.
        self.record()?;
        let end = loop {
            let is_last = self.submitted >= most || self.device.now() >= until;
            if self.error.is_some() {
                break WritingEnd::DriveFailed;
            }
            if stop.load(Ordering::Relaxed) {
                break WritingEnd::Interrupted;
            }
            if is_last {
                break WritingEnd::Complete;
            }
            self.submit(most);
            self.complete()?;
            progress(self.acknowledged);
        };
        let end = self.finish(end)?;
        Ok(WritingResult { end, acknowledged: self.acknowledged, error: self.error })
    }

    /// Fills the queue of the drive. While a flush is in flight, writes continue only until the
    /// next flush is due: some systems hold back a flush as long as writes arrive.
    fn submit(&mut self, most: u64) {
        while let Some(stream) = self.free.pop() {
            let is_due = self.submitted > self.flushed_at
                && (self.submitted == self.plan.fills()
                    || self.submitted - self.flushed_at >= self.plan.workload().flush_every);
            if is_due && !self.is_flushing {
                self.submit_flush(stream);
            } else if !is_due && self.submitted < most {
                self.submit_write(stream);
            } else {
                self.free.push(stream);
                return;
            }
        }
    }

    fn submit_write(&mut self, stream: u16) {
        let number = self.submitted;
        let (offset, len) = self.plan.write(number);
        self.submitted += 1;
        Event::Submitted.encode(&mut self.events);
        self.stamper.set(stream, number);
        let io = self.io(Op::Write, stream, offset, len);
        self.send(io, Some(number));
    }

    fn submit_flush(&mut self, stream: u16) {
        (self.is_flushing, self.flushed_at) = (true, self.submitted);
        Event::FlushSubmitted.encode(&mut self.events);
        let io = self.io(Op::Flush, stream, Bytes(0), Bytes(0));
        self.send(io, None);
    }

    fn io(&self, op: Op, stream: u16, offset: Bytes, len: Bytes) -> Io {
        Io { op, stream, offset, len, data: Data::Random, at: self.device.now() }
    }

    fn send(&mut self, io: Io, write: Option<u64>) {
        self.in_flight[usize::from(io.stream)] = Some(InFlight { io, write });
        self.device.submit(&io);
    }

    /// Waits for an answer of the drive. Returns false if the drive gives no answer, which counts
    /// as a failure.
    fn complete(&mut self) -> io::Result<bool> {
        let Some(completion) = self.device.complete(Nanos::MAX) else {
            self.error.get_or_insert(Errno::ETIMEDOUT);
            return Ok(false);
        };
        self.answered(&completion)?;
        Ok(true)
    }

    fn answered(&mut self, completion: &Completion) -> io::Result<()> {
        let stream = completion.io.stream;
        let slot = self.in_flight.get_mut(usize::from(stream));
        let Some(InFlight { write, .. }) =
            slot.and_then(|slot| slot.take_if(|flight| flight.io == completion.io))
        else {
            // No IO in flight has this answer: none of the drive's answers is reliable.
            self.error.get_or_insert(Errno::EPROTO);
            return Ok(());
        };
        self.free.push(stream);
        if let Err(errno) = completion.result {
            self.error.get_or_insert(errno);
        }
        match (write, completion.result) {
            (Some(number), result) => {
                let distance = self.submitted - 1 - number;
                self.acknowledged += u64::from(result.is_ok());
                let event = if result.is_ok() { Event::Acknowledged } else { Event::Failed };
                event(distance).encode(&mut self.events);
                if self.events.len() >= LONG_RECORD { self.record() } else { Ok(()) }
            }
            (None, result) => {
                self.is_flushing = false;
                let event =
                    if result.is_ok() { Event::FlushAcknowledged } else { Event::FlushFailed };
                event.encode(&mut self.events);
                self.record()
            }
        }
    }

    /// Waits for the writes in flight, flushes a complete verification, and records the end.
    fn finish(&mut self, end: WritingEnd) -> io::Result<WritingEnd> {
        self.drain()?;
        if end == WritingEnd::Complete && self.error.is_none() {
            let stream = self.free.pop().expect("nothing is in flight");
            self.submit_flush(stream);
            self.drain()?;
        }
        let end = if self.error.is_some() { WritingEnd::DriveFailed } else { end };
        Event::Ended(end).encode(&mut self.events);
        self.record()?;
        Ok(end)
    }

    /// Waits for all answers, or until the drive fails to answer.
    fn drain(&mut self) -> io::Result<()> {
        while self.free.len() < self.in_flight.len() && self.complete()? {}
        Ok(())
    }

    /// Appends the events to the journal.
    fn record(&mut self) -> io::Result<()> {
        let record = self.encoder.events((self.clock)(), &self.events);
        self.events.clear();
        self.log.append(record)
    }
}
