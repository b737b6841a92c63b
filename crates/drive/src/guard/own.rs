//! Files that this program created as drives and that contain only its own data. They are
//! overwritten without confirmation, as long as no other program changes them.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "marks a file that the program created as a drive, and removes scratch files: the mark on the descriptor that the guard opened; a file only while its mark is valid, by inode"
    )
)]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use super::Identity;
use crate::error::OpenError;

/// The extended attribute that holds the mark. `cp` without `--archive` does not copy it, and every
/// copy has another inode.
const ATTRIBUTE: &str = "user.flashscope.drive";

/// An upper bound for the length of a mark.
const MAX_LENGTH: usize = 128;

/// A mark on a file that this program created as a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileMark {
    /// The file is kept.
    Kept,
    /// The file is removed when the work it was created for is complete.
    Scratch,
}

impl FileMark {
    fn name(self) -> &'static str {
        match self {
            FileMark::Kept => "kept",
            FileMark::Scratch => "scratch",
        }
    }

    /// Returns the text of the mark for `file` in its current state. Any write changes the
    /// modification time and invalidates the mark; writing the mark itself does not.
    fn mark(self, file: &File) -> io::Result<String> {
        let now = file.metadata()?;
        let (inode, len) = (now.ino(), now.len());
        Ok(format!("1 {} {inode} {len} {}.{:09}", self.name(), now.mtime(), now.mtime_nsec()))
    }

    /// Returns the mark of `file`, or `None` if the file has no mark or has changed since it was
    /// marked.
    pub(crate) fn of(file: &File) -> Option<FileMark> {
        let mut held = [0; MAX_LENGTH];
        let len = fgetxattr(file, ATTRIBUTE, &mut held[..]).ok()?;
        let stored = held.get(..len)?;
        let is_valid = |own: &FileMark| own.mark(file).is_ok_and(|mark| mark.as_bytes() == stored);
        [FileMark::Kept, FileMark::Scratch].into_iter().find(is_valid)
    }

    /// Marks `file`, which must not be written afterwards. On a file system without extended
    /// attributes, this has no effect, and the file needs a confirmation later.
    pub(crate) fn store(self, file: &File) {
        if let Ok(mark) = self.mark(file) {
            let _ = fsetxattr(file, ATTRIBUTE, mark.as_bytes(), XattrFlags::empty());
        }
    }
}

/// Removes the file at `path` if this program created it as scratch space and it has not changed
/// since. Returns true if it was removed.
///
/// # Errors
/// The error of the removal.
pub fn remove_scratch(path: &Path) -> Result<bool, OpenError> {
    let Ok(file) = File::open(path) else { return Ok(false) };
    let is_named = |identity| {
        fs::symlink_metadata(path).is_ok_and(|metadata| Identity::from(&metadata) == identity)
    };
    // While `file` is open, no other file can get its inode. A link is not removed, and neither is
    // its target.
    if FileMark::of(&file) != Some(FileMark::Scratch) || !Identity::of(&file).is_ok_and(is_named) {
        return Ok(false);
    }
    fs::remove_file(path).map_err(OpenError::system("remove", path))?;
    Ok(true)
}
