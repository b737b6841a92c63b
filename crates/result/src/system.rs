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

pub(crate) use imp::{is_own, is_same, is_stream, lock, rename_new, sync};

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
    use std::fs::{File, FileType, Metadata, TryLockError};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

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

    /// Returns true if `folder` is the file at `path`.
    pub(crate) fn is_same(folder: &File, path: &Path) -> bool {
        let of = |found: Metadata| (found.dev(), found.ino());
        let [open, there] =
            [folder.metadata(), path.symlink_metadata()].map(|found| found.ok().map(of));
        open.is_some() && open == there
    }

    /// Returns true for a stream: a pipe or a terminal.
    pub(crate) fn is_stream(kind: FileType) -> bool {
        use std::os::unix::fs::FileTypeExt;
        kind.is_fifo() || kind.is_char_device()
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
    use std::fs::{File, FileType, Metadata, OpenOptions, TryLockError};
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

    /// No other process removes it.
    pub(crate) fn is_same(_: &File, path: &Path) -> bool {
        path.exists()
    }

    /// Pipes and terminals have no names here.
    pub(crate) fn is_stream(_: FileType) -> bool {
        false
    }

    /// Without locks, nothing shows whether the process of a folder runs.
    pub(crate) fn is_own(_: &Metadata) -> bool {
        false
    }
}
