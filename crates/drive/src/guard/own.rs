//! Files that this program made as drives, and that hold nothing but what it wrote: they are overwritten without being
//! confirmed, for as long as nobody else changes them.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the mark of a file that it made as a drive, and the removal of one: on the descriptor that the guard opened, and only while the mark holds, by the inode"
    )
)]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use super::Identity;
use crate::error::OpenError;

/// The extended attribute that bears the mark. `cp` without `--archive` leaves it behind, and every copy has another inode.
const ATTRIBUTE: &str = "user.flashscope.drive";

/// More than a mark takes.
const LONGEST: usize = 128;

/// What becomes of a file that this program made as a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// It stays.
    Kept,
    /// It goes once what it was made for is complete.
    Scratch,
}

impl Own {
    fn name(self) -> &'static str {
        match self {
            Own::Kept => "kept",
            Own::Scratch => "scratch",
        }
    }

    /// The mark of `file` as it is now. Whoever writes to it changes the time of its last write, and its mark no longer holds;
    /// that the mark itself is written leaves this time alone.
    fn mark(self, file: &File) -> io::Result<String> {
        let now = file.metadata()?;
        let (inode, len) = (now.ino(), now.len());
        Ok(format!("1 {} {inode} {len} {}.{:09}", self.name(), now.mtime(), now.mtime_nsec()))
    }

    /// What `file` was marked as when this program had last written to it; `None` where it bears no mark, or was changed since.
    pub(crate) fn of(file: &File) -> Option<Own> {
        let mut held = [0; LONGEST];
        let len = fgetxattr(file, ATTRIBUTE, &mut held[..]).ok()?;
        let found = held.get(..len)?;
        let marked = |own: &Own| own.mark(file).is_ok_and(|mark| mark.as_bytes() == found);
        [Own::Kept, Own::Scratch].into_iter().find(marked)
    }

    /// Marks `file`, to which nothing more is written. A file system without extended attributes forgets it, and its owner
    /// will be asked.
    pub(crate) fn put_on(self, file: &File) {
        if let Ok(mark) = self.mark(file) {
            let _ = fsetxattr(file, ATTRIBUTE, mark.as_bytes(), XattrFlags::empty());
        }
    }
}

/// Removes the file at `path` if this program made it for one use, and nobody changed it since. Whether it did.
///
/// # Errors
/// What the system says when it is removed.
pub fn remove_scratch(path: &Path) -> Result<bool, OpenError> {
    let Ok(file) = File::open(path) else { return Ok(false) };
    let is_named =
        |identity| fs::symlink_metadata(path).is_ok_and(|found| Identity::from(&found) == identity);
    // As long as it is open, no other file can get its inode. A link stays, and so does what it leads to.
    if Own::of(&file) != Some(Own::Scratch) || !Identity::of(&file).is_ok_and(is_named) {
        return Ok(false);
    }
    fs::remove_file(path).map_err(OpenError::system("remove", path))?;
    Ok(true)
}
