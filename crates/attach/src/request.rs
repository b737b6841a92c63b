use flashscope_block::{Bytes, Errno, Op, StreamId};

use crate::metadata::Metadata;

/// A request of a client to an attached drive, with its data.
///
/// Its range lies within the drive and, except for a flush, is not empty. The range need not
/// consist of whole logical blocks: the drive is then accessed in the blocks that contain the
/// range.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub op: Op,
    /// The first byte of the range.
    pub offset: Bytes,
    /// The length of the range in bytes; 0 for a flush.
    pub len: Bytes,
    /// The data to write: `len` bytes, or none for zeros. After a read, the data that were read.
    pub data: Vec<u8>,
    /// True if a write or a trim must be durable when it completes (force unit access).
    pub durable: bool,
    /// True for a write at the write pointer of the zone that contains `offset` (zone append). The
    /// completed request has the address of the data as its `offset`.
    pub appends: bool,
    /// The reclaim unit handle of a write; 0 if the client names none.
    pub stream: StreamId,
    /// The metadata of the blocks of a read or a write, on a drive that keeps metadata. A write
    /// without metadata discards the metadata of its range.
    pub metadata: Option<Metadata>,
}

/// The reason why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestError {
    /// The drive failed the request.
    Drive(Errno),
    /// The zone refused the request.
    Zone(ZoneError),
    /// A fault cut the connection of the request: the client gets no reply. A transport without
    /// connections answers `EIO`.
    Lost,
}

impl RequestError {
    /// Returns the error number of Linux.
    pub fn errno(self) -> Errno {
        match self {
            RequestError::Drive(errno) => errno,
            RequestError::Zone(error) => error.errno(),
            RequestError::Lost => Errno::EIO,
        }
    }
}

impl From<Errno> for RequestError {
    fn from(errno: Errno) -> RequestError {
        RequestError::Drive(errno)
    }
}

/// The reason why a zone refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneError {
    /// A write would not end within its zone.
    Boundary,
    /// The zone is full.
    Full,
    /// The zone is read-only.
    ReadOnly,
    /// The zone is offline.
    Offline,
    /// A write does not begin at the write pointer.
    InvalidWrite,
    /// Too many zones would be active: open or closed.
    TooManyActive,
    /// Too many zones would be open.
    TooManyOpen,
    /// The state of the zone does not permit the change.
    InvalidTransition,
}

impl ZoneError {
    /// Returns the error number of Linux for the refusal.
    pub(crate) fn errno(self) -> Errno {
        match self {
            ZoneError::TooManyActive => Errno::EOVERFLOW,
            ZoneError::TooManyOpen => Errno::ETOOMANYREFS,
            ZoneError::Boundary
            | ZoneError::Full
            | ZoneError::ReadOnly
            | ZoneError::Offline
            | ZoneError::InvalidWrite
            | ZoneError::InvalidTransition => Errno::EIO,
        }
    }
}

impl From<ZoneError> for RequestError {
    fn from(error: ZoneError) -> RequestError {
        RequestError::Zone(error)
    }
}

impl Request {
    /// Returns true if all bytes to write are zeros.
    pub(crate) fn is_zero(&self) -> bool {
        self.data.iter().all(|byte| *byte == 0)
    }
}

/// A request and the recipient of its reply.
#[derive(Debug)]
pub struct PendingRequest<A> {
    /// The request.
    pub request: Request,
    /// The recipient of the reply.
    pub from: A,
}

impl<A> PendingRequest<A> {
    pub(crate) fn complete(self, result: Result<(), RequestError>) -> CompletedRequest<A> {
        CompletedRequest { request: self.request, result, to: self.from }
    }
}

/// A completed request.
#[derive(Debug)]
pub struct CompletedRequest<A> {
    /// The request; after a read it contains the data.
    pub request: Request,
    /// Success or the error.
    pub result: Result<(), RequestError>,
    /// The recipient of the reply.
    pub to: A,
}

/// A transport's way to send replies.
pub trait Answer: Send + Sized + 'static {
    /// Processes the data of a read before the drive completes the read, which may still fail. The
    /// thread that submitted the read or moved its data makes this call. Only the client of that
    /// thread waits.
    fn process_read(&mut self, _read: &mut Request) {}

    /// Sends the replies to all requests in `done`, which are due now. All clients wait for this
    /// call: leave slow or blocking work to another thread.
    fn answer(done: &mut Vec<CompletedRequest<Self>>);
}
