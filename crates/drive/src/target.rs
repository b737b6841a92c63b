//! The open file or block device: opening it in the right order, and its system calls.

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

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use flashscope_block::{Bytes, DeviceInfo, DeviceKind, Errno};
use rustix::fs::{AtFlags, FallocateFlags, StatxFlags, fallocate, fstatvfs, statx};

use crate::buffer::Memory;
use crate::error::OpenError;
use crate::guard::{
    FileMark, GuardedFile, Identity, Lock, NewFile, OverwriteReason, WriteRequest, open_for_io,
    open_guarded,
};
use crate::hardware::Hardware;
use crate::ioctl::Request;
use crate::options::{Access, Location, OpenOptions};

/// The smallest logical block size.
const MIN_BLOCK: Bytes = Bytes(512);

/// The maximum free space to leave on a file system for other users. Below this maximum, the margin
/// is a twentieth of the file system's size.
const MARGIN: Bytes = Bytes::GIB;

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
    /// Opens a drive, through the guards if it is to be written.
    pub(crate) fn open(options: &OpenOptions) -> Result<Target, OpenError> {
        let (target, created) = Target::open_new(options)?;
        created.into_iter().for_each(NewFile::keep);
        Ok(target)
    }

    /// Opens a drive like [`Target::open`]. Also returns the file if it was newly created: dropping
    /// the [`NewFile`] without [`NewFile::keep`] removes it.
    pub(crate) fn open_new(options: &OpenOptions) -> Result<(Target, Option<NewFile>), OpenError> {
        let (target, created) = match &options.location {
            Location::BlockDevice(path) => (open_block_device(path, options)?, None),
            Location::File(path) => open_file(path, options)?,
        };
        let block = target.logical_block;
        check_holds_a_block(&target.path, target.capacity, block)?;
        if !options.max_io.is_multiple_of(block) {
            let longest = options.max_io;
            let what =
                format!("IOs of {longest} are not multiples of its logical block size, {block}");
            return Err(OpenError::option(&target.path, what));
        }
        Ok((target, created))
    }

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

    /// Returns the properties of the drive. `engine` names the engine and the reason for its
    /// choice.
    pub(crate) fn info(
        &self,
        options: &OpenOptions,
        hardware: Hardware,
        engine: Option<String>,
    ) -> DeviceInfo {
        DeviceInfo {
            name: options.name.clone(),
            kind: self.kind,
            capacity: self.capacity,
            logical_block: self.logical_block,
            queue_depth: options.queue_depth,
            model: hardware.model,
            serial: hardware.serial,
            firmware: hardware.firmware,
            engine,
        }
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

/// Opens `path`, through the guards if it may be written.
fn open_through_guard(
    path: &Path,
    options: &OpenOptions,
    created: Option<Identity>,
    exclusive: bool,
) -> Result<(File, Option<Lock>, Identity), OpenError> {
    let direct = if options.direct { libc::O_DIRECT } else { 0 };
    let Access::Write { confirmation } = &options.access else {
        let file = open_for_io(path, false, direct)?;
        let identity = Identity::of(&file).map_err(OpenError::system("inspect", path))?;
        return Ok((file, None, identity));
    };
    let request = WriteRequest {
        path,
        reason: match created {
            Some(created) => OverwriteReason::Created(created),
            None => OverwriteReason::Confirmed(confirmation.as_deref()),
        },
        flags: direct | if exclusive { libc::O_EXCL } else { 0 },
        ignore_open_by_others: options.ignore_open_by_others,
    };
    let GuardedFile { file, identity, lock } = open_guarded(&request)?;
    Ok((file, Some(lock), identity))
}

fn open_block_device(path: &Path, options: &OpenOptions) -> Result<Target, OpenError> {
    let metadata = fs::metadata(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => OpenError::NoDevice(path.into()),
        _ => OpenError::System { action: "inspect", path: path.into(), source },
    })?;
    let file_type = metadata.file_type();
    if !file_type.is_block_device() {
        let path = path.to_path_buf();
        let hint = match file_type.is_file() {
            true => format!("write `file:{}` to measure a file", path.display()),
            false => "name a block device from the list of `lsblk`".into(),
        };
        return Err(OpenError::WrongKind { path, kind: name_of(file_type), hint });
    }
    let (file, lock, identity) = open_through_guard(path, options, None, true)?;
    let mut block: libc::c_int = 0;
    BLKSSZGET
        .send(&file, &mut block)
        .map_err(OpenError::system("query the logical block size of", path))?;
    let logical_block = Bytes(u64::try_from(block).unwrap_or(0).max(512));
    let capacity = size_of_device(&file).map_err(OpenError::system("query the size of", path))?;
    Ok(Target {
        file,
        _lock: lock,
        path: path.into(),
        kind: DeviceKind::Block,
        identity,
        capacity: capacity.round_down(logical_block),
        logical_block,
        mark: None,
    })
}

/// Returns the size of a block device, which its metadata does not contain.
fn size_of_device(mut file: &File) -> io::Result<Bytes> {
    Ok(Bytes(file.seek(SeekFrom::End(0))?))
}

fn name_of(file_type: fs::FileType) -> &'static str {
    match file_type {
        t if t.is_file() => "a regular file",
        t if t.is_dir() => "a directory",
        t if t.is_block_device() => "a block device",
        t if t.is_char_device() => "a character device",
        t if t.is_fifo() => "a pipe",
        t if t.is_socket() => "a socket",
        _ => "not a file",
    }
}

/// Opens a file, and creates it if it is missing.
fn open_file(path: &Path, options: &OpenOptions) -> Result<(Target, Option<NewFile>), OpenError> {
    if let Some(size) = options.size {
        // Rejects impossible sizes before any file is created or extended.
        check_size(path, size, MIN_BLOCK)?;
    }
    match fs::metadata(path) {
        Ok(metadata) => check_is_file(path, &metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let created = create(path, options)?;
            let target = open_existing_file(path, options, Some(created.identity()))?;
            return Ok((target, Some(created)));
        }
        Err(source) => {
            return Err(OpenError::System { action: "inspect", path: path.into(), source });
        }
    }
    Ok((open_existing_file(path, options, None)?, None))
}

/// Rejects a drive with a capacity below one block.
fn check_holds_a_block(path: &Path, capacity: Bytes, block: Bytes) -> Result<(), OpenError> {
    if capacity >= block {
        return Ok(());
    }
    Err(OpenError::Empty {
        path: path.into(),
        capacity,
        logical_block: block,
        hint: "give the file a `size`, or choose another drive",
    })
}

/// Rejects a file `size` below one block.
fn check_size(path: &Path, size: Bytes, block: Bytes) -> Result<(), OpenError> {
    if size == Bytes(0) {
        return Err(OpenError::option(path, "a `size` of 0 is not possible: choose a larger one"));
    }
    if size < block {
        let what = format!(
            "a `size` of {size} is below its logical block size, {block}: choose a larger one"
        );
        return Err(OpenError::option(path, what));
    }
    Ok(())
}

/// Checks that a path is a regular file. The error contains the right notation for other kinds.
pub(crate) fn check_is_file(path: &Path, metadata: &fs::Metadata) -> Result<(), OpenError> {
    let file_type = metadata.file_type();
    if file_type.is_file() {
        return Ok(());
    }
    let hint = if file_type.is_block_device() {
        let device = path.canonicalize().unwrap_or_else(|_| path.into());
        format!("name the device itself, `{}`, without `file:`", device.display())
    } else {
        "name a regular file".into()
    };
    Err(OpenError::WrongKind { path: path.into(), kind: name_of(file_type), hint })
}

/// Creates a file without any blocks, if the options allow it.
fn create(path: &Path, options: &OpenOptions) -> Result<NewFile, OpenError> {
    let missing = |hint| Err(OpenError::Missing { path: path.into(), hint });
    if !options.writes() {
        return missing("reading alone needs a file that was written before");
    }
    if options.size.is_none() {
        return missing("add `?size=1GiB` (or another size) to create it");
    }
    NewFile::new(path)
}

/// Opens an existing file. If the file was just created for this purpose, `created` is its
/// identity. Such a file contains no data of others.
fn open_existing_file(
    path: &Path,
    options: &OpenOptions,
    created: Option<Identity>,
) -> Result<Target, OpenError> {
    let look = || OpenError::system("inspect", path);
    let (file, lock, identity) = open_through_guard(path, options, created, false)?;
    let mark = mark_for(&file, options, created.is_some());
    let metadata = file.metadata().map_err(look())?;
    check_is_file(path, &metadata)?;
    let logical_block = if options.direct {
        direct_io_block(&file)
            .map_err(look())?
            .ok_or_else(|| OpenError::DirectRefused { path: path.into() })?
    } else {
        MIN_BLOCK
    };
    if let Some(size) = options.size {
        check_size(path, size, logical_block)?;
    }
    let mut held = Bytes(metadata.len());
    if options.writes() {
        let size = options.size.unwrap_or(held).max(held);
        if options.size.is_some() {
            allocate_whole(&file, path, size)?;
        } else {
            check_space(&file, path, size)?;
        }
        held = size;
    }
    let used = options.size.unwrap_or(held);
    if used > held {
        let what =
            format!("it has {held}, less than the {used} of `size`, and is opened for reading");
        return Err(OpenError::option(path, what));
    }
    Ok(Target {
        file,
        _lock: lock,
        path: path.into(),
        kind: DeviceKind::File,
        identity,
        capacity: used.round_down(logical_block),
        logical_block,
        mark,
    })
}

/// Returns the mark to leave on `file` if this program created it. A file marked as kept stays so.
fn mark_for(file: &File, options: &OpenOptions, created: bool) -> Option<FileMark> {
    let requested = if options.scratch { FileMark::Scratch } else { FileMark::Kept };
    match FileMark::of(file).filter(|_| options.writes()) {
        Some(FileMark::Kept) => Some(FileMark::Kept),
        Some(FileMark::Scratch) => Some(requested),
        None => created.then_some(requested),
    }
}

/// Allocates all blocks for `size` bytes. Later writes then spend no time on allocation.
fn allocate_whole(file: &File, path: &Path, size: Bytes) -> Result<(), OpenError> {
    check_space(file, path, size)?;
    allocate(file, FallocateFlags::empty(), Bytes(0), size)
        .map_err(OpenError::system("allocate the blocks of", path))
}

/// Checks that the file system has enough space to extend a file to `size` bytes, and keeps a
/// margin for others.
fn check_space(file: &File, path: &Path, size: Bytes) -> Result<(), OpenError> {
    let look = || OpenError::system("inspect", path);
    let allocated = file.metadata().map_err(look())?.blocks().saturating_mul(512);
    let missing = Bytes(size.0.saturating_sub(allocated));
    let available = available_space(file)
        .map_err(OpenError::system("query the free space of the file system of", path))?;
    if missing > available && missing > Bytes(0) {
        return Err(OpenError::NoSpace { path: path.into(), missing, available });
    }
    Ok(())
}

/// Returns the free space of the file system, less the margin.
fn available_space(file: &File) -> io::Result<Bytes> {
    let statistics = fstatvfs(file)?;
    let total = statistics.f_blocks.saturating_mul(statistics.f_frsize);
    let free = statistics.f_bavail.saturating_mul(statistics.f_frsize);
    Ok(Bytes(free.saturating_sub(MARGIN.0.min(total / 20))))
}

/// Returns the unit of direct IO to a file, or `None` if the file does not support it.
fn direct_io_block(file: &File) -> io::Result<Option<Bytes>> {
    match stated_alignment(file)? {
        Some(0) => Ok(None),
        Some(stated) => Ok(Some(Bytes(u64::from(stated).max(512)))),
        None => tried_alignment(file),
    }
}

/// Returns the unit that the file system states (Linux 6.1); 0 means that it does not support
/// direct IO.
fn stated_alignment(file: &File) -> io::Result<Option<u32>> {
    let status = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)?;
    let stated = StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::DIOALIGN);
    Ok(stated.then_some(status.stx_dio_offset_align))
}

/// Returns the length of the smallest read that succeeds, for file systems that state no unit.
fn tried_alignment(file: &File) -> io::Result<Option<Bytes>> {
    for block in [512, 4096] {
        let mut memory = Memory::new(block)?;
        match file.read_at(memory.bytes(block), 0) {
            Ok(_) => return Ok(Some(Bytes(block as u64))),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
