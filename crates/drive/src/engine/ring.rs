//! The common part of the io_uring engines: a ring with its file and buffers registered.

#![allow(
    unsafe_code,
    reason = "the kernel reads and writes the buffers named in a ring's requests"
)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use flashscope_block::{Bytes, Data, Io, Nanos, Op};
use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, squeue};

use super::Setup;
use super::queued::{Answer, Kernel};
use crate::buffer::Buffers;
use crate::clock::Clock;
use crate::limits::longest_command;

/// The index of the file among the registered files.
pub(super) const FILE: Fixed = Fixed(0);

/// The size of a memory page in bytes, for comparison with the length of a buffer.
const PAGE_LEN: usize = 4096;

/// The minimum timeout with which a polling call waits until a completion arrives. A healthy drive
/// always answers within this time.
const FAR_OFF: Duration = Duration::from_secs(1);

/// The encoding of IOs into ring entries, and the decoding of completions.
pub(super) trait Dialect: Send {
    /// An entry of the submission queue.
    type Entry: squeue::EntryMarker;
    /// An entry of the completion queue.
    type Answer: cqueue::EntryMarker + Into<cqueue::Entry>;

    /// Returns true if the operation has a command, like [`Kernel::takes`].
    fn takes(&self, op: Op) -> bool;

    /// Encodes the IO of `slot`, with the slot as user data. `registered` is the index of its
    /// buffer, if buffers are registered.
    fn entry(
        &mut self,
        slot: usize,
        io: &Io,
        buffer: *mut u8,
        registered: Option<u16>,
    ) -> Self::Entry;

    /// Returns the parameters that the kernel reads from the buffer of an operation without data:
    /// at most a page.
    fn list(&self, _io: &Io) -> Vec<u8> {
        Vec::new()
    }

    /// Converts the result in a ring entry to an [`Answer::result`].
    fn result(&self, _slot: usize, result: i32) -> i64 {
        result.into()
    }
}

/// A ring with the entry types of a dialect.
pub(super) type RingOf<D> = IoUring<<D as Dialect>::Entry, <D as Dialect>::Answer>;

/// A ring over one file.
pub(super) struct Ring<D: Dialect> {
    ring: RingOf<D>,
    registered: bool,
    dialect: D,
}

/// Creates a ring for completions that the drive reports by interrupts. The kernel passes on a
/// completion when the thread enters the kernel, without interrupting the thread. Kernels before
/// Linux 5.19 interrupt the thread.
pub(super) fn interrupted<D: Dialect>(entries: u32) -> io::Result<RingOf<D>> {
    match IoUring::builder().setup_coop_taskrun().build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().build(entries)
        }
        result => result,
    }
}

/// Ignores an error after which the caller should try again: a timeout, an interruption, or a
/// temporary lack of memory or completion entries. Panics on any other error. Entries that the
/// kernel did not take are still in the ring for the next call.
fn check_entered(result: io::Result<usize>) {
    if let Err(error) = result {
        let transient = [libc::ETIME, libc::EINTR, libc::EAGAIN, libc::EBUSY];
        let number = error.raw_os_error().unwrap_or_default();
        assert!(transient.contains(&number), "invalid call of io_uring_enter: {error}");
    }
}

/// Returns the error for a drive or kernel that does not support this engine.
pub(super) fn unsupported(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why.into())
}

/// Checks that an IO of `longest` bytes fits into one command, which means that the kernel does not
/// split it: see [`longest_command`].
pub(super) fn check_length(disk: &Path, name: &str, longest: u64) -> io::Result<()> {
    match longest_command(disk, name) {
        Some(most) if longest > most => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "IOs of {} do not fit into one command, which moves at most {}: make them shorter",
                Bytes(longest),
                Bytes(most)
            ),
        )),
        _ => Ok(()),
    }
}

impl<D: Dialect> Ring<D> {
    /// Creates a ring over `file`, and the buffers of the ring. `build` creates the ring with the
    /// number of entries that it receives.
    ///
    /// The buffers must outlive the IOs, as [`super::queued::QueuedEngine`] ensures.
    pub(super) fn new(
        setup: &Setup,
        file: &File,
        dialect: D,
        build: impl FnOnce(u32) -> io::Result<RingOf<D>>,
    ) -> io::Result<(Ring<D>, Buffers)> {
        let ring = build(u32::try_from(setup.depth).expect("bounded by MAX_QUEUE_DEPTH"))?;
        if !ring.params().is_feature_ext_arg() {
            return Err(unsupported("it needs Linux 5.11 or later"));
        }
        let buffers = Buffers::new(setup.depth, setup.max_io)?;
        ring.submitter().register_files(&[file.as_raw_fd()])?;
        // SAFETY: `QueuedEngine` drops the ring, after all IOs in flight, before the buffers.
        let registered = unsafe { ring.submitter().register_buffers(&buffers.io_vectors()) };
        let registered = match registered {
            Ok(()) => true,
            // The buffers exceed the user's limit of locked memory.
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => false,
            Err(error) => return Err(error),
        };
        Ok((Ring { ring, registered, dialect }, buffers))
    }

    /// Reads the first block, to test whether the kernel supports the engine on this file.
    pub(super) fn try_read(&mut self, setup: &Setup, buffers: &Buffers) -> io::Result<()> {
        let len = setup.target.logical_block();
        let at = setup.clock.now();
        let first = Io { op: Op::Read, stream: 0, offset: Bytes(0), len, at, data: Data::Random };
        let start = buffers.start(0, usize::try_from(len.0).expect("a block"));
        // SAFETY: nothing else is in flight, and the loop below waits for the completion.
        unsafe { self.ready(0, &first, start) };
        let mut answers = Vec::new();
        while answers.is_empty() {
            self.exchange(None, &setup.clock, &mut answers);
        }
        match i32::try_from(-answers[0].result) {
            Ok(number) if number > 0 => Err(io::Error::from_raw_os_error(number)),
            _ => Ok(()),
        }
    }
}

impl<D: Dialect> Kernel for Ring<D> {
    fn takes(&self, op: Op) -> bool {
        self.dialect.takes(op)
    }

    unsafe fn ready(&mut self, slot: usize, io: &Io, buffer: *mut u8) {
        let index = u16::try_from(slot).expect("bounded by MAX_QUEUE_DEPTH");
        let entry = self.dialect.entry(slot, io, buffer, self.registered.then_some(index));
        if io.op == Op::Trim {
            let list = self.dialect.list(io);
            assert!(list.len() <= PAGE_LEN, "no drive has 2^40 blocks");
            // SAFETY: the buffer holds at least a page, which no one else uses, as the caller
            // guarantees.
            unsafe { std::ptr::copy_nonoverlapping(list.as_ptr(), buffer, list.len()) };
        }
        // SAFETY: the buffer stays valid until the IO completes, as the caller guarantees, and the
        // file as long as the ring.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the ring has an entry for each slot");
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
            // Polling ignores timeouts. With a long timeout, the kernel polls until a completion
            // arrives, within its own time limit. With a short one, it polls once, and the caller
            // repeats the call.
            Some(timeout) if self.ring.params().is_setup_iopoll() => {
                self.ring.submit_and_wait(usize::from(timeout >= FAR_OFF))
            }
            Some(timeout) => {
                let timeout = Timespec::from(timeout);
                let args = SubmitArgs::new().timespec(&timeout);
                self.ring.submitter().submit_with_args(1, &args)
            }
        };
        let returned = clock.now();
        check_entered(entered);
        let dialect = &self.dialect;
        answers.extend(self.ring.completion().map(|answer| {
            let answer: cqueue::Entry = answer.into();
            // `QueuedEngine` ignores invalid slots.
            let slot = usize::try_from(answer.user_data()).unwrap_or(usize::MAX);
            Answer { slot, result: dialect.result(slot, answer.result()) }
        }));
        returned
    }

    fn note(&self) -> Option<&'static str> {
        (!self.registered).then_some(
            "its buffers are not registered because the limit of locked memory is too low",
        )
    }
}

impl<D: Dialect> Drop for Ring<D> {
    fn drop(&mut self) {
        // The kernel frees a closed ring after a delay. Until then, a registered file stays open
        // and would block an exclusive opening of the device.
        let _ = self.ring.submitter().unregister_files();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ios_must_fit_into_one_command() {
        let disk = tempfile::tempdir().unwrap();
        let queue = disk.path().join("queue");
        std::fs::create_dir(&queue).unwrap();
        let check = |longest| check_length(disk.path(), "max_sectors_kb", longest);
        for (kib, segments, most) in [(128, 127, 128), (1024, 33, 132)] {
            std::fs::write(queue.join("max_sectors_kb"), format!("{kib}\n")).unwrap();
            std::fs::write(queue.join("max_segments"), format!("{segments}\n")).unwrap();
            assert!(check(most * 1024).is_ok());
            let error = check(most * 1024 + 512).unwrap_err().to_string();
            assert!(error.contains(&format!("moves at most {most} KiB")), "{error}");
        }
    }
}
