//! What the engines over io_uring have in common: a ring with its file and its buffers registered.

#![allow(unsafe_code, reason = "the kernel reads and writes buffers that are in a ring's requests")]

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
use crate::hardware::text;

/// The place of the file among the registered ones.
pub(super) const FILE: Fixed = Fixed(0);

/// Bytes of a page of memory, of which a segment of a transfer holds one in the worst case.
const PAGE: u64 = 4096;

/// The same, as the length of a buffer.
const PAGE_LEN: usize = 4096;

/// A deadline before which a drive that is well has answered.
const FAR_OFF: Duration = Duration::from_secs(1);

/// How IOs are written into a ring, and what its answers mean.
pub(super) trait Dialect: Send {
    /// An entry of the submission queue.
    type Entry: squeue::EntryMarker;
    /// An entry of the completion queue.
    type Answer: cqueue::EntryMarker + Into<cqueue::Entry>;

    /// As [`Kernel::takes`].
    fn takes(&self, op: Op) -> bool;

    /// The entry for the IO of `slot`, which bears the slot as its user data. `registered` is the
    /// number of its buffer, if buffers are registered.
    fn entry(
        &mut self,
        slot: usize,
        io: &Io,
        buffer: *mut u8,
        registered: Option<u16>,
    ) -> Self::Entry;

    /// What the kernel reads in the buffer of an IO that moves no data: at most a page.
    fn list(&self, _io: &Io) -> Vec<u8> {
        Vec::new()
    }

    /// As [`Answer::result`], of the IO of `slot`, by what the ring says of it.
    fn result(&self, _slot: usize, result: i32) -> i64 {
        result.into()
    }
}

/// A ring whose submission and completion entries are those of a dialect.
pub(super) type RingOf<D> = IoUring<<D as Dialect>::Entry, <D as Dialect>::Answer>;

/// A ring over one file.
pub(super) struct Ring<D: Dialect> {
    ring: RingOf<D>,
    registered: bool,
    dialect: D,
}

/// A ring that runs its completion work only when it is asked for completions, where the kernel
/// knows how (Linux 5.19), rather than interrupting the thread for it.
pub(super) fn interrupted<D: Dialect>(entries: u32) -> io::Result<RingOf<D>> {
    match IoUring::builder().setup_coop_taskrun().build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().build(entries)
        }
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

/// That a drive, or the kernel, cannot be used in this way.
pub(super) fn unsupported(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why.into())
}

/// Whether each IO to a drive fits in one command, where it is not split: by the limit of bytes that
/// sysfs has under `name`, and by that of segments, of which each page of memory may need one.
pub(super) fn check_length(disk: &Path, name: &str, longest: u64) -> io::Result<()> {
    let limit = |name: &str, unit: u64| {
        let count: u64 = text(&disk.join("queue").join(name))?.parse().ok()?;
        Some(count * unit)
    };
    let limits = [limit(name, 1024), limit("max_segments", PAGE)];
    match limits.into_iter().flatten().min() {
        Some(most) if longest > most => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "IOs of {} do not fit in one command, which moves {} at most: make them shorter",
                Bytes(longest),
                Bytes(most)
            ),
        )),
        _ => Ok(()),
    }
}

impl<D: Dialect> Ring<D> {
    /// A ring over `file` that `build` makes, of as many entries as it is told, and its buffers.
    ///
    /// The buffers must outlive the IOs, as [`super::queued::Queued`] sees to.
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
        // SAFETY: `Queued` drops the ring, and waits for what is in flight, before the buffers.
        let registered = unsafe { ring.submitter().register_buffers(&buffers.pieces()) };
        let registered = match registered {
            Ok(()) => true,
            // More than the locked memory this user may have.
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => false,
            Err(error) => return Err(error),
        };
        Ok((Ring { ring, registered, dialect }, buffers))
    }

    /// Reads the first block, to see whether the kernel does it in this way.
    pub(super) fn try_read(&mut self, setup: &Setup, buffers: &Buffers) -> io::Result<()> {
        let len = setup.target.logical_block();
        let at = setup.clock.now();
        let first = Io { op: Op::Read, stream: 0, offset: Bytes(0), len, at, data: Data::Random };
        let start = buffers.start(0, usize::try_from(len.0).expect("a block"));
        // SAFETY: nothing else is in flight, and the answer is waited for.
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
            // SAFETY: the buffer has a page at least, which nobody else uses, by the caller.
            unsafe { std::ptr::copy_nonoverlapping(list.as_ptr(), buffer, list.len()) };
        }
        // SAFETY: the buffer stays until the IO is answered, by the caller, and the file as long
        // as the ring.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "as many entries as slots");
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
            // The kernel polls without a deadline: where that is far off, until there is an answer, to which
            // its own limit of time sees; else it is to look once, and this is called again.
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
            // What is no slot is passed over by `Queued`.
            let slot = usize::try_from(answer.user_data()).unwrap_or(usize::MAX);
            Answer { slot, result: dialect.result(slot, answer.result()) }
        }));
        returned
    }

    fn note(&self) -> Option<&'static str> {
        (!self.registered)
            .then_some("its buffers are not registered, as the limit of locked memory is too low")
    }
}

impl<D: Dialect> Drop for Ring<D> {
    fn drop(&mut self) {
        // The kernel takes a ring apart some time after it was closed. Until then a registered
        // file stays open, and an exclusive opening of the device would still be refused.
        let _ = self.ring.submitter().unregister_files();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is an IO that does not fit in one command refused, by bytes and by segments, and one that just
    // fits not?
    #[test]
    fn ios_fit_in_one_command() {
        let disk = tempfile::tempdir().unwrap();
        let queue = disk.path().join("queue");
        std::fs::create_dir(&queue).unwrap();
        let check = |longest| check_length(disk.path(), "max_sectors_kb", longest);
        for (kib, segments, most) in [(128, 127, 128), (1024, 33, 132)] {
            std::fs::write(queue.join("max_sectors_kb"), format!("{kib}\n")).unwrap();
            std::fs::write(queue.join("max_segments"), format!("{segments}\n")).unwrap();
            assert!(check(most * 1024).is_ok());
            let error = check(most * 1024 + 512).unwrap_err().to_string();
            assert!(error.contains(&format!("moves {most} KiB at most")), "{error}");
        }
    }
}
