//! The result folder of a probed drive: `NAME.flashscope/probe.json` and `records/*.parquet`.

use std::path::Path;

use flashscope_document::PROBE_VERSION;
use serde::Serialize;
use serde_json::Value;

use crate::document::{Document, DocumentFolder};
use crate::{Error, Recorder};

const RECORDS: &str = "records";

static PROBE: Document = Document {
    name: "probe.json",
    version: PROBE_VERSION,
    writer: "probe",
    about: "drive",
    beside: Some(RECORDS),
};

/// Where the result of a probe will lie. The folder appears when the findings are written; until then it lies beside
/// that place, with the records.
#[derive(Debug)]
pub struct ProbeFolder(DocumentFolder);

impl ProbeFolder {
    /// Makes the folder. Nothing may be there yet.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Busy`] where another process writes one of this name, and where no folder can be
    /// created.
    pub fn create(path: &Path) -> Result<ProbeFolder, Error> {
        DocumentFolder::create(path, &PROBE).map(ProbeFolder)
    }

    /// Where it lies now.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A recorder for the runs of this probe.
    pub fn recorder(&self) -> Recorder {
        Recorder::start(self.path().join(RECORDS))
    }

    /// Writes what was found; at every instant the file is whole or not there.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&mut self, probe: &impl Serialize) -> Result<(), Error> {
        self.0.write(probe)
    }
}

/// Whether the folder at `path` holds the result of a probe.
pub fn is_probe(path: &Path) -> bool {
    PROBE.is_in(path)
}

/// Reads the `probe.json` of the folder at `path`, which is as `docs/schemas/probe.schema.json` says
/// if this version or an earlier one wrote it.
///
/// # Errors
/// [`Error::NoProbe`], [`Error::Json`] where it is damaged or too large, [`Error::Version`] where a
/// later version wrote it.
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

    // Does a probe come back as it was written, is the name taken in the meantime, and does nothing
    // stay where nothing was found?
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

    // Is a later version refused, and what is damaged with its name?
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
