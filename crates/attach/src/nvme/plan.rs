//! The requests to the drive that carry out a command.

use flashscope_block::{Bytes, Op, StreamId};

use super::placement::PlacementCommand;
use super::protection::{ExtendedCopy, ExtendedRead};
use super::status::Status;
use super::zones::ZoneCommand;

use crate::metadata::METADATA_LEN;
use crate::request::Request;

/// The requests that carry out a command, and the steps that follow them.
#[derive(Debug, PartialEq, Eq)]
pub enum Plan {
    /// One request.
    One(Request, Finish),
    /// Requests in any order; the command succeeds if all of them do.
    All(Vec<Request>),
    /// A read of data that must be durable: a flush, then the read.
    DurableRead(Request, Option<ExtendedRead>),
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
        /// The checks of blocks with metadata.
        extended: Option<ExtendedCopy>,
    },
    /// Erases the whole drive, or namespaces.
    Erase(Erase),
    /// Resets the zones of the drive that are not lost. If all zones are lost, the command succeeds
    /// immediately.
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
    /// A comparison of the data that were read with the given data, in logical blocks of this size.
    Compare(Vec<u8>, Bytes),
    /// The remaining work of a command on blocks with metadata. [`Data`](Finish::Data) or
    /// [`Failure`](Finish::Failure) replaces it.
    Extended(ExtendedRead),
    /// A failed check of the data that were read.
    Failure(Status),
    /// The address of an append, in logical blocks of this size.
    Place(Bytes),
}

impl Finish {
    /// Finishes a command on blocks with metadata after its blocks were read.
    pub(super) fn process(&mut self, read: &mut Request) {
        let Finish::Extended(rest) = self else { return };
        *self = match rest.finish(read) {
            Ok(()) => Finish::Data,
            Err(status) => Finish::Failure(status),
        };
    }
}

/// The command that erases data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erase {
    /// Format NVM.
    Format {
        /// The identifier of the namespace, or the identifier that stands for all namespaces.
        namespace: u32,
        /// The number of the new LBA format, and the settings of metadata and protection
        /// information, as in dword 10 of the command.
        format: u32,
    },
    /// Sanitize, which erases the whole drive.
    Sanitize,
}

impl Plan {
    /// Returns the maximum memory in bytes that the data of the requests occupy.
    pub(super) fn cost(&self) -> u64 {
        let read = |request: &Request| if request.op == Op::Read { request.len.0 } else { 0 };
        let metadata = |request: &Request| {
            let metadata = request.metadata.as_ref();
            let blocks = metadata.map_or(0, |metadata| request.len.0 / metadata.block.0);
            blocks * METADATA_LEN as u64
        };
        let held =
            |request: &Request| read(request).max(request.data.len() as u64) + metadata(request);
        match self {
            Plan::One(request, Finish::Compare(data, _)) => held(request) + data.len() as u64,
            Plan::One(request, Finish::Extended(rest)) => 2 * held(request) + rest.cost(),
            Plan::DurableRead(request, Some(_)) => 2 * held(request),
            Plan::One(request, _) | Plan::DurableRead(request, None) => held(request),
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
    Request {
        op,
        offset,
        len,
        data: Vec::new(),
        durable,
        appends: false,
        stream: 0,
        metadata: None,
    }
}

/// Returns a flush.
pub(super) fn flush() -> Request {
    request(Op::Flush, Bytes(0), Bytes(0), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Metadata;

    // The cost includes data and metadata that a read will return, and metadata of writes without
    // data.
    #[test]
    fn metadata_count_as_memory() {
        let metadata = |bytes| Some(Metadata { block: Bytes(512), unwritten: 0xFF, bytes });
        let whole = |op, metadata, data| {
            let request = request(op, Bytes(0), Bytes(4096), false);
            Plan::One(Request { metadata, data, ..request }, Finish::Status).cost()
        };
        assert_eq!(whole(Op::Write, None, Vec::new()), 0, "zeros");
        assert_eq!(whole(Op::Write, metadata(vec![0; 64]), Vec::new()), 64, "protected zeros");
        assert_eq!(whole(Op::Write, metadata(vec![0; 64]), vec![1; 4096]), 4160);
        assert_eq!(whole(Op::Read, metadata(Vec::new()), Vec::new()), 4160);
    }
}
