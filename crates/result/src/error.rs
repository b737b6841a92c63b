use std::io;
use std::path::{Path, PathBuf};

use crate::guarded::{Damage, Refused};

/// Why a result cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}{}", path.display(), hint(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// There is something where the result is to be written.
    #[error("{} exists already: choose another name with --output, or remove it", .0.display())]
    Exists(PathBuf),
    /// The name of a result was taken while it was made.
    #[error("something else took the name {} in the meantime: the result is kept as {}", path.display(), kept.display())]
    Taken {
        /// The name that it was to have.
        path: PathBuf,
        /// Where it lies.
        kept: PathBuf,
    },
    /// A disk, or a folder, was named for what is to be written.
    #[error("{} is no file, and is not written over: choose another name", .0.display())]
    NoFile(PathBuf),
    /// Another program writes the result.
    #[error("{} is being measured by another flashscope: wait for it, or stop it", .0.display())]
    Busy(PathBuf),
    /// The folder is no result.
    #[error("{} is no result: a result is a folder that holds a manifest.json", .0.display())]
    NoResult(PathBuf),
    /// The folder holds no simulation.
    #[error("{} is no simulation: that is a folder that holds a simulation.json, as `flashscope simulate --output` writes it", .0.display())]
    NoSimulation(PathBuf),
    /// The folder holds no probe.
    #[error("{} is no probe: that is a folder that holds a probe.json, as `flashscope probe` writes it", .0.display())]
    NoProbe(PathBuf),
    /// The folder holds no sweep.
    #[error("{} is no sweep: that is a folder that holds a sweep.json, as `flashscope sweep` writes it", .0.display())]
    NoSweep(PathBuf),
    /// The folder holds no what-if.
    #[error("{} is no what-if: that is a folder that holds a what-if.json, as `flashscope what-if --output` writes it", .0.display())]
    NoWhatIf(PathBuf),
    /// A JSON file does not hold what it should.
    #[error("{} is damaged: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The result was written by a later version.
    #[error("{} has format version {found}; this flashscope reads up to {known}: update flashscope", path.display())]
    Version {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The latest version known here.
        known: u32,
    },
    /// A file of records is damaged or not what it should be.
    #[error("{} is damaged: {reason}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A part of a Parquet file cannot be decoded.
    #[error("{}: {damage}; restore the file from a copy, or make the result anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is damaged, and where.
        damage: Damage,
    },
    /// The thread that writes records is gone without a word.
    #[error("the writer of records has stopped")]
    WriterGone,
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room, or choose another folder with --output (what was recorded before is kept)"
        }
        _ => "",
    }
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.into(), source }
    }

    /// What keeps a Parquet file, or a part of it, from being read.
    pub(crate) fn refused(path: &Path) -> impl FnOnce(Refused) -> Error {
        move |refused| match refused {
            Refused::Io(error) => Error::io("read", path)(error),
            Refused::Damaged(reason) => Error::Records { path: path.into(), reason },
            Refused::Part(damage) => Error::Damaged { path: path.into(), damage },
        }
    }

    pub(crate) fn parquet(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(parquet::errors::ParquetError) -> Error {
        move |error| {
            // An IO error is reported as one: its kind says what to do.
            if let parquet::errors::ParquetError::External(source) = error {
                return match source.downcast::<io::Error>() {
                    Ok(source) => Error::Io { action, path: path.into(), source: *source },
                    Err(other) => Error::Records { path: path.into(), reason: other.to_string() },
                };
            }
            Error::Records { path: path.into(), reason: error.to_string() }
        }
    }
}
