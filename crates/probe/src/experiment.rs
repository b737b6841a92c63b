//! The requests of an experiment, and their records.

use flashscope_block::{Data, Nanos, Op, Record};

/// A request of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub op: Op,
    /// The first byte addressed.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
    /// The data to write.
    pub data: Data,
    /// The delay after the answer to the previous request. At depth 1, the drive is idle during the
    /// delay.
    pub after: Nanos,
}

impl Request {
    /// Creates a read without delay.
    pub fn read(offset: u64, len: u64) -> Request {
        Request { op: Op::Read, offset, len, data: Data::Random, after: Nanos(0) }
    }

    /// Creates a write of random data without delay.
    pub fn write(offset: u64, len: u64) -> Request {
        Request { op: Op::Write, ..Request::read(offset, len) }
    }

    /// Creates a trim: the drive may drop the data of a range.
    pub fn trim(offset: u64, len: u64) -> Request {
        Request { op: Op::Trim, ..Request::read(offset, len) }
    }

    /// Creates a flush, which makes acknowledged writes durable.
    pub fn flush() -> Request {
        Request { op: Op::Flush, ..Request::read(0, 0) }
    }

    /// Replaces the data to write.
    #[must_use]
    pub(crate) fn with_data(self, data: Data) -> Request {
        Request { data, ..self }
    }

    /// Replaces the delay.
    #[must_use]
    pub fn after(self, after: Nanos) -> Request {
        Request { after, ..self }
    }
}

/// The result of an experiment: every IO, in the order of completion.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The number of the run, from 1.
    pub number: u32,
    /// The purpose of the run, in a few words.
    pub purpose: String,
    /// The IOs, on a clock that starts with the run.
    pub records: Vec<Record>,
    /// The time from the first submission to the last completion.
    pub took: Nanos,
}

impl Run {
    /// Returns the response times in nanoseconds.
    pub fn latencies(&self) -> Vec<f64> {
        self.records.iter().map(Run::nanos).collect()
    }

    /// Returns a response time in nanoseconds, which is far below 2^53.
    #[allow(clippy::cast_precision_loss)]
    pub fn nanos(record: &Record) -> f64 {
        record.latency.0 as f64
    }
}

#[cfg(test)]
impl Run {
    /// Creates a run of consecutive IOs of one kind and length. Each item of `ios` is an offset and
    /// a latency in nanoseconds.
    pub fn of(op: Op, len: u64, ios: impl IntoIterator<Item = (u64, u64)>) -> Run {
        use flashscope_block::{Bytes, Completion, Io};

        let mut now = Nanos(0);
        let record = |(offset, latency): (u64, u64)| {
            let submitted = now;
            now += Nanos(latency);
            let (offset, len) = (Bytes(offset), Bytes(len));
            let io = Io { op, stream: 0, offset, len, data: Data::Random, at: submitted };
            Record::new(&Completion { io, submitted, completed: now, result: Ok(()) }, Nanos(0))
        };
        let records = ios.into_iter().map(record).collect();
        Run { number: 1, purpose: String::new(), records, took: now }
    }
}
