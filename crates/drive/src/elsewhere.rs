//! Files of output where the system is not Linux, which has the guards that look into what uses a file.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "files of output by their names: check_output: regular files and links alone are replaced, and none is written"
    )
)]

use std::io;
use std::path::PathBuf;

/// Why a file cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    System {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// It is no file.
    #[error("`{}` is no regular file: choose another name", .0.display())]
    WrongKind(PathBuf),
}

/// The guards before a file of output.
pub mod guard {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    use super::OpenError;

    fn system(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenError {
        let path = path.to_path_buf();
        move |source| OpenError::System { action, path, source }
    }

    /// Returns whether a regular file or a link has the name `path`, which a file of output would replace.
    fn is_taken(path: &Path) -> Result<bool, OpenError> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_file() || found.is_symlink() => Ok(true),
            Ok(_) => Err(OpenError::WrongKind(path.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(system("look at", path)(source)),
        }
    }

    /// Returns whether a file of output may take the name `path`.
    ///
    /// # Errors
    /// What is in the way.
    pub fn check_output(path: &Path) -> Result<(), OpenError> {
        is_taken(path).map(drop)
    }

    /// Makes a file for output, in place of the one that has the name.
    ///
    /// # Errors
    /// As [`check_output`], and where no file can be made.
    pub fn create_output(path: &Path) -> Result<File, OpenError> {
        if is_taken(path)? {
            fs::remove_file(path).map_err(system("replace", path))?;
        }
        File::create_new(path).map_err(system("create", path))
    }
}
