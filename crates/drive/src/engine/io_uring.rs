//! io_uring: submission and completion queues shared with the kernel (Linux 5.11 or later).

use std::io;

use flashscope_block::{Io, Op};
use io_uring::types::FsyncFlags;
use io_uring::{cqueue, opcode, squeue};

use super::queued::QueuedEngine;
use super::ring::{Dialect, FILE, Ring, interrupted};
use super::{Engine, Setup};

/// Reads, writes and flushes of a file.
struct File;

pub(super) fn start(setup: &Setup) -> io::Result<Box<dyn Engine>> {
    let (ring, buffers) = Ring::new(setup, setup.target.file(), File, interrupted::<File>)?;
    Ok(Box::new(QueuedEngine::new(ring, buffers, setup)))
}

impl Dialect for File {
    type Entry = squeue::Entry;
    type Answer = cqueue::Entry;

    fn takes(&self, op: Op) -> bool {
        op != Op::Trim
    }

    fn entry(
        &mut self,
        slot: usize,
        io: &Io,
        buffer: *mut u8,
        registered: Option<u16>,
    ) -> squeue::Entry {
        transfer(io, buffer, registered)
            .unwrap_or_else(|| opcode::Fsync::new(FILE).flags(FsyncFlags::DATASYNC).build())
            .user_data(slot as u64)
    }
}

/// Returns the ring entry of a read or write, or `None` for other operations.
pub(super) fn transfer(io: &Io, buffer: *mut u8, registered: Option<u16>) -> Option<squeue::Entry> {
    // A flush has no length, and `max_io` bounds reads and writes only.
    let len = || u32::try_from(io.len.0).expect("bounded by max_io");
    let offset = io.offset.0;
    Some(match (io.op, registered) {
        (Op::Read, Some(index)) => {
            opcode::ReadFixed::new(FILE, buffer, len(), index).offset(offset).build()
        }
        (Op::Read, None) => opcode::Read::new(FILE, buffer, len()).offset(offset).build(),
        (Op::Write, Some(index)) => {
            opcode::WriteFixed::new(FILE, buffer, len(), index).offset(offset).build()
        }
        (Op::Write, None) => opcode::Write::new(FILE, buffer, len()).offset(offset).build(),
        (Op::Flush | Op::Trim, _) => return None,
    })
}
