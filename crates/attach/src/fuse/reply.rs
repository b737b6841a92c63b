//! Replies to the kernel's FUSE requests.

use std::sync::{Arc, Mutex};

use flashscope_block::Errno;
use fuser::{ReplyData, ReplyEmpty, ReplyWrite};

use crate::lock;
use crate::request::{Answer, CompletedRequest, RequestError};

/// A FUSE request of the kernel that waits for its reply.
pub struct Recipient(pub(super) Reply);

pub(super) enum Reply {
    Read(ReplyData),
    Write(ReplyWrite),
    /// A part of a kernel request that was split into several requests.
    Part(Arc<Parts>),
}

/// A request of the kernel that was split into several requests to the drive.
pub(super) struct Parts(Mutex<PendingReply>);

struct PendingReply {
    /// The number of parts without a reply.
    parts: usize,
    /// The first error of the completed parts.
    result: Result<(), Errno>,
    reply: Option<ReplyEmpty>,
}

impl Parts {
    /// Creates the state of a request that was split into `parts`, at least one.
    pub(super) fn new(parts: usize, reply: ReplyEmpty) -> Arc<Parts> {
        Arc::new(Parts(Mutex::new(PendingReply { parts, result: Ok(()), reply: Some(reply) })))
    }

    fn answer(&self, result: Result<(), Errno>) {
        let mut pending = lock(&self.0);
        pending.parts -= 1;
        pending.result = pending.result.and(result);
        if pending.parts > 0 {
            return;
        }
        match (pending.reply.take(), pending.result) {
            (Some(reply), Ok(())) => reply.ok(),
            (Some(reply), Err(errno)) => reply.error(code(errno)),
            (None, _) => {}
        }
    }
}

impl Answer for Recipient {
    fn answer(done: &mut Vec<CompletedRequest<Recipient>>) {
        for CompletedRequest { request, result, to } in done.drain(..) {
            match (to.0, result.map_err(RequestError::errno)) {
                (Reply::Read(reply), Ok(())) => reply.data(&request.data),
                (Reply::Read(reply), Err(errno)) => reply.error(code(errno)),
                (Reply::Write(reply), Ok(())) => {
                    reply.written(u32::try_from(request.len.0).unwrap_or(u32::MAX));
                }
                (Reply::Write(reply), Err(errno)) => reply.error(code(errno)),
                (Reply::Part(parts), result) => parts.answer(result),
            }
        }
    }
}

pub(super) fn code(errno: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(errno.0)
}
