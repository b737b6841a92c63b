//! Files that are made for a drive or a store.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a new file for a drive or a store: nothing may have the name, a link neither; removed again only if its inode is the one that was made"
    )
)]

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Identity;
use crate::error::OpenError;

/// A file that is removed again unless all went well.
#[derive(Debug)]
pub(crate) struct Created {
    path: Option<PathBuf>,
    identity: Identity,
    /// As long as it is open, no other file can get its inode.
    _file: File,
}

impl Created {
    /// Makes a file, for its owner alone. Nothing may have that name, be it a link that leads nowhere.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new(path: &Path) -> Result<Created, OpenError> {
        let file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(OpenError::system("create", path))?;
        let identity = Identity::of(&file).map_err(OpenError::system("look at", path))?;
        Ok(Created { path: Some(path.into()), identity, _file: file })
    }

    /// What was made.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Leaves it there.
    pub(crate) fn keep(mut self) {
        self.path = None;
    }

    /// Whether it is still what `path` names: another file that was put there meanwhile is somebody's.
    fn is_at(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|found| Identity::from(&found) == self.identity)
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|path| self.is_at(path)) {
            // The error that led here says more than one about the removal.
            let _ = fs::remove_file(path);
        }
    }
}
