//! Opening a block device or file in the right order.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

use flashscope_block::{Bytes, DeviceInfo, DeviceKind};
use rustix::fs::{AtFlags, FallocateFlags, StatxFlags, fstatvfs, statx};

use super::{BLKSSZGET, Target, allocate, size_of_device};
use crate::buffer::Memory;
use crate::error::OpenError;
use crate::guard::{
    FileMark, GuardedFile, Identity, Lock, NewFile, OverwriteReason, WriteRequest, open_for_io,
    open_guarded,
};
use crate::hardware::Hardware;
use crate::options::{Access, Location, OpenOptions};

/// The smallest logical block size.
const MIN_BLOCK: Bytes = Bytes(512);

/// The maximum free space to leave on a file system for other users. Below this maximum, the margin
/// is a twentieth of the file system's size.
const MARGIN: Bytes = Bytes::GIB;

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

/// Checks that a path is a regular file. The error names the kind of file and the remedy.
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
mod tests;
