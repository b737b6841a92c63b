//! io_uring: submission and completion queues shared with the kernel (Linux 5.11 or later).

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use flashscope_block::{Io, Nanos, Op};
use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};

use super::queued::{Answer, Kernel, Queued};
use super::{Engine, Setup};
use crate::buffer::Buffers;
use crate::clock::Clock;

/// The place of the target among the registered files.
const TARGET: Fixed = Fixed(0);

struct Ring {
    ring: IoUring,
    registered: bool,
}

pub(super) fn start(setup: &Setup) -> io::Result<Box<dyn Engine>> {
    let entries = u32::try_from(setup.depth).expect("bounded by MAX_QUEUE_DEPTH");
    let ring = new_ring(entries)?;
    if !ring.params().is_feature_ext_arg() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "it needs Linux 5.11 or later"));
    }
    let buffers = Buffers::new(setup.depth, setup.max_io)?;
    ring.submitter().register_files(&[setup.target.file().as_raw_fd()])?;
    // SAFETY: `Queued` drops the ring, and waits for what is in flight, before the buffers.
    let registered = unsafe { ring.submitter().register_buffers(&buffers.pieces()) };
    let registered = match registered {
        Ok(()) => true,
        // More than the locked memory this user may have.
        Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => false,
        Err(error) => return Err(error),
    };
    Ok(Box::new(Queued::new(Ring { ring, registered }, buffers, setup)))
}

/// A ring that runs its completion work only when it is asked for completions, where the kernel
/// knows how (Linux 5.19), rather than interrupting the thread for it.
fn new_ring(entries: u32) -> io::Result<IoUring> {
    match IoUring::builder().setup_coop_taskrun().build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(entries),
        result => result,
    }
}

/// Passes what only means that the call is to be made again: in time or interrupted, or the kernel
/// is short of memory for the moment. What was not taken is still in the ring, for the next call.
fn check_entered(result: io::Result<usize>) {
    if let Err(error) = result {
        let passing = [libc::ETIME, libc::EINTR, libc::EAGAIN, libc::EBUSY];
        let number = error.raw_os_error().unwrap_or_default();
        assert!(passing.contains(&number), "io_uring_enter was misused: {error}");
    }
}

impl Ring {
    fn entry(&self, slot: usize, io: &Io, buffer: *mut u8) -> squeue::Entry {
        let len = u32::try_from(io.len.0).expect("bounded by max_io");
        let index = u16::try_from(slot).expect("bounded by MAX_QUEUE_DEPTH");
        let offset = io.offset.0;
        match (io.op, self.registered) {
            (Op::Read, true) => {
                opcode::ReadFixed::new(TARGET, buffer, len, index).offset(offset).build()
            }
            (Op::Read, false) => opcode::Read::new(TARGET, buffer, len).offset(offset).build(),
            (Op::Write, true) => {
                opcode::WriteFixed::new(TARGET, buffer, len, index).offset(offset).build()
            }
            (Op::Write, false) => opcode::Write::new(TARGET, buffer, len).offset(offset).build(),
            (Op::Flush, _) => opcode::Fsync::new(TARGET).flags(FsyncFlags::DATASYNC).build(),
            (Op::Trim, _) => unreachable!("`Queued` does trims itself"),
        }
    }
}

impl Kernel for Ring {
    fn ready(&mut self, slot: usize, io: &Io, buffer: *mut u8) {
        let entry = self.entry(slot, io, buffer).user_data(slot as u64);
        // SAFETY: the buffer stays until the IO is answered (see `Queued`), and the file as long
        // as the ring.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("as many entries as slots");
    }

    fn hand_over(&mut self, _answers: &mut Vec<Answer>) {
        check_entered(self.ring.submit());
    }

    fn exchange(
        &mut self,
        timeout: Option<Duration>,
        clock: &Clock,
        answers: &mut Vec<Answer>,
    ) -> Nanos {
        let entered = match timeout {
            None => self.ring.submit_and_wait(1),
            Some(timeout) => {
                let timeout = Timespec::from(timeout);
                let args = SubmitArgs::new().timespec(&timeout);
                self.ring.submitter().submit_with_args(1, &args)
            }
        };
        let returned = clock.now();
        check_entered(entered);
        answers.extend(self.ring.completion().map(|entry| Answer {
            slot: usize::try_from(entry.user_data()).expect("a slot"),
            result: entry.result().into(),
        }));
        returned
    }

    fn note(&self) -> Option<&'static str> {
        (!self.registered)
            .then_some("its buffers are not registered, as the limit of locked memory is too low")
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel takes a ring apart some time after it was closed. Until then a registered
        // file stays open, and an exclusive opening of the device would still be refused.
        let _ = self.ring.submitter().unregister_files();
    }
}
