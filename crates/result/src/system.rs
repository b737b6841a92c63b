//! What systems do differently with folders: their locks, their names, and how they become durable.

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

/// Gives `from` the name `to` where the system cannot refuse a name that is taken by itself: it is looked for first.
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

    /// Opens and locks a folder, as long as the file is open.
    pub(crate) fn lock(path: &Path) -> io::Result<Result<File, TryLockError>> {
        let folder = File::open(path)?;
        Ok(folder.try_lock().map(|()| folder))
    }

    /// Makes the names of files in `folder` durable.
    pub(crate) fn sync(folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    /// Returns whether `folder` is what lies at `path`.
    pub(crate) fn is_same(folder: &File, path: &Path) -> bool {
        let of = |found: Metadata| (found.dev(), found.ino());
        let [open, there] =
            [folder.metadata(), path.symlink_metadata()].map(|found| found.ok().map(of));
        open.is_some() && open == there
    }

    /// Returns whether it takes bytes as they come: a pipe or a terminal.
    pub(crate) fn is_stream(kind: FileType) -> bool {
        use std::os::unix::fs::FileTypeExt;
        kind.is_fifo() || kind.is_char_device()
    }

    /// Returns whether a folder was made by this user, and its lock tells whether its process runs.
    pub(crate) fn is_own(found: &Metadata) -> bool {
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw()
    }

    /// Gives `from` the name `to`, which nothing may have: `AlreadyExists`.
    pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // A file system that knows no such renaming. There, a folder replaces nothing but an empty folder.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                super::rename_unless_taken(from, to)
            }
            renamed => Ok(renamed?),
        }
    }
}

// Windows locks files, not folders, and renames no folder in which a file is open. So folders have no locks there: no leftover
// is removed, and two processes that go on with one result are not kept apart.
#[cfg(windows)]
mod imp {
    use std::fs::{File, FileType, Metadata, OpenOptions, TryLockError};
    use std::io;
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::Path;

    pub(crate) use super::rename_unless_taken as rename_new;

    /// `FILE_FLAG_BACKUP_SEMANTICS`, without which no folder is opened.
    const FOLDERS: u32 = 0x0200_0000;

    /// Opens a folder; nothing is locked.
    pub(crate) fn lock(path: &Path) -> io::Result<Result<File, TryLockError>> {
        Ok(Ok(OpenOptions::new().read(true).custom_flags(FOLDERS).open(path)?))
    }

    /// Names are durable when the journal of the file system is.
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

    /// Whether the process of a folder runs cannot be told.
    pub(crate) fn is_own(_: &Metadata) -> bool {
        false
    }
}
