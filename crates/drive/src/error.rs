use std::io;
use std::path::{Path, PathBuf};

use flashscope_block::Bytes;

use crate::denied::advice;
use crate::guard::Refusal;
use crate::store::StoreError;

/// Why a drive could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system refused.
    #[error("cannot {action} `{}`: {source}{}", path.display(), advice(path, source))]
    System {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// An option has a value that cannot be, here.
    #[error("`{}`: {what}", path.display())]
    Option {
        /// The drive.
        path: PathBuf,
        /// Which option, why not, and what instead.
        what: String,
    },
    /// There is no such file, and nothing says to create it.
    #[error("there is no file `{}`: {hint}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// How to get one.
        hint: &'static str,
    },
    /// There is no such device.
    #[error("there is no device `{}`: `lsblk` lists those there are", .0.display())]
    NoDevice(PathBuf),
    /// The path leads to something that is not what it was said to be.
    #[error("`{}` is {found}: {hint}", path.display())]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// What it leads to.
        found: &'static str,
        /// How to name it.
        hint: String,
    },
    /// The file system takes no direct IO, so that the page cache would be measured.
    #[error(
        "the file system of `{}` takes no direct IO, so that memory would be measured, not a \
         drive: take a file elsewhere, or allow it with `?direct=false`",
        path.display()
    )]
    DirectRefused {
        /// The file.
        path: PathBuf,
    },
    /// The file would take more of its file system than is free.
    #[error(
        "`{}` needs {wanted} more of its file system, which has {available} to give (the rest of \
         what is free stays so): choose a smaller `size`, or another place",
        path.display()
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// What is not yet allocated to it.
        wanted: Bytes,
        /// What is free, less the margin that is left to others.
        available: Bytes,
    },
    /// The drive is too small to be used.
    #[error("`{}` holds {capacity}, not even one block of {logical_block}: {hint}", path.display())]
    Empty {
        /// The drive.
        path: PathBuf,
        /// What it holds.
        capacity: Bytes,
        /// What it must hold at least.
        logical_block: Bytes,
        /// What to do.
        hint: &'static str,
    },
    /// The engine that was asked for does not start, or none does.
    #[error("the engine {engine} does not start on `{}`: {source}; {hint}", path.display())]
    Engine {
        /// Its name.
        engine: &'static str,
        /// The drive.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// It must not be written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It is no store, or not the one that is meant, or one that must not be overwritten.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    /// For `map_err`: `action` on `path` failed.
    pub(crate) fn system(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenError {
        let path = path.to_path_buf();
        move |source| OpenError::System { action, path, source }
    }

    /// An option of `path` that cannot be.
    pub(crate) fn option(path: &Path, what: impl Into<String>) -> OpenError {
        OpenError::Option { path: path.to_path_buf(), what: what.into() }
    }
}
