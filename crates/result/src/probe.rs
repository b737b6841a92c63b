//! The result folder of a probed drive: `NAME.flashscope/probe.json` and `records/*.parquet`.

use std::path::Path;

use flashscope_document::probe::PROBE_VERSION;
use serde::Serialize;
use serde_json::Value;

use crate::document::{Document, DocumentFolder};
use crate::{Error, Recorder};

const RECORDS: &str = "records";

static PROBE: Document = Document {
    name: "probe.json",
    version: PROBE_VERSION,
    writer: "probe",
    about: &["drive"],
    beside: Some(RECORDS),
};

/// A probe result under construction. The folder appears when the findings are written; until then
/// the records are in a temporary folder next to it.
#[derive(Debug)]
pub struct ProbeFolder(DocumentFolder);

impl ProbeFolder {
    /// Creates the folder. `path` must not exist.
    ///
    /// # Errors
    /// [`Error::Exists`], or [`Error::Busy`] if another process writes a result of this name, or
    /// the folder cannot be created.
    pub fn create(path: &Path) -> Result<ProbeFolder, Error> {
        DocumentFolder::create(path, &PROBE).map(ProbeFolder)
    }

    /// Returns the current path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns a recorder for the runs of this probe.
    pub fn recorder(&self) -> Recorder {
        Recorder::start(self.path().join(RECORDS))
    }

    /// Writes the findings atomically.
    ///
    /// # Errors
    /// The findings cannot be written.
    pub fn write(&mut self, probe: &impl Serialize) -> Result<(), Error> {
        self.0.write(probe)
    }
}

/// Returns true if the folder at `path` contains a probe.
pub fn is_probe(path: &Path) -> bool {
    PROBE.is_in(path)
}

/// Reads the `probe.json` of the folder at `path`. If this or an earlier version wrote it, it
/// follows `docs/schemas/probe.schema.json`.
///
/// # Errors
/// [`Error::NoProbe`], [`Error::Json`] if it is damaged or too large, [`Error::Version`] if a later
/// version wrote it.
pub fn read_probe(path: &Path) -> Result<Value, Error> {
    if !is_probe(path) {
        return Err(Error::NoProbe(path.into()));
    }
    PROBE.read(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    // A probe survives a round trip. Its name is reserved until the findings are written, and
    // without findings no file remains.
    #[test]
    fn a_probe_is_whole_or_not_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b.flashscope");
        let folder = ProbeFolder::create(&path).unwrap();
        let mut recorder = folder.recorder();
        recorder.begin(1).unwrap();
        recorder.end().unwrap();
        drop(recorder);
        drop(folder);
        assert!(!path.exists());
        let mut folder = ProbeFolder::create(&path).unwrap();
        assert!(matches!(ProbeFolder::create(&path), Err(Error::Busy(_))));
        assert!(!path.exists(), "it appears when it is whole");
        assert!(matches!(read_probe(&path), Err(Error::NoProbe(_))));
        let written = serde_json::json!({ "schema_version": 1, "drive": {}, "findings": [] });
        folder.write(&written).unwrap();
        drop(folder);
        assert!(is_probe(&path));
        assert_eq!(read_probe(&path).unwrap(), written);
    }

    // A later version is refused, and an error names a damaged file.
    #[test]
    fn other_versions_are_told_apart() {
        let place = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(place.path().join(PROBE.name), text).unwrap();
            read_probe(place.path()).unwrap_err().to_string()
        };
        let later = read(r#"{"schema_version":2,"drive":{}}"#);
        assert!(later.contains("has format version 2; this flashscope reads up to 1"), "{later}");
        let damaged = read(r#"{"schema_version":1}"#);
        assert!(
            damaged.contains("probe.json is damaged: it is not what a probe writes"),
            "{damaged}"
        );
    }
}
