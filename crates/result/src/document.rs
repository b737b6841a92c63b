//! Result folders that are about one JSON file, which is written once, when all is done.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::folder::{read_json, write_whole};
use crate::staging::Staged;

/// Bytes of the largest document that is read: some 50 times one of a large drive.
const MOST_BYTES: u64 = 64 << 20;

/// A JSON file that says what it is of, and in which version.
#[derive(Debug)]
pub(crate) struct Document {
    /// Its name in the folder.
    pub name: &'static str,
    /// The version that is written, and the latest that is read.
    pub version: u32,
    /// What writes it, in a word.
    pub writer: &'static str,
    /// The object in it that says what it is about: without, it is something else.
    pub about: &'static str,
    /// The folder beside it, where there is one.
    pub beside: Option<&'static str>,
}

impl Document {
    /// Whether the folder at `path` holds one.
    pub fn is_in(&self, path: &Path) -> bool {
        path.join(self.name).is_file()
    }

    /// Reads that of the folder at `path`, which is there.
    pub fn read(&self, path: &Path) -> Result<Value, Error> {
        let (file, writer) = (path.join(self.name), self.writer);
        let damaged = |reason: String| {
            let source = serde::de::Error::custom(reason);
            Error::Json { path: file.clone(), source }
        };
        if fs::metadata(&file).map_err(Error::io("read", &file))?.len() > MOST_BYTES {
            return Err(damaged(format!("it is larger than any that a {writer} writes")));
        }
        let value: Value = read_json(&file)?;
        // The first versions of simulations had none.
        let version = value.get("schema_version").map_or(Some(0), Value::as_u64);
        // A canary of the fuzz targets: a version beyond 32 bits is not refused.
        if cfg!(feature = "canary") && version.is_some_and(|version| version > u32::MAX.into()) {
            panic!("{} is of version {version:?}", file.display());
        }
        match version.map(|version| u32::try_from(version).unwrap_or(u32::MAX)) {
            Some(found) if found > self.version => {
                Err(Error::Version { path: file, found, known: self.version })
            }
            Some(_) if value.get(self.about).is_some_and(Value::is_object) => Ok(value),
            _ => Err(damaged(format!("it is not what a {writer} writes"))),
        }
    }
}

/// A folder that appears under its name together with its document; without a document, nothing of it stays.
#[derive(Debug)]
pub(crate) struct DocumentFolder {
    document: &'static Document,
    staged: Staged,
}

impl DocumentFolder {
    /// Begins the folder, with the one beside the document. Nothing may be there yet.
    pub fn create(path: &Path, document: &'static Document) -> Result<DocumentFolder, Error> {
        Ok(DocumentFolder { document, staged: Staged::create(path, document.beside)? })
    }

    /// Where it lies now: beside its place, until the document is written.
    pub fn path(&self) -> &Path {
        self.staged.place()
    }

    /// Writes the document, and lets the folder appear; at every instant it is whole or not there.
    ///
    /// # Errors
    /// [`Error::Taken`] where the name was taken in the meantime: the folder is kept under another. Where it cannot be
    /// written.
    pub fn write(&mut self, value: &impl Serialize) -> Result<(), Error> {
        let path = self.path().join(self.document.name);
        // Without white space: most of it is numbers, of which each would have a line.
        write_whole(&path, |file| Ok(serde_json::to_writer(file, value)?))?;
        if self.staged.is_published() { Ok(()) } else { self.staged.publish_anyway() }
    }
}
