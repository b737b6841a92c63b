//! What an experiment asks of the drive, and what comes of it.

use flashscope_block::{Data, Nanos, Op, Record};

/// What an IO of an experiment does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub op: Op,
    /// The first byte addressed.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
    /// What is written.
    pub data: Data,
    /// How long after the answer to the one before it is due, with nothing in flight.
    pub after: Nanos,
}

impl Request {
    /// A read at once.
    pub fn read(offset: u64, len: u64) -> Request {
        Request { op: Op::Read, offset, len, data: Data::Random, after: Nanos(0) }
    }

    /// A write at once, of random data.
    pub fn write(offset: u64, len: u64) -> Request {
        Request { op: Op::Write, ..Request::read(offset, len) }
    }

    /// Tells the drive that a range is no longer needed.
    pub fn trim(offset: u64, len: u64) -> Request {
        Request { op: Op::Trim, ..Request::read(offset, len) }
    }

    /// Makes durable what was acknowledged.
    pub fn flush() -> Request {
        Request { op: Op::Flush, ..Request::read(0, 0) }
    }

    /// With other data.
    #[must_use]
    pub fn with_data(self, data: Data) -> Request {
        Request { data, ..self }
    }

    /// Later.
    #[must_use]
    pub fn after(self, after: Nanos) -> Request {
        Request { after, ..self }
    }
}

/// What an experiment showed: every IO, in the order of completion.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its number; they count from 1.
    pub number: u32,
    /// What it was for, in a few words.
    pub purpose: String,
    /// Its IOs, on a clock that starts with the run.
    pub records: Vec<Record>,
    /// From the first submission to the last answer.
    pub took: Nanos,
}

impl Run {
    /// The response times, in nanoseconds.
    pub fn latencies(&self) -> Vec<f64> {
        self.records.iter().map(Run::nanos).collect()
    }

    /// A response time in nanoseconds, which are far below 2^53.
    #[allow(clippy::cast_precision_loss)]
    pub fn nanos(record: &Record) -> f64 {
        record.latency.0 as f64
    }
}

#[cfg(test)]
impl Run {
    /// A run of IOs one after the other, all of one kind and length, by the place of each and what it took in
    /// nanoseconds.
    pub fn of(op: Op, len: u64, ios: impl IntoIterator<Item = (u64, u64)>) -> Run {
        use flashscope_block::Bytes;

        let mut now = Nanos(0);
        let record = |(offset, latency): (u64, u64)| {
            let submitted = now;
            now += Nanos(latency);
            Record {
                submitted,
                latency: Nanos(latency),
                late: Nanos(0),
                offset: Bytes(offset),
                len: Bytes(len),
                op,
                stream: 0,
                result: Ok(()),
            }
        };
        let records = ios.into_iter().map(record).collect();
        Run { number: 1, purpose: String::new(), records, took: now }
    }
}
