use std::io;
use std::path::{Path, PathBuf};

use flashscope_block::Bytes;

use crate::denied::advice;
use crate::guard::Refusal;
use crate::store::header::StoreError;

/// The reason why a drive could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system returned an error.
    #[error("cannot {action} `{}`: {source}{}", path.display(), advice(path, source))]
    System {
        /// The action, as in "cannot ...".
        action: &'static str,
        /// The drive.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An option has an invalid value for this drive.
    #[error("`{}`: {what}", path.display())]
    Option {
        /// The drive.
        path: PathBuf,
        /// The option, the problem and the remedy.
        what: String,
    },
    /// The file does not exist, and the options do not allow its creation.
    #[error("file `{}` does not exist: {hint}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The remedy.
        hint: &'static str,
    },
    /// The device does not exist.
    #[error("device `{}` does not exist: `lsblk` lists the available ones", .0.display())]
    NoDevice(PathBuf),
    /// The path leads to another kind of file than its notation says.
    #[error("`{}` is {kind}: {hint}", path.display())]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// The kind of file that the path leads to.
        kind: &'static str,
        /// The remedy, such as the right notation.
        hint: String,
    },
    /// The file system does not support direct IO, and a run would measure the page cache.
    #[error(
        "the file system of `{}` does not support direct IO, and a run would measure memory, not a \
         drive: choose a file elsewhere, or allow it with `?direct=false`",
        path.display()
    )]
    DirectRefused {
        /// The file.
        path: PathBuf,
    },
    /// The file needs more space than its file system has available.
    #[error(
        "`{}` needs {missing} more on its file system, which has {available} available (a margin \
         stays free): choose a smaller `size` or another place",
        path.display()
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// The bytes not yet allocated to the file.
        missing: Bytes,
        /// The free bytes on the file system, less a margin for other users.
        available: Bytes,
    },
    /// The drive is too small to be used.
    #[error("`{}` holds {capacity}, not even one block of {logical_block}: {hint}", path.display())]
    Empty {
        /// The drive.
        path: PathBuf,
        /// Its capacity.
        capacity: Bytes,
        /// The minimum: one logical block.
        logical_block: Bytes,
        /// The remedy.
        hint: &'static str,
    },
    /// The requested engine does not start, or no engine starts.
    #[error("the engine {engine} does not start on `{}`: {source}; {hint}", path.display())]
    Engine {
        /// The engine's name.
        engine: &'static str,
        /// The drive.
        path: PathBuf,
        /// The cause.
        source: io::Error,
        /// The remedy.
        hint: &'static str,
    },
    /// A guard refused to open the drive for writing.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The path holds no store, the store of another drive, or a store that must not be
    /// overwritten.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    /// Returns a function for `map_err` that adds the failed `action` and the `path` to an error.
    pub(crate) fn system(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenError {
        let path = path.to_path_buf();
        move |source| OpenError::System { action, path, source }
    }

    /// Creates an error about an option of `path`.
    pub(crate) fn option(path: &Path, what: impl Into<String>) -> OpenError {
        OpenError::Option { path: path.to_path_buf(), what: what.into() }
    }
}
