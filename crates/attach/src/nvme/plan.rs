//! The requests to the drive that carry out a command.

use flashscope_block::{Bytes, Op, StreamId};

use super::placement::PlacementCommand;
use super::zones::ZoneCommand;

use crate::request::Request;

/// The requests that carry out a command, and what follows.
#[derive(Debug, PartialEq, Eq)]
pub enum Plan {
    /// One request.
    One(Request, Finish),
    /// Requests in any order; the command succeeds if all of them do.
    All(Vec<Request>),
    /// A read of data that must be durable: a flush, then the read.
    DurableRead(Request),
    /// Reads whose data are joined and then written.
    Copy {
        /// The reads, in order.
        reads: Vec<Request>,
        /// The first byte of the destination.
        to: Bytes,
        /// True if the write must be durable.
        durable: bool,
        /// The stream of the write.
        stream: StreamId,
    },
    /// Erases the whole drive.
    Erase(Erase),
    /// Resets the zones of the drive that are not lost; with none, the command succeeds at once.
    ResetZones(Request),
    /// Changes or reports the state of zones.
    Zones(ZoneCommand),
    /// Reports or updates the reclaim unit handles.
    Placement(PlacementCommand),
    /// A flush before the controller shuts down.
    ShutDown,
}

/// The result of a single request.
#[derive(Debug, PartialEq, Eq)]
pub enum Finish {
    /// Only a status.
    Status,
    /// The data that were read.
    Data,
    /// A comparison of the data that were read with these.
    Compare(Vec<u8>),
    /// The place of an append, in logical blocks of this size.
    Place(Bytes),
}

/// The reason to erase the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erase {
    /// Format NVM, with the number of the new LBA format.
    Format(u32),
    /// Sanitize.
    Sanitize,
}

impl Plan {
    /// Returns the memory in bytes that the data of the requests take at most.
    pub(super) fn cost(&self) -> u64 {
        let read = |request: &Request| if request.op == Op::Read { request.len.0 } else { 0 };
        let held = |request: &Request| read(request).max(request.data.len() as u64);
        match self {
            Plan::One(request, Finish::Compare(data)) => held(request) + data.len() as u64,
            Plan::One(request, _) | Plan::DurableRead(request) => held(request),
            Plan::All(requests) => requests.iter().map(held).sum(),
            Plan::Copy { reads, .. } => 2 * reads.iter().map(held).sum::<u64>(),
            Plan::Erase(_)
            | Plan::ShutDown
            | Plan::ResetZones(_)
            | Plan::Zones(_)
            | Plan::Placement(_) => 0,
        }
    }
}

/// Returns a request without data.
pub(super) fn request(op: Op, offset: Bytes, len: Bytes, durable: bool) -> Request {
    Request { op, offset, len, data: Vec::new(), durable, appends: false, stream: 0 }
}

/// Returns a flush.
pub(super) fn flush() -> Request {
    request(Op::Flush, Bytes(0), Bytes(0), false)
}
