//! The open file or block device: opening it in the right order, and what it can do.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "IOs, holes and discards of a drive, and the length of a file: to the descriptor that the guard opened"
    )
)]
#![allow(
    unsafe_code,
    reason = "system calls on the per-IO path, with buffers that the kernel reads and writes, and the numbers of requests"
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
    Created, Grounds, Guarded, Identity, Lock, Own, Writing, open_for_io, open_guarded,
};
use crate::hardware::Hardware;
use crate::ioctl::Request;
use crate::options::{Access, Location, OpenOptions};

/// The smallest logical block that there is.
const LEAST_BLOCK: Bytes = Bytes(512);

/// Free space of a file system that is left to others: a twentieth, up to this.
const MARGIN: Bytes = Bytes::GIB;

/// `BLKDISCARD` of `linux/fs.h`, which the C library does not name: number 119 of the group in
/// which `BLKSSZGET` is number 104.
// SAFETY: it reads two numbers, where the range begins and how long it is.
const BLKDISCARD: Request<[u64; 2]> = unsafe { Request::new(libc::BLKSSZGET + 15) };

/// Asks for the logical block.
// SAFETY: it writes a number of the C library's type, any bytes of which are valid.
const BLKSSZGET: Request<libc::c_int> = unsafe { Request::new(libc::BLKSSZGET) };

/// An open block device or file, with what was found out about it.
#[derive(Debug)]
pub(crate) struct Target {
    file: File,
    /// Where it may be written.
    _lock: Option<Lock>,
    path: PathBuf,
    kind: DeviceKind,
    identity: Identity,
    capacity: Bytes,
    logical_block: Bytes,
    /// What becomes of a file that this program made.
    own: Option<Own>,
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(own) = self.own {
            own.put_on(&self.file);
        }
    }
}

impl Target {
    /// Opens what `options` say, through the guards where it is to be written.
    pub(crate) fn open(options: &OpenOptions) -> Result<Target, OpenError> {
        let (target, created) = Target::open_new(options)?;
        created.into_iter().for_each(Created::keep);
        Ok(target)
    }

    /// The same; a file that was created for it is removed again unless it is kept.
    pub(crate) fn open_new(options: &OpenOptions) -> Result<(Target, Option<Created>), OpenError> {
        let (target, created) = match &options.location {
            Location::BlockDevice(path) => (open_block_device(path, options)?, None),
            Location::File(path) => open_file(path, options)?,
        };
        let block = target.logical_block;
        check_holds_a_block(&target.path, target.capacity, block)?;
        if !options.max_io.is_multiple_of(block) {
            let longest = options.max_io;
            let what = format!("IOs of {longest} are no multiple of its logical block of {block}");
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

    /// What is known of it; `engine` is how IOs reach it, and why that way.
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
        // SAFETY: the buffer is borrowed for the call, to be written.
        unsafe { self.transfer(libc::SYS_pread64, start, len, offset) }
    }

    pub(crate) fn write(&self, offset: Bytes, buffer: &[u8]) -> Result<u64, Errno> {
        let (start, len) = (buffer.as_ptr().cast_mut(), buffer.len());
        // SAFETY: the buffer is borrowed for the call, which only reads it.
        unsafe { self.transfer(libc::SYS_pwrite64, start, len, offset) }
    }

    /// `pread64` or `pwrite64`, called directly: the C library's functions are points where a
    /// thread can be cancelled, which in a program of several threads takes 20 ns a call.
    ///
    /// # Safety
    /// `number` is one of these two, and `len` bytes from `start` on are valid: for `pread64` to be written, for
    /// `pwrite64` to be read.
    unsafe fn transfer(
        &self,
        number: libc::c_long,
        start: *mut u8,
        len: usize,
        offset: Bytes,
    ) -> Result<u64, Errno> {
        loop {
            // SAFETY: the caller's buffer is as the system call takes it.
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

    /// Whether it was removed: a block device has no bytes any more then, and the kernel answers a read of it as one past its
    /// end, and a write as if it were full.
    pub(crate) fn is_gone(&self) -> bool {
        self.kind == DeviceKind::Block
            && size_of_device(&self.file).is_ok_and(|size| size == Bytes(0))
    }

    pub(crate) fn flush(&self) -> Result<(), Errno> {
        self.file.sync_data().map_err(Errno::from)
    }

    /// Tells the drive that the data of a range are no longer needed: the discard of a block
    /// device, a hole in a file.
    pub(crate) fn trim(&self, offset: Bytes, len: Bytes) -> Result<(), Errno> {
        let done = if self.kind == DeviceKind::Block {
            // SAFETY: it is a block device, as `open_block_device` has seen.
            unsafe { BLKDISCARD.send_to_block_device(&self.file, &mut [offset.0, len.0]) }
        } else {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            allocate(&self.file, mode, offset, len)
        };
        done.map_err(Errno::from)
    }

    /// Whether a read that must not block is refused as such, rather than tried. Then io_uring
    /// cannot try one either, and gives each IO to a kernel worker.
    pub(crate) fn refuses_nowait(&self) -> bool {
        let len = usize::try_from(self.logical_block.0).unwrap_or(4096);
        let Ok(mut memory) = Memory::new(len) else {
            return false;
        };
        let piece = libc::iovec { iov_base: memory.bytes(len).as_mut_ptr().cast(), iov_len: len };
        // SAFETY: the piece is `len` bytes of live memory.
        let read = unsafe {
            libc::preadv2(self.file.as_raw_fd(), &raw const piece, 1, 0, libc::RWF_NOWAIT)
        };
        read < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EOPNOTSUPP)
    }
}

fn allocate(file: &File, mode: FallocateFlags, offset: Bytes, len: Bytes) -> io::Result<()> {
    Ok(fallocate(file, mode, offset.0, len.0)?)
}

/// Opens `path` as `options` say, through the guard where it may be written.
fn open_through_guard(
    path: &Path,
    options: &OpenOptions,
    created: Option<Identity>,
    exclusive: bool,
) -> Result<(File, Option<Lock>, Identity), OpenError> {
    let direct = if options.direct { libc::O_DIRECT } else { 0 };
    let Access::Write { confirmation } = &options.access else {
        let file = open_for_io(path, false, direct)?;
        let identity = Identity::of(&file).map_err(OpenError::system("look at", path))?;
        return Ok((file, None, identity));
    };
    let writing = Writing {
        path,
        grounds: match created {
            Some(created) => Grounds::Created(created),
            None => Grounds::Confirmed(confirmation.as_deref()),
        },
        flags: direct | if exclusive { libc::O_EXCL } else { 0 },
        ignore_open_by_others: options.ignore_open_by_others,
    };
    let Guarded { file, identity, lock } = open_guarded(&writing)?;
    Ok((file, Some(lock), identity))
}

fn open_block_device(path: &Path, options: &OpenOptions) -> Result<Target, OpenError> {
    let found = fs::metadata(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => OpenError::NoDevice(path.into()),
        _ => OpenError::System { action: "look at", path: path.into(), source },
    })?;
    let found = found.file_type();
    if !found.is_block_device() {
        let path = path.to_path_buf();
        let hint = match found.is_file() {
            true => format!("write `file:{}` to measure a file", path.display()),
            false => "name a block device, as `lsblk` lists them".into(),
        };
        return Err(OpenError::WrongKind { path, found: name_of(found), hint });
    }
    let (file, lock, identity) = open_through_guard(path, options, None, true)?;
    let mut block: libc::c_int = 0;
    BLKSSZGET
        .send(&file, &mut block)
        .map_err(OpenError::system("ask for the logical block of", path))?;
    let logical_block = Bytes(u64::try_from(block).unwrap_or(0).max(512));
    let capacity = size_of_device(&file).map_err(OpenError::system("ask for the size of", path))?;
    Ok(Target {
        file,
        _lock: lock,
        path: path.into(),
        kind: DeviceKind::Block,
        identity,
        capacity: capacity.round_down(logical_block),
        logical_block,
        own: None,
    })
}

/// The size of a block device, which is not in its metadata.
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
        _ => "something else than a file",
    }
}

/// Opens a file, and creates it where it is missing.
fn open_file(path: &Path, options: &OpenOptions) -> Result<(Target, Option<Created>), OpenError> {
    if let Some(size) = options.size {
        // What cannot be is said before anything is created or made longer.
        check_size(path, size, LEAST_BLOCK)?;
    }
    match fs::metadata(path) {
        Ok(metadata) => check_is_file(path, &metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let created = create(path, options)?;
            let target = open_existing_file(path, options, Some(created.identity()))?;
            return Ok((target, Some(created)));
        }
        Err(source) => {
            return Err(OpenError::System { action: "look at", path: path.into(), source });
        }
    }
    Ok((open_existing_file(path, options, None)?, None))
}

/// Refuses a drive that holds less than one block.
fn check_holds_a_block(path: &Path, capacity: Bytes, block: Bytes) -> Result<(), OpenError> {
    if capacity >= block {
        return Ok(());
    }
    Err(OpenError::Empty {
        path: path.into(),
        capacity,
        logical_block: block,
        hint: "give a file a `size`, or take another drive",
    })
}

/// Refuses a `size` of a file that is less than one block.
fn check_size(path: &Path, size: Bytes, block: Bytes) -> Result<(), OpenError> {
    if size == Bytes(0) {
        return Err(OpenError::option(path, "a `size` of 0 holds nothing: say how large"));
    }
    if size < block {
        let what =
            format!("a `size` of {size} is less than its logical block of {block}: say more");
        return Err(OpenError::option(path, what));
    }
    Ok(())
}

/// Whether it is a regular file; where not, the error says how to name what it is.
pub(crate) fn check_is_file(path: &Path, metadata: &fs::Metadata) -> Result<(), OpenError> {
    let found = metadata.file_type();
    if found.is_file() {
        return Ok(());
    }
    let hint = if found.is_block_device() {
        let device = path.canonicalize().unwrap_or_else(|_| path.into());
        format!("name the device itself, `{}`, without `file:`", device.display())
    } else {
        "name a regular file".into()
    };
    Err(OpenError::WrongKind { path: path.into(), found: name_of(found), hint })
}

/// Creates the file that `options` say, without any blocks yet.
fn create(path: &Path, options: &OpenOptions) -> Result<Created, OpenError> {
    let missing = |hint| Err(OpenError::Missing { path: path.into(), hint });
    if !options.writes() {
        return missing("a benchmark that only reads needs one that was written before");
    }
    if options.size.is_none() {
        return missing("say `?size=1GiB` (or another size) to create it");
    }
    Created::new(path)
}

/// Opens a file, which must be `created` where one was created for this a moment ago: that one holds nobody's data.
fn open_existing_file(
    path: &Path,
    options: &OpenOptions,
    created: Option<Identity>,
) -> Result<Target, OpenError> {
    let look = || OpenError::system("look at", path);
    let (file, lock, identity) = open_through_guard(path, options, created, false)?;
    let own = own(&file, options, created.is_some());
    let metadata = file.metadata().map_err(look())?;
    check_is_file(path, &metadata)?;
    let logical_block = if options.direct {
        direct_io_block(&file)
            .map_err(look())?
            .ok_or_else(|| OpenError::DirectRefused { path: path.into() })?
    } else {
        LEAST_BLOCK
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
        let what = format!("it holds {held}, not the {used} of `size`, and is opened for reading");
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
        own,
    })
}

/// What becomes of `file` if this program made it: once kept, it stays.
fn own(file: &File, options: &OpenOptions, created: bool) -> Option<Own> {
    let wanted = if options.scratch { Own::Scratch } else { Own::Kept };
    match Own::of(file).filter(|_| options.writes()) {
        Some(Own::Kept) => Some(Own::Kept),
        Some(Own::Scratch) => Some(wanted),
        None => created.then_some(wanted),
    }
}

/// Gives a file all the blocks that `size` bytes need, so that no write has to find any.
fn allocate_whole(file: &File, path: &Path, size: Bytes) -> Result<(), OpenError> {
    check_space(file, path, size)?;
    allocate(file, FallocateFlags::empty(), Bytes(0), size)
        .map_err(OpenError::system("allocate the blocks of", path))
}

/// Whether the file system can give a file what it still needs for `size` bytes, and keep a
/// margin for others.
fn check_space(file: &File, path: &Path, size: Bytes) -> Result<(), OpenError> {
    let look = || OpenError::system("look at", path);
    let allocated = file.metadata().map_err(look())?.blocks().saturating_mul(512);
    let wanted = Bytes(size.0.saturating_sub(allocated));
    let available = available_space(file)
        .map_err(OpenError::system("ask for the free space of the file system of", path))?;
    if wanted > available && wanted > Bytes(0) {
        return Err(OpenError::NoSpace { path: path.into(), wanted, available });
    }
    Ok(())
}

/// What the file system may be asked for: its free space less the margin.
fn available_space(file: &File) -> io::Result<Bytes> {
    let facts = fstatvfs(file)?;
    let total = facts.f_blocks.saturating_mul(facts.f_frsize);
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    Ok(Bytes(free.saturating_sub(MARGIN.0.min(total / 20))))
}

/// The block of which direct IO to a file must be multiples; `None` where it takes none.
fn direct_io_block(file: &File) -> io::Result<Option<Bytes>> {
    match stated_alignment(file)? {
        Some(0) => Ok(None),
        Some(stated) => Ok(Some(Bytes(u64::from(stated).max(512)))),
        None => tried_alignment(file),
    }
}

/// What the file system says (Linux 6.1), 0 meaning that it takes no direct IO.
fn stated_alignment(file: &File) -> io::Result<Option<u32>> {
    let facts = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)?;
    let stated = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::DIOALIGN);
    Ok(stated.then_some(facts.stx_dio_offset_align))
}

/// The smallest read that works, for file systems that say nothing.
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
