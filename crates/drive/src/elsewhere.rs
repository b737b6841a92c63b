//! Output files on systems other than Linux, where the guards that detect the users of a file do
//! not exist.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "output files by name: check_output: replaces regular files and links only, and writes to none of them"
    )
)]

use std::io;
use std::path::PathBuf;

/// The reason why an output file cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system returned an error.
    #[error("cannot {action} `{}`: {source}", path.display())]
    System {
        /// The action, as in "cannot ...".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The name belongs to something other than a regular file or a link.
    #[error("`{}` is not a regular file: choose another name", .0.display())]
    WrongKind(PathBuf),
}

/// The guards of output files.
pub mod guard {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    use super::OpenError;

    fn system(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenError {
        let path = path.to_path_buf();
        move |source| OpenError::System { action, path, source }
    }

    /// Returns true if a regular file or a link has the name `path`; an output file would replace
    /// it.
    fn is_taken(path: &Path) -> Result<bool, OpenError> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() || metadata.is_symlink() => Ok(true),
            Ok(_) => Err(OpenError::WrongKind(path.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(system("inspect", path)(source)),
        }
    }

    /// Checks that an output file may take the name `path`.
    ///
    /// # Errors
    /// If something other than a regular file or a link has this name, or it cannot be inspected.
    pub fn check_output(path: &Path) -> Result<(), OpenError> {
        is_taken(path).map(drop)
    }

    /// Creates an output file in place of the file with this name, if any.
    ///
    /// # Errors
    /// The errors of [`check_output`], and those of creating the file.
    pub fn create_output(path: &Path) -> Result<File, OpenError> {
        if is_taken(path)? {
            fs::remove_file(path).map_err(system("replace", path))?;
        }
        File::create_new(path).map_err(system("create", path))
    }
}
