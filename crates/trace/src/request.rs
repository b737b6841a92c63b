use flashscope_block::{Bytes, Nanos, Op};

use super::VolumeId;

/// A request of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The issue time in nanoseconds: since 1970 if the format states it, else on the clock of the
    /// trace.
    pub at: Nanos,
    /// The time to the completion in nanoseconds, if known.
    pub latency: Option<Nanos>,
    /// The offset of the first byte in the volume.
    pub offset: Bytes,
    /// The length in bytes; 0 for a flush.
    pub len: Bytes,
    /// The number of the volume.
    pub volume: VolumeId,
    /// The operation.
    pub op: Op,
}

impl Request {
    /// Returns the offset after the last byte.
    pub fn end(&self) -> Bytes {
        Bytes(self.offset.0.saturating_add(self.len.0))
    }
}
