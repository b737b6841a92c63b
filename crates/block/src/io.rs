use std::fmt;

use crate::{Bytes, Errno, Nanos};

/// What an [`Io`] does.
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
    /// Fetch data.
    Read = 0,
    /// Store data.
    Write = 1,
    /// Tell the drive that the data of a range is no longer needed.
    Trim = 2,
    /// Make everything acknowledged so far durable.
    Flush = 3,
}

impl Op {
    /// Every operation, in the order of the stored codes.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// The stored code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The operation of a stored code, if there is one.
    pub fn from_code(code: u8) -> Option<Op> {
        Op::ALL.get(usize::from(code)).copied()
    }

    /// Whether the operation changes what the drive holds.
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

/// Which of the concurrent streams of a workload an IO belongs to (uFLIP's process `p`).
pub type StreamId = u16;

/// What is written, as far as a drive may care: some take less time for zeros (Sun and Zhang,
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
    /// Data that no drive can compress, and that was never written before.
    #[default]
    Random,
    /// Zeros.
    Zeros,
    /// Zeros in the second half of every 4 KiB of the address space, random data in the first.
    HalfZeros,
}

impl Data {
    /// Every one, in the order in which they are shown.
    pub const ALL: [Data; 3] = [Data::Random, Data::Zeros, Data::HalfZeros];

    /// Its name in what is typed and printed.
    pub const fn name(self) -> &'static str {
        match self {
            Data::Random => "random",
            Data::Zeros => "zeros",
            Data::HalfZeros => "half-zeros",
        }
    }

    /// Whether a range, which is not empty, is written with zeros alone.
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
    /// What to do.
    pub op: Op,
    /// The stream that issued it.
    pub stream: StreamId,
    /// The first byte addressed.
    pub offset: Bytes,
    /// How many bytes are addressed; 0 for a flush.
    pub len: Bytes,
    /// What is written; of no consequence but for a write.
    pub data: Data,
    /// When it is due, on the clock of the drive; an IO may be submitted later than it was due,
    /// never earlier.
    pub at: Nanos,
}

impl Io {
    /// The first byte after the range.
    pub fn end(&self) -> Bytes {
        Bytes(self.offset.0.saturating_add(self.len.0))
    }
}

/// What a drive answers to one [`Io`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The request that is answered.
    pub io: Io,
    /// When it was handed to the drive.
    pub submitted: Nanos,
    /// When the answer was there.
    pub completed: Nanos,
    /// Success, or why it failed.
    pub result: Result<(), Errno>,
}

impl Completion {
    /// The response time, from submission to completion.
    pub fn latency(&self) -> Nanos {
        Nanos(self.completed.0.saturating_sub(self.submitted.0))
    }
}

/// What is kept of one IO: a row of a result's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When it was handed to the drive, on the clock of the run (which starts at 0).
    pub submitted: Nanos,
    /// From submission to completion.
    pub latency: Nanos,
    /// The first byte addressed.
    pub offset: Bytes,
    /// How many bytes were addressed.
    pub len: Bytes,
    /// What was done.
    pub op: Op,
    /// The stream that issued it.
    pub stream: StreamId,
    /// Success, or why it failed.
    pub result: Result<(), Errno>,
    /// How much later than it was due it was handed to the drive, where it was due at a time of its
    /// own (an open loop); else 0.
    pub late: Nanos,
}

impl Record {
    /// The record of `completion`, of an IO that was due at a time of its own, in a run that began
    /// at `start` on the clock of the drive.
    pub fn open_loop(completion: &Completion, start: Nanos) -> Record {
        let late = Nanos(completion.submitted.0.saturating_sub(completion.io.at.0));
        Record { late, ..Record::new(completion, start) }
    }

    /// The record of `completion` in a run that began at `start` on the clock of the drive.
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

    /// When the answer was there, on the clock of the run.
    pub fn completed(&self) -> Nanos {
        Nanos(self.submitted.0.saturating_add(self.latency.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Do the stored codes and the operations map one to one?
    #[test]
    fn codes_round_trip() {
        for op in Op::ALL {
            assert_eq!(Op::from_code(op.code()), Some(op));
        }
        assert_eq!(Op::from_code(4), None);
    }

    // Is a record on the clock of its run, not of the machine?
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
