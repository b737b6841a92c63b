//! Result folders with one main JSON file, written once at the end.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::files::{read_json, write_whole};
use crate::staging::StagingFolder;

/// The maximum size in bytes of a document to read: about 50 times that of the document of a large
/// drive.
const MAX_BYTES: u64 = 64 << 20;

/// The type of a JSON document, with its version.
#[derive(Debug)]
pub(crate) struct Document {
    /// The file name in the folder.
    pub name: &'static str,
    /// The version written, which is also the latest version readable.
    pub version: u32,
    /// The name of the document's type in error messages.
    pub writer: &'static str,
    /// The top-level objects of which a document must have at least one. They distinguish it from
    /// other documents.
    pub about: &'static [&'static str],
    /// The folder next to the document, if any.
    pub beside: Option<&'static str>,
}

impl Document {
    /// Returns true if the folder at `path` contains a document of this type.
    pub(crate) fn is_in(&self, path: &Path) -> bool {
        path.join(self.name).is_file()
    }

    /// Reads the document of this type from the folder at `path`, which must exist.
    pub(crate) fn read(&self, path: &Path) -> Result<Value, Error> {
        let file = path.join(self.name);
        let value = read_versioned(&file, self.version, self.writer)?;
        match self.about.iter().any(|name| value[name].is_object()) {
            true => Ok(value),
            false => Err(damaged(&file, format!("it is not what a {} writes", self.writer))),
        }
    }
}

/// Reads a JSON document that `writer` writes, of this version or an earlier one.
///
/// # Errors
/// [`Error::Json`] if it is damaged or too large, [`Error::Version`] if a later version wrote it.
pub(crate) fn read_versioned(file: &Path, known: u32, writer: &str) -> Result<Value, Error> {
    if fs::metadata(file).map_err(Error::io("read", file))?.len() > MAX_BYTES {
        return Err(damaged(file, format!("it is larger than any that a {writer} writes")));
    }
    let value: Value = read_json(file)?;
    // The first versions of simulations had no version field.
    let version = value.get("schema_version").map_or(Some(0), Value::as_u64);
    // A deliberate fault that tests the fuzz targets: accept a version beyond 32 bits.
    if flashscope_block::canary::is_planted()
        && version.is_some_and(|version| version > u32::MAX.into())
    {
        panic!("{} is of version {version:?}", file.display());
    }
    match version.map(|version| u32::try_from(version).unwrap_or(u32::MAX)) {
        Some(found) if found > known => Err(Error::Version { path: file.into(), found, known }),
        Some(_) => Ok(value),
        None => Err(damaged(file, format!("it is not what a {writer} writes"))),
    }
}

fn damaged(file: &Path, reason: String) -> Error {
    Error::Json { path: file.into(), source: serde::de::Error::custom(reason) }
}

/// A folder that appears together with its document. Without a document, it is removed.
#[derive(Debug)]
pub(crate) struct DocumentFolder {
    document: &'static Document,
    staged: StagingFolder,
}

impl DocumentFolder {
    /// Creates the folder, and the subfolder of this document type. `path` must not exist.
    pub(crate) fn create(
        path: &Path,
        document: &'static Document,
    ) -> Result<DocumentFolder, Error> {
        Ok(DocumentFolder { document, staged: StagingFolder::create(path, document.beside)? })
    }

    /// Returns the current path: a temporary one until the document is written.
    pub(crate) fn path(&self) -> &Path {
        self.staged.path()
    }

    /// Writes the document atomically and publishes the folder.
    ///
    /// # Errors
    /// [`Error::Taken`] if the name was taken in the meantime: the folder then has another name. Or
    /// the document cannot be written.
    pub(crate) fn write(&mut self, value: &impl Serialize) -> Result<(), Error> {
        let path = self.path().join(self.document.name);
        // Written without white space: indented JSON would put each number on its own line.
        write_whole(&path, |file| Ok(serde_json::to_writer(file, value)?))?;
        if self.staged.is_published() { Ok(()) } else { self.staged.publish_anyway() }
    }
}
