use flashscope_block::{Bytes, Nanos, Op};

use super::VolumeId;

/// What a trace tells of one IO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it was issued: since 1970 where the format says so, else on the clock of the trace.
    pub at: Nanos,
    /// From then to its answer, where the format tells.
    pub latency: Option<Nanos>,
    /// The first byte addressed, in its volume.
    pub offset: Bytes,
    /// How many bytes are addressed; 0 for a flush.
    pub len: Bytes,
    /// The volume that it is for.
    pub volume: VolumeId,
    /// What is to be done.
    pub op: Op,
}

impl Request {
    /// The first byte after the range.
    pub fn end(&self) -> Bytes {
        Bytes(self.offset.0.saturating_add(self.len.0))
    }
}
