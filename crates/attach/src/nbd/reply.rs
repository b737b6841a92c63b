//! The replies to clients in the format of the protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use flashscope_block::{Errno, Op};

use super::protocol::*;
use crate::net::Message;
use crate::request::Request;

/// The maximum length of a reply's header: that of a structured reply with an offset.
const HEAD: usize = 28;

/// The request to which a reply belongs, and the format of the reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Handle {
    cookie: u64,
    structured: bool,
    /// The progress of a request that was split into pieces.
    pieces: Option<Pieces>,
}

/// The shared state of the pieces of one request.
#[derive(Debug)]
struct Pieces(Arc<Count>);

#[derive(Debug)]
struct Count {
    left: AtomicUsize,
    /// The number of an error, or 0 for none.
    error: AtomicI32,
    /// The cost in bytes of the completed pieces.
    cost: AtomicU64,
}

impl PartialEq for Pieces {
    fn eq(&self, other: &Pieces) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Pieces {}

impl Handle {
    pub(super) fn new(cookie: u64, structured: bool) -> Handle {
        Handle { cookie, structured, pieces: None }
    }

    /// Splits the handle into a handle for a piece and a handle for the remainder of the request.
    pub(super) fn split(self) -> (Handle, Handle) {
        let Pieces(count) = self.pieces.unwrap_or_else(|| {
            let (left, error) = (AtomicUsize::new(1), AtomicI32::new(0));
            Pieces(Arc::new(Count { left, error, cost: AtomicU64::new(0) }))
        });
        count.left.fetch_add(1, Ordering::Relaxed);
        let handle =
            |count| Handle { pieces: Some(Pieces(count)), ..Handle { pieces: None, ..self } };
        (handle(Arc::clone(&count)), handle(count))
    }

    /// Records the result and the cost of a piece. Returns the result and the cost of the whole
    /// request after its last piece.
    fn finish(&self, result: Result<(), Errno>, cost: u64) -> Option<(Result<(), Errno>, u64)> {
        let Some(Pieces(count)) = &self.pieces else { return Some((result, cost)) };
        count.cost.fetch_add(cost, Ordering::Relaxed);
        if let Err(Errno(error)) = result {
            count.error.store(error, Ordering::Relaxed);
        }
        let is_last = count.left.fetch_sub(1, Ordering::AcqRel) == 1;
        is_last.then(|| {
            let result = match count.error.load(Ordering::Relaxed) {
                0 => Ok(()),
                error => Err(Errno(error)),
            };
            (result, count.cost.load(Ordering::Relaxed))
        })
    }
}

/// The reason why a request is rejected: an error number of the protocol and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    error: u32,
    words: &'static str,
}

impl Refusal {
    pub(super) fn invalid(words: &'static str) -> Refusal {
        Refusal { error: error::EINVAL, words }
    }

    pub(super) fn read_only() -> Refusal {
        Refusal { error: error::EPERM, words: "the drive is read-only" }
    }

    pub(super) fn no_space() -> Refusal {
        Refusal { error: error::ENOSPC, words: "the range exceeds the size of the drive" }
    }
}

/// An encoded reply: a header and, for a read, data.
#[derive(Debug)]
pub(super) struct Reply {
    head: [u8; HEAD],
    head_len: usize,
    data: Vec<u8>,
}

impl Reply {
    /// Returns the reply to a completed request and the cost of all its pieces in bytes, or `None`
    /// while other pieces of it are in flight. `cost` is that of this piece.
    pub(super) fn to(
        handle: &Handle,
        request: Request,
        result: Result<(), Errno>,
        cost: u64,
    ) -> Option<(Reply, u64)> {
        let (result, cost) = handle.finish(result, cost)?;
        let reply = match result {
            Ok(()) if request.op == Op::Read => Reply::data(handle, request),
            Ok(()) => Reply::simple(handle, 0, Vec::new()),
            Err(errno) => Reply::error(handle, number(errno), errno.to_string().into_bytes()),
        };
        Some((reply, cost))
    }

    /// Returns the reply to a request that needed no access to the drive.
    pub(super) fn at_once(handle: &Handle, result: Result<(), Refusal>) -> Reply {
        match result {
            Ok(()) => Reply::simple(handle, 0, Vec::new()),
            Err(refusal) => Reply::error(handle, refusal.error, refusal.words.into()),
        }
    }

    fn data(handle: &Handle, request: Request) -> Reply {
        if !handle.structured {
            return Reply::simple(handle, 0, request.data);
        }
        let len = u32::try_from(request.data.len() + 8).expect("bounded by the longest request");
        let mut reply = Reply::chunk(handle, REPLY_TYPE_OFFSET_DATA, len, request.data);
        reply.push(&request.offset.0.to_be_bytes());
        reply
    }

    fn error(handle: &Handle, error: u32, words: Vec<u8>) -> Reply {
        if !handle.structured {
            return Reply::simple(handle, error, Vec::new());
        }
        let len = u16::try_from(words.len()).expect("messages are short");
        let mut reply = Reply::chunk(handle, REPLY_TYPE_ERROR, u32::from(len) + 6, words);
        reply.push(&error.to_be_bytes());
        reply.push(&len.to_be_bytes());
        reply
    }

    fn simple(handle: &Handle, error: u32, data: Vec<u8>) -> Reply {
        let mut reply = Reply { head: [0; HEAD], head_len: 0, data };
        reply.push(&SIMPLE_REPLY_MAGIC.to_be_bytes());
        reply.push(&error.to_be_bytes());
        reply.push(&handle.cookie.to_be_bytes());
        reply
    }

    /// Creates the only chunk of a structured reply; `len` counts the rest of its header and
    /// `data`.
    fn chunk(handle: &Handle, kind: u16, len: u32, data: Vec<u8>) -> Reply {
        let mut reply = Reply { head: [0; HEAD], head_len: 0, data };
        reply.push(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
        reply.push(&REPLY_FLAG_DONE.to_be_bytes());
        reply.push(&kind.to_be_bytes());
        reply.push(&handle.cookie.to_be_bytes());
        reply.push(&len.to_be_bytes());
        reply
    }

    fn push(&mut self, bytes: &[u8]) {
        self.head[self.head_len..][..bytes.len()].copy_from_slice(bytes);
        self.head_len += bytes.len();
    }
}

impl Message for Reply {
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        [&self.head[..self.head_len], &self.data].into_iter()
    }

    fn len(&self) -> usize {
        self.head_len + self.data.len()
    }
}

/// Returns the protocol's number for an error.
fn number(errno: Errno) -> u32 {
    match errno.0 {
        libc::EPERM | libc::EROFS | libc::EACCES => error::EPERM,
        libc::ENOMEM => error::ENOMEM,
        libc::EINVAL => error::EINVAL,
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => error::ENOSPC,
        libc::EOPNOTSUPP => error::ENOTSUP,
        _ => error::EIO,
    }
}
