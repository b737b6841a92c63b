//! Whom the answers go to.

use std::sync::{Arc, Mutex};

use flashscope_block::Errno;
use fuser::{ReplyData, ReplyEmpty, ReplyWrite};

use crate::lock;
use crate::request::{Answer, Answered};

/// A request of the kernel that waits for its answer.
pub struct To(pub(super) Reply);

pub(super) enum Reply {
    Read(ReplyData),
    Write(ReplyWrite),
    /// One of the requests that together are one of the kernel's.
    Part(Arc<Parts>),
}

/// A request of the kernel that is several of ours.
pub(super) struct Parts(Mutex<Left>);

struct Left {
    /// Parts that are not answered yet.
    parts: usize,
    /// The first error of those that are.
    result: Result<(), Errno>,
    reply: Option<ReplyEmpty>,
}

impl Parts {
    /// `parts` of them, one or more.
    pub(super) fn new(parts: usize, reply: ReplyEmpty) -> Arc<Parts> {
        Arc::new(Parts(Mutex::new(Left { parts, result: Ok(()), reply: Some(reply) })))
    }

    fn answer(&self, result: Result<(), Errno>) {
        let mut left = lock(&self.0);
        left.parts -= 1;
        left.result = left.result.and(result);
        if left.parts > 0 {
            return;
        }
        match (left.reply.take(), left.result) {
            (Some(reply), Ok(())) => reply.ok(),
            (Some(reply), Err(errno)) => reply.error(code(errno)),
            (None, _) => {}
        }
    }
}

impl Answer for To {
    fn answer(done: &mut Vec<Answered<To>>) {
        for Answered { request, result, to } in done.drain(..) {
            match (to.0, result) {
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
