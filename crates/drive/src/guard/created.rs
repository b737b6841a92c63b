//! New files for drives and stores.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a new file for a drive or a store: no file or link may have the name; it is removed only if its inode is the one created"
    )
)]

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Identity;
use crate::error::OpenError;

/// A newly created file that is removed on drop unless it is kept.
#[derive(Debug)]
pub(crate) struct NewFile {
    path: Option<PathBuf>,
    identity: Identity,
    /// While the file is open, no other file can get its inode.
    _file: File,
}

impl NewFile {
    /// Creates a file with access for its owner only. No file or link may have the name, not even a
    /// dangling link.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn new(path: &Path) -> Result<NewFile, OpenError> {
        let file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(OpenError::system("create", path))?;
        let identity = Identity::of(&file).map_err(OpenError::system("inspect", path))?;
        Ok(NewFile { path: Some(path.into()), identity, _file: file })
    }

    /// Returns the identity of the file.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Keeps the file.
    pub(crate) fn keep(mut self) {
        self.path = None;
    }

    /// Returns true if `path` still names this file. A file that replaced it is not
    /// removed.
    fn is_at(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|metadata| Identity::from(&metadata) == self.identity)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|path| self.is_at(path)) {
            // The error that caused the drop is more important than an error of the removal.
            let _ = fs::remove_file(path);
        }
    }
}
