use std::fmt;

use crate::{Bytes, Errno, Nanos};

/// The operation of an [`Io`].
///
/// The discriminants are the codes stored in the `op` column of a result's records.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Op {
    /// Reads data.
    Read = 0,
    /// Writes data.
    Write = 1,
    /// Tells the drive that the data of a range is no longer needed.
    Trim = 2,
    /// Makes all completed writes durable.
    Flush = 3,
}

impl Op {
    /// All operations, in the order of their stored codes.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// Returns the stored code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the operation with this stored code, if any.
    pub fn from_code(code: u8) -> Option<Op> {
        Op::ALL.get(usize::from(code)).copied()
    }

    /// Returns true if the operation changes the data of the drive.
    pub const fn modifies(self) -> bool {
        matches!(self, Op::Write | Op::Trim)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
        })
    }
}

/// The number of a concurrent stream within a workload (uFLIP's process `p`).
pub type StreamId = u16;

/// The stream of writes that move a workload's own data, as the cleaning of a log-structured store
/// does.
pub const MOVED_STREAM: StreamId = 3;

/// The content of a write. Drives may treat it differently: some write zeros faster (Sun and Zhang,
/// section 4.2), others compress or deduplicate.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Data that a drive can neither compress nor deduplicate.
    #[default]
    Random,
    /// Zeros.
    Zeros,
    /// Zeros in the second half of every 4 KiB of the address space, random data in the first.
    HalfZeros,
}

impl Data {
    /// All kinds of data, in display order.
    pub const ALL: [Data; 3] = [Data::Random, Data::Zeros, Data::HalfZeros];

    /// Returns the name used in options and output.
    pub const fn name(self) -> &'static str {
        match self {
            Data::Random => "random",
            Data::Zeros => "zeros",
            Data::HalfZeros => "half-zeros",
        }
    }

    /// Returns true if a write to this range, which must not be empty, contains only zeros.
    pub fn is_zero(self, offset: Bytes, len: Bytes) -> bool {
        const UNIT: u64 = 4096;
        match self {
            Data::Random => false,
            Data::Zeros => true,
            Data::HalfZeros => {
                let start = offset.0 % UNIT;
                start >= UNIT / 2 && start + len.0 <= UNIT
            }
        }
    }
}

/// One request to a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// The operation.
    pub op: Op,
    /// The stream that issues the request.
    pub stream: StreamId,
    /// Offset of the first byte.
    pub offset: Bytes,
    /// Length in bytes; 0 for a flush.
    pub len: Bytes,
    /// The content of a write; ignored for other operations.
    pub data: Data,
    /// The due time on the drive's clock. An IO may be submitted later than this, never earlier.
    pub at: Nanos,
}

impl Io {
    /// Returns the offset of the first byte after the range.
    pub fn end(&self) -> Bytes {
        Bytes(self.offset.0.saturating_add(self.len.0))
    }
}

/// A drive's answer to one [`Io`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub io: Io,
    /// The time of submission, on the drive's clock.
    pub submitted: Nanos,
    /// The time of completion, on the drive's clock.
    pub completed: Nanos,
    /// Success, or the error.
    pub result: Result<(), Errno>,
}

impl Completion {
    /// Returns the response time, from submission to completion.
    pub fn latency(&self) -> Nanos {
        Nanos(self.completed.0.saturating_sub(self.submitted.0))
    }
}

/// The recorded facts of one IO: a row in a result's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The time of submission, on the run's clock, which starts at 0.
    pub submitted: Nanos,
    /// The response time, from submission to completion.
    pub latency: Nanos,
    /// Offset of the first byte.
    pub offset: Bytes,
    /// Length in bytes.
    pub len: Bytes,
    /// The operation.
    pub op: Op,
    /// The stream that issued the IO.
    pub stream: StreamId,
    /// Success, or the error.
    pub result: Result<(), Errno>,
    /// In an open loop, where each IO has its own due time: the delay from the due time to
    /// submission. In a closed loop: the part of the latency that the IO spent in the host's queue,
    /// because the drive accepts fewer IOs at once than there are streams.
    pub late: Nanos,
}

impl Record {
    /// Creates the record of an open-loop IO, which has its own due time. The run began at `start`
    /// on the drive's clock.
    pub fn open_loop(completion: &Completion, start: Nanos) -> Record {
        let late = Nanos(completion.submitted.0.saturating_sub(completion.io.at.0));
        Record { late, ..Record::new(completion, start) }
    }

    /// Creates the record of a closed-loop IO that may have waited in the host's queue. The latency
    /// counts from the IO's due time. The run began at `start` on the drive's clock.
    pub fn host_queued(completion: &Completion, start: Nanos) -> Record {
        let whole = completion.from_host();
        let late = Nanos(completion.submitted.0.saturating_sub(whole.submitted.0));
        Record { late, ..Record::new(&whole, start) }
    }

    /// Creates the record of a closed-loop IO. The run began at `start` on the drive's clock.
    pub fn new(completion: &Completion, start: Nanos) -> Record {
        Record {
            submitted: Nanos(completion.submitted.0.saturating_sub(start.0)),
            latency: completion.latency(),
            offset: completion.io.offset,
            len: completion.io.len,
            op: completion.io.op,
            stream: completion.io.stream,
            result: completion.result,
            late: Nanos(0),
        }
    }

    /// Returns the time of completion, on the run's clock.
    pub fn completed(&self) -> Nanos {
        Nanos(self.submitted.0.saturating_add(self.latency.0))
    }
}

impl Completion {
    /// Returns the completion as the host sees it: the response time counts from the due time, and
    /// includes the wait in the host's queue.
    #[must_use]
    pub fn from_host(&self) -> Completion {
        Completion { submitted: self.io.at.min(self.submitted), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for op in Op::ALL {
            assert_eq!(Op::from_code(op.code()), Some(op));
        }
        assert_eq!(Op::from_code(4), None);
    }

    #[test]
    fn record_is_relative_to_the_run() {
        let io = Io {
            op: Op::Read,
            stream: 3,
            offset: Bytes(4096),
            len: Bytes(512),
            at: Nanos(90),
            data: Data::Random,
        };
        let completion = Completion {
            io,
            submitted: Nanos(100),
            completed: Nanos(130),
            result: Err(Errno::EIO),
        };
        let record = Record::new(&completion, Nanos(40));
        assert_eq!((record.submitted, record.latency), (Nanos(60), Nanos(30)));
        assert_eq!(record.completed(), Nanos(90));
        assert_eq!(record.result, Err(Errno::EIO));
    }
}
