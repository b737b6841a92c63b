//! The open file or block device: its system calls.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "IOs, holes and discards of a drive, and the length of a file: on the descriptor that the guard opened"
    )
)]
#![allow(
    unsafe_code,
    reason = "system calls on the per-IO path, with buffers that the kernel reads and writes, and request numbers"
)]

pub(crate) mod opening;

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use flashscope_block::{Bytes, DeviceKind, Errno};
use rustix::fs::{FallocateFlags, fallocate};

use crate::buffer::Memory;
use crate::guard::{FileMark, Identity, Lock};
use crate::ioctl::Request;

/// `BLKDISCARD` of `linux/fs.h`, which the C library does not define: number 119 of the group in
/// which `BLKSSZGET` is number 104.
// SAFETY: the request reads two numbers, the start and the length of the range.
const BLKDISCARD: Request<[u64; 2]> = unsafe { Request::new(libc::BLKSSZGET + 15) };

/// Queries the logical block size.
// SAFETY: the request writes a C integer, which is valid for any bytes.
const BLKSSZGET: Request<libc::c_int> = unsafe { Request::new(libc::BLKSSZGET) };

/// An open block device or file, with its properties.
#[derive(Debug)]
pub(crate) struct Target {
    file: File,
    /// The locks, if it is open for writing.
    _lock: Option<Lock>,
    path: PathBuf,
    kind: DeviceKind,
    identity: Identity,
    capacity: Bytes,
    logical_block: Bytes,
    /// The mark to leave on a file that this program created.
    mark: Option<FileMark>,
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(mark) = self.mark {
            mark.store(&self.file);
        }
    }
}

impl Target {
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    pub(crate) fn logical_block(&self) -> Bytes {
        self.logical_block
    }

    pub(crate) fn read(&self, offset: Bytes, buffer: &mut [u8]) -> Result<u64, Errno> {
        let (start, len) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the buffer is borrowed mutably during the call, which writes to it.
        unsafe { self.transfer(libc::SYS_pread64, start, len, offset) }
    }

    pub(crate) fn write(&self, offset: Bytes, buffer: &[u8]) -> Result<u64, Errno> {
        let (start, len) = (buffer.as_ptr().cast_mut(), buffer.len());
        // SAFETY: the buffer is borrowed during the call, which only reads it.
        unsafe { self.transfer(libc::SYS_pwrite64, start, len, offset) }
    }

    /// Calls `pread64` or `pwrite64` directly. The C library's functions are thread cancellation
    /// points, which costs 20 ns for each call in a multi-threaded program.
    ///
    /// # Safety
    /// `number` must be one of these two, and `len` bytes from `start` must be valid: for writing
    /// with `pread64`, for reading with `pwrite64`.
    unsafe fn transfer(
        &self,
        number: libc::c_long,
        start: *mut u8,
        len: usize,
        offset: Bytes,
    ) -> Result<u64, Errno> {
        loop {
            // SAFETY: the caller guarantees that the buffer fits the system call.
            let moved =
                unsafe { libc::syscall(number, self.file.as_raw_fd(), start, len, offset.0) };
            match u64::try_from(moved) {
                Ok(moved) => return Ok(moved),
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error.into()),
                },
            }
        }
    }

    /// Returns true if the drive was removed. A removed block device has size 0; the kernel treats
    /// a read of it as one past its end, and a write as if it were full.
    pub(crate) fn is_gone(&self) -> bool {
        self.kind == DeviceKind::Block
            && size_of_device(&self.file).is_ok_and(|size| size == Bytes(0))
    }

    pub(crate) fn flush(&self) -> Result<(), Errno> {
        self.file.sync_data().map_err(Errno::from)
    }

    /// Tells the drive that the data of a range is no longer needed: by a discard on a block
    /// device, by a hole in a file.
    pub(crate) fn trim(&self, offset: Bytes, len: Bytes) -> Result<(), Errno> {
        let done = if self.kind == DeviceKind::Block {
            // SAFETY: the file is a block device, as `open_block_device` has checked.
            unsafe { BLKDISCARD.send_to_block_device(&self.file, &mut [offset.0, len.0]) }
        } else {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            allocate(&self.file, mode, offset, len)
        };
        done.map_err(Errno::from)
    }

    /// Returns true if the file rejects reads with `RWF_NOWAIT`. Then io_uring cannot attempt an IO
    /// without blocking, and passes each one to a kernel worker.
    pub(crate) fn refuses_nowait(&self) -> bool {
        let len = usize::try_from(self.logical_block.0).unwrap_or(4096);
        let Ok(mut memory) = Memory::new(len) else {
            return false;
        };
        let vector = libc::iovec { iov_base: memory.bytes(len).as_mut_ptr().cast(), iov_len: len };
        // SAFETY: the vector refers to `len` bytes of live memory.
        let read = unsafe {
            libc::preadv2(self.file.as_raw_fd(), &raw const vector, 1, 0, libc::RWF_NOWAIT)
        };
        read < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EOPNOTSUPP)
    }
}

fn allocate(file: &File, mode: FallocateFlags, offset: Bytes, len: Bytes) -> io::Result<()> {
    Ok(fallocate(file, mode, offset.0, len.0)?)
}

/// Returns the size of a block device, which its metadata does not contain.
fn size_of_device(mut file: &File) -> io::Result<Bytes> {
    Ok(Bytes(file.seek(SeekFrom::End(0))?))
}
