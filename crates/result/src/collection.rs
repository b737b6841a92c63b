//! The result folder of a collection of traces: `NAME.flashscope/collection.json`.
//!
//! While files are read, partial statistics are in `parts/`. Each part of a file has segments,
//! `FILE-PART-SEGMENT.jsonl`, and its outcome, `FILE-PART.json`, which appears once all its
//! segments are durable. At the end, the parts are removed.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "collections: in the folder of a result, which this process made or whose lock it holds; existing names are replaced, and links not followed"
    )
)]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use flashscope_document::collection::{COLLECTION_VERSION, Collection};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::files::{check_version, lock, read_json, sync_folder, write_json, write_whole};
use crate::staging::StagingFolder;

const COLLECTION: &str = "collection.json";
const PARTS: &str = "parts";

/// The folder of a collection, locked against other writers. Several threads may write parts.
#[derive(Debug)]
pub struct CollectionFolder {
    path: PathBuf,
    _lock: File,
}

impl CollectionFolder {
    /// Creates the folder. It appears together with the plan, which makes it resumable from the
    /// start.
    ///
    /// # Errors
    /// [`Error::Exists`], or [`Error::Busy`] if another process creates a result of this name, or
    /// the folder cannot be written.
    pub fn create(path: &Path, collection: &Collection) -> Result<CollectionFolder, Error> {
        let mut staged = StagingFolder::create(path, Some(PARTS))?;
        write_json(&staged.path().join(COLLECTION), collection)?;
        staged.publish()?;
        Ok(CollectionFolder { path: path.into(), _lock: staged.into_lock()? })
    }

    /// Opens the folder of a collection to resume it.
    ///
    /// # Errors
    /// [`Error::NoCollection`], [`Error::Busy`] if another program is writing it,
    /// [`Error::Version`] if a later version wrote it, or the file is damaged.
    pub fn resume(path: &Path) -> Result<(CollectionFolder, Collection), Error> {
        let collection = read_collection(path)?;
        let lock = lock(path)?;
        Ok((CollectionFolder { path: path.into(), _lock: lock }, collection))
    }

    /// Returns the path of a segment. The file need not exist.
    pub fn segment(&self, file: u32, part: u32, segment: u32) -> PathBuf {
        self.path.join(PARTS).join(format!("{file:06}-{part:06}-{segment:06}.jsonl"))
    }

    /// Returns the path of the segment that merges others, by its number. The file need not exist.
    pub fn merged_segment(&self, number: u32) -> PathBuf {
        self.path.join(PARTS).join(format!("merged-{number:06}.jsonl"))
    }

    fn outcome(&self, file: u32, part: u32) -> PathBuf {
        self.path.join(PARTS).join(format!("{file:06}-{part:06}.json"))
    }

    /// Stores `lines` durably as the segment at `path`.
    ///
    /// # Errors
    /// The segment cannot be written, or `lines` returns an error.
    pub fn write_segment(
        &self,
        path: &Path,
        lines: impl Iterator<Item = std::io::Result<String>>,
    ) -> Result<(), Error> {
        write_whole(path, |file| {
            for line in lines {
                writeln!(file, "{}", line?)?;
            }
            Ok(())
        })
    }

    /// Stores the outcome of a part whose segments are stored.
    ///
    /// # Errors
    /// The outcome cannot be written.
    pub fn write_outcome(
        &self,
        file: u32,
        part: u32,
        outcome: &impl Serialize,
    ) -> Result<(), Error> {
        write_json(&self.outcome(file, part), outcome)
    }

    /// Returns the outcome of a part; `None` if the part is not finished.
    ///
    /// # Errors
    /// The outcome cannot be read.
    pub fn read_outcome<T: DeserializeOwned>(
        &self,
        file: u32,
        part: u32,
    ) -> Result<Option<T>, Error> {
        let path = self.outcome(file, part);
        path.is_file().then(|| read_json(&path)).transpose()
    }

    /// Writes the finished collection, and removes the parts.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn finish(&self, collection: &Collection) -> Result<(), Error> {
        write_json(&self.path.join(COLLECTION), collection)?;
        let parts = self.path.join(PARTS);
        match fs::remove_dir_all(&parts) {
            Err(error) if parts.exists() => Err(Error::io("remove", &parts)(error)),
            _ => sync_folder(&self.path),
        }
    }
}

/// Returns true if the folder at `path` contains a collection.
pub fn is_collection(path: &Path) -> bool {
    path.join(COLLECTION).is_file()
}

/// Reads the `collection.json` of the folder at `path`.
///
/// # Errors
/// [`Error::NoCollection`], [`Error::Json`] if it is damaged, [`Error::Version`] if a later version
/// wrote it.
pub fn read_collection(path: &Path) -> Result<Collection, Error> {
    if !is_collection(path) {
        return Err(Error::NoCollection(path.into()));
    }
    let file = path.join(COLLECTION);
    check_version(&file, COLLECTION_VERSION)?;
    read_json(&file)
}
