use flashscope_block::{Bytes, Data, Io, Nanos, Op, StreamId};
use rand::RngExt;
use rand::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::places::{Places, units};
use super::sizes::Sizes;
use super::{Job, ThinkTime};
use crate::{Stream, seed_for};

// The parts of [`seed_for`] that give permutations, drawn offsets and sizes, and operations
// separate random numbers.
const PLACES: u64 = 0;
const DRAWS: u64 = 1;
const OPERATIONS: u64 = 2;

/// The IOs of one process of a job.
pub(super) struct JobStream {
    stream: StreamId,
    offset: u64,
    space: u64,
    op: Op,
    reads_percent: u8,
    /// The sizes of reads and of other IOs.
    sizes: [Sizes; 2],
    places: Places,
    draws: Xoshiro256PlusPlus,
    operations: Xoshiro256PlusPlus,
    limits: Limits,
    think: Option<ThinkTime>,
    flush_every: Option<u64>,
    /// The time of the first IO.
    start: Option<Nanos>,
    /// The number of reads and other IOs so far, without flushes.
    ios: u64,
    /// The number of bytes of these IOs.
    bytes: u64,
    /// The number of IOs since the last pause.
    since_pause: u64,
    /// The number of writes since the last flush.
    since_flush: u64,
}

/// The limits at which a process ends.
struct Limits {
    bytes: u64,
    ios: u64,
    time: u64,
    delay: Nanos,
}

impl JobStream {
    pub(super) fn new(job: &Job, stream: StreamId, offset: u64, seed: u64) -> JobStream {
        let sizes = [&job.read_sizes, &job.other_sizes].map(|sizes| Sizes::new(sizes));
        let occurring = sizes.iter().zip([job.reads_percent > 0, job.writes()]);
        let unit = occurring.filter(|(_, occurs)| *occurs).map(|(sizes, _)| sizes.smallest()).min();
        let units = units(job.target_size, unit.unwrap_or(1));
        let rng = |part| Xoshiro256PlusPlus::seed_from_u64(seed_for(seed, part));
        let has_one_size = job.single_size().is_some();
        JobStream {
            stream,
            offset,
            space: job.target_size.0,
            op: job.op,
            reads_percent: job.reads_percent,
            sizes,
            places: Places::new(job.places, units, has_one_size, seed_for(seed, PLACES)),
            draws: rng(DRAWS),
            operations: rng(OPERATIONS),
            limits: Limits {
                bytes: job.end.map_or(u64::MAX, |end| end.0),
                ios: job.most_ios.unwrap_or(u64::MAX),
                time: job.time.map_or(u64::MAX, |time| time.0),
                delay: job.delay,
            },
            think: job.think,
            flush_every: job.flush_every,
            start: None,
            ios: 0,
            bytes: 0,
            since_pause: 0,
            since_flush: 0,
        }
    }

    /// Returns the time of the next IO; `None` at the end.
    fn time(&mut self, previous: Nanos) -> Option<Nanos> {
        let start = *self.start.get_or_insert(previous + self.limits.delay);
        let mut at = previous.max(start);
        if let Some(ThinkTime { pause, ios }) = self.think
            && self.since_pause >= ios
        {
            self.since_pause = 0;
            at += pause;
        }
        let Limits { bytes, ios, time, .. } = self.limits;
        let is_over = self.bytes >= bytes || self.ios >= ios || at.since(start).0 >= time;
        (!is_over).then_some(at)
    }

    fn io(&self, op: Op, (offset, len): (u64, u64), at: Nanos) -> Io {
        let (offset, len) = (Bytes(offset), Bytes(len));
        Io { op, stream: self.stream, offset, len, at, data: Data::Random }
    }
}

impl Stream for JobStream {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        let at = self.time(previous)?;
        if self.flush_every.is_some_and(|every| self.since_flush >= every) {
            self.since_flush = 0;
            return Some(self.io(Op::Flush, (0, 0), at));
        }
        let is_read = match self.reads_percent {
            0 => false,
            100.. => true,
            percent => self.operations.random_range(0..100) < percent,
        };
        let part = usize::from(!is_read);
        let drawn = self.places.draw(part, &self.sizes[part], self.space, &mut self.draws);
        let (offset, len) = drawn?;
        self.ios += 1;
        self.bytes += len;
        self.since_pause += 1;
        let op = if is_read { Op::Read } else { self.op };
        self.since_flush += u64::from(op == Op::Write);
        Some(self.io(op, (self.offset + offset, len), at))
    }
}
