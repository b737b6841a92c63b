use flashscope_block::{Bytes, Errno, Op};

/// One request with its data, as a client of an attached drive makes it.
///
/// Its range is within the drive and not empty, but for a flush; it need not be a multiple of the
/// logical block: the drive is then asked for the blocks that it touches.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub op: Op,
    /// The first byte addressed.
    pub offset: Bytes,
    /// How many bytes are addressed; 0 for a flush.
    pub len: Bytes,
    /// Of a write, what is written: `len` bytes, or none for zeros. Of a read that was answered,
    /// what was read.
    pub data: Vec<u8>,
    /// Whether a write or a trim is to be durable when it is answered (force unit access).
    pub durable: bool,
}

impl Request {
    /// Whether zeros are written.
    pub(crate) fn is_zero(&self) -> bool {
        self.data.iter().all(|byte| *byte == 0)
    }
}

/// A request, and who is to be told how it went.
#[derive(Debug)]
pub struct Asked<A> {
    /// The request.
    pub request: Request,
    /// Whom it is from.
    pub from: A,
}

impl<A> Asked<A> {
    pub(crate) fn answered(self, result: Result<(), Errno>) -> Answered<A> {
        Answered { request: self.request, result, to: self.from }
    }
}

/// A request that is done.
#[derive(Debug)]
pub struct Answered<A> {
    /// The request; that of a read has its data now.
    pub request: Request,
    /// Success, or why it failed.
    pub result: Result<(), Errno>,
    /// Whom to tell.
    pub to: A,
}

/// How a transport is told that requests are done.
pub trait Answer: Send + Sized + 'static {
    /// Tells those that the requests are from. All of the requests are due now, so what takes long
    /// or may block must be left to another thread: the requests of all clients wait for it.
    fn answer(done: &mut Vec<Answered<Self>>);
}
