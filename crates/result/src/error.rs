use std::io;
use std::path::{Path, PathBuf};

use crate::guarded::{Damage, ReadError};

/// An error while writing or reading a result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}{}", path.display(), hint(source))]
    Io {
        /// The operation.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The path of the new result exists.
    #[error("{} exists already: choose another name with --output, or remove it", .0.display())]
    Exists(PathBuf),
    /// Another program took the name of a result while it was written.
    #[error("another program created {} in the meantime: this result is in {}", path.display(), kept.display())]
    Taken {
        /// The intended path.
        path: PathBuf,
        /// The path of the result instead.
        kept: PathBuf,
    },
    /// The output path is a disk or a folder.
    #[error("{} is not a file, and is not overwritten: choose another name", .0.display())]
    NoFile(PathBuf),
    /// Another program is writing the result.
    #[error("{} is being written by another flashscope: wait for it, or stop it", .0.display())]
    Busy(PathBuf),
    /// The folder is not a result.
    #[error("{} is not a result: a result folder contains a manifest.json", .0.display())]
    NoResult(PathBuf),
    /// The folder contains no simulation.
    #[error("{} is not a simulation: it has no simulation.json, which `flashscope simulate --output` writes", .0.display())]
    NoSimulation(PathBuf),
    /// The folder contains no probe.
    #[error("{} is not a probe: it has no probe.json, which `flashscope probe` writes", .0.display())]
    NoProbe(PathBuf),
    /// The folder contains no sweep.
    #[error("{} is not a sweep: it has no sweep.json, which `flashscope sweep` writes", .0.display())]
    NoSweep(PathBuf),
    /// The folder contains no collection of traces.
    #[error("{} is not a collection: it has no collection.json, which `flashscope trace collection` writes", .0.display())]
    NoCollection(PathBuf),
    /// The folder contains no what-if.
    #[error("{} is not a what-if: it has no what-if.json, which `flashscope what-if --output` writes", .0.display())]
    NoWhatIf(PathBuf),
    /// The folder contains no prediction.
    #[error("{} is not a prediction: it has no prediction.json, which `flashscope predict --output` writes", .0.display())]
    NoPrediction(PathBuf),
    /// The folder contains no readings of a watch.
    #[error("{} is not a watch: it has no watch.json, which `flashscope watch --output` writes", .0.display())]
    NoWatch(PathBuf),
    /// A profile has no document of a twin in its folder.
    #[error("{} is not a twin: there is no {}, which `flashscope twin fit` writes beside its profile; other results are folders", path.display(), document.display())]
    NoTwin {
        /// The path of the profile.
        path: PathBuf,
        /// The path of the missing document.
        document: PathBuf,
    },
    /// A JSON file has invalid content.
    #[error("{} is damaged: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: serde_json::Error,
    },
    /// A later version wrote the result.
    #[error("{} has format version {found}; this flashscope reads up to {known}: update flashscope", path.display())]
    Version {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The latest version that this program reads.
        known: u32,
    },
    /// A file of records is damaged or has another type.
    #[error("{} is damaged: {reason}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A part of a Parquet file cannot be decoded.
    #[error("{}: {damage}; restore the file from a copy, or make the result anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damaged part and the reason.
        damage: Damage,
    },
    /// The flag of [`ResultFolder::stopped_by`](crate::ResultFolder::stopped_by) was set.
    #[error("reading the records was cancelled")]
    Stopped,
    /// The thread that writes records panicked.
    #[error("the thread that writes records has failed: run the command again")]
    WriterGone,
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room, or choose another place for the output"
        }
        _ => "",
    }
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.into(), source }
    }

    /// Creates the error for a fault of a Parquet file, or of a part of it.
    pub(crate) fn refused(path: &Path) -> impl FnOnce(ReadError) -> Error {
        move |refused| match refused {
            ReadError::Io(error) => Error::io("read", path)(error),
            ReadError::Damaged(reason) => Error::Records { path: path.into(), reason },
            ReadError::Part(damage) => Error::Damaged { path: path.into(), damage },
        }
    }

    pub(crate) fn parquet(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(parquet::errors::ParquetError) -> Error {
        move |error| {
            // Keep IO errors: their kind tells the user what to do.
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
