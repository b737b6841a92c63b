//! Platform-specific folder operations: locks, renaming and durability.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "folders of results that get their name: a name is given only if nothing has it"
    )
)]

use std::fs;
use std::io;
use std::path::Path;

pub(crate) use imp::{
    is_own, is_same, is_stream, is_system_link, lock, own_descriptor, rename_new, sync,
};

/// Renames `from` to `to` on systems that cannot refuse an existing target atomically: checks for
/// it first.
pub(crate) fn rename_unless_taken(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

#[cfg(unix)]
mod imp {
    use std::fs::{File, Metadata, TryLockError};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    /// Opens and locks a folder for as long as the file is open.
    pub(crate) fn lock(path: &Path) -> io::Result<Result<File, TryLockError>> {
        let folder = File::open(path)?;
        Ok(folder.try_lock().map(|()| folder))
    }

    /// Makes the names of files in `folder` durable.
    pub(crate) fn sync(folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    /// Returns true if the open `folder` is the one at `path`.
    pub(crate) fn is_same(folder: &File, path: &Path) -> bool {
        let of = |found: Metadata| (found.dev(), found.ino());
        let [open, there] =
            [folder.metadata(), path.symlink_metadata()].map(|found| found.ok().map(of));
        open.is_some() && open == there
    }

    /// Returns true for a stream: a pipe, a terminal, or a device that discards what it receives.
    pub(crate) fn is_stream(found: &Metadata) -> bool {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        kind.is_fifo() || kind.is_char_device() && !is_hardware(found)
    }

    /// Returns true for a character device that may lead to data, such as memory, flash, a tape or
    /// a drive (`/dev/mem`, `/dev/mtd0`, `/dev/st0`, `/dev/ng0n1`).
    #[cfg(target_os = "linux")]
    fn is_hardware(found: &Metadata) -> bool {
        // `Documentation/admin-guide/devices.txt` of Linux: memory devices, terminals, consoles,
        // and pseudoterminals.
        const MEMORY: u32 = 1;
        const NULL_ZERO_FULL: [u32; 3] = [3, 5, 7];
        const TERMINALS: [u32; 10] = [4, 5, 136, 137, 138, 139, 140, 141, 142, 143];
        let (major, minor) = (rustix::fs::major(found.rdev()), rustix::fs::minor(found.rdev()));
        let discards = major == MEMORY && NULL_ZERO_FULL.contains(&minor);
        !discards && !TERMINALS.contains(&major)
    }

    #[cfg(not(target_os = "linux"))]
    fn is_hardware(_: &Metadata) -> bool {
        false
    }

    /// Returns true for a link in `/dev`, `/proc` or `/sys`, which belongs to the system.
    /// `/dev/shm` is a folder like any other.
    pub(crate) fn is_system_link(path: &Path) -> bool {
        let Some(folder) = folder_of(path).filter(|_| path.is_symlink()) else { return false };
        let is_device_folder = folder.starts_with("/dev") && !folder.starts_with("/dev/shm");
        is_device_folder || folder.starts_with("/proc") || folder.starts_with("/sys")
    }

    /// Returns the number of an open descriptor of this process if the path is a name of one, such
    /// as `/dev/stdout`.
    pub(crate) fn own_descriptor(path: &Path) -> Option<u32> {
        let descriptors = Path::new("/dev/fd").canonicalize().ok()?;
        let mut path = path.to_path_buf();
        // `/dev/stdout` leads to `/proc/self/fd/1`.
        for _ in 0..3 {
            let folder = folder_of(&path).filter(|_| is_system_link(&path))?;
            if folder == descriptors {
                return path.file_name()?.to_str()?.parse().ok();
            }
            path = folder.join(path.read_link().ok()?);
        }
        None
    }

    /// Returns the folder that contains `path`, with links resolved.
    fn folder_of(path: &Path) -> Option<PathBuf> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).canonicalize().ok()
    }

    /// Returns true if this user created the folder and its lock shows whether its process runs.
    pub(crate) fn is_own(found: &Metadata) -> bool {
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw()
    }

    /// Renames `from` to `to`; fails with `AlreadyExists` if `to` exists.
    pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // For file systems without atomic no-replace renaming. There, a folder can only replace
            // an empty folder.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                super::rename_unless_taken(from, to)
            }
            renamed => Ok(renamed?),
        }
    }
}

// Windows locks files but not folders, and cannot rename a folder that contains an open file.
// Folders therefore have no locks there: leftovers stay, and nothing stops two processes from
// continuing one result.
#[cfg(windows)]
mod imp {
    use std::fs::{File, Metadata, OpenOptions, TryLockError};
    use std::io;
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::Path;

    pub(crate) use super::rename_unless_taken as rename_new;

    /// `FILE_FLAG_BACKUP_SEMANTICS`, required to open a folder.
    const FOLDERS: u32 = 0x0200_0000;

    /// Opens a folder without a lock.
    pub(crate) fn lock(path: &Path) -> io::Result<Result<File, TryLockError>> {
        Ok(Ok(OpenOptions::new().read(true).custom_flags(FOLDERS).open(path)?))
    }

    /// The journal of the file system makes names durable.
    pub(crate) fn sync(_: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if `path` still exists. Without locks, no process removes the folders of
    /// another, so the path still leads to the same folder.
    pub(crate) fn is_same(_: &File, path: &Path) -> bool {
        path.exists()
    }

    /// Returns false: outputs to named pipes and consoles are not supported on Windows.
    pub(crate) fn is_stream(_: &Metadata) -> bool {
        false
    }

    /// Returns false: Windows has no folders like `/dev` and `/proc`.
    pub(crate) fn is_system_link(_: &Path) -> bool {
        false
    }

    /// Returns `None`: descriptors have no paths on Windows.
    pub(crate) fn own_descriptor(_: &Path) -> Option<u32> {
        None
    }

    /// Returns false: without locks, nothing shows whether the process that owns a folder still
    /// runs.
    pub(crate) fn is_own(_: &Metadata) -> bool {
        false
    }
}
