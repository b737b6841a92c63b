//! The result folder of a simulated workload: `NAME.flashscope/simulation.json`.

use std::path::Path;

use flashscope_document::SIMULATION_VERSION;
use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::document::{Document, DocumentFolder};

static SIMULATION: Document = Document {
    name: "simulation.json",
    version: SIMULATION_VERSION,
    writer: "simulation",
    about: &["drive"],
    beside: None,
};

/// A simulation result under construction. The folder appears when the result is written.
#[derive(Debug)]
pub struct SimulationFolder(DocumentFolder);

impl SimulationFolder {
    /// Creates the folder. `path` must not exist.
    ///
    /// # Errors
    /// [`Error::Exists`], or [`Error::Busy`] if another process writes a result of this name, or
    /// the folder cannot be created.
    pub fn create(path: &Path) -> Result<SimulationFolder, Error> {
        DocumentFolder::create(path, &SIMULATION).map(SimulationFolder)
    }

    /// Writes the result atomically.
    ///
    /// # Errors
    /// The result cannot be written.
    pub fn write(&mut self, simulation: &impl Serialize) -> Result<(), Error> {
        self.0.write(simulation)
    }
}

/// Returns true if the folder at `path` contains a simulation.
pub fn is_simulation(path: &Path) -> bool {
    SIMULATION.is_in(path)
}

/// Reads the `simulation.json` of the folder at `path`. If this or an earlier version wrote it, it
/// follows `docs/schemas/simulation.schema.json`.
///
/// # Errors
/// [`Error::NoSimulation`], [`Error::Json`] if it is damaged or too large, [`Error::Version`] if a
/// later version wrote it.
pub fn read_simulation(path: &Path) -> Result<Value, Error> {
    if !is_simulation(path) {
        return Err(Error::NoSimulation(path.into()));
    }
    SIMULATION.read(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    // A simulation survives a round trip. Its name is reserved until the result is written, and
    // without a result no file remains.
    #[test]
    fn a_simulation_is_whole_or_not_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b.flashscope");
        drop(SimulationFolder::create(&path).unwrap());
        assert!(!path.exists());
        let mut folder = SimulationFolder::create(&path).unwrap();
        assert!(matches!(SimulationFolder::create(&path), Err(Error::Busy(_))));
        assert!(!path.exists(), "it appears when it is whole");
        assert!(!is_simulation(&path));
        assert!(matches!(read_simulation(&path), Err(Error::NoSimulation(_))));
        let written = serde_json::json!({ "schema_version": 1, "drive": {}, "ios": 3 });
        folder.write(&written).unwrap();
        drop(folder);
        assert!(is_simulation(&path));
        assert_eq!(read_simulation(&path).unwrap(), written);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "nothing is left behind");
    }

    // An early version is read; a later version and other content are refused with the file name.
    #[test]
    fn other_versions_are_told_apart() {
        let place = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(place.path().join(SIMULATION.name), text).unwrap();
            read_simulation(place.path()).map_err(|error| error.to_string())
        };
        assert!(read(r#"{"drive":{}}"#).is_ok());
        let later = read(r#"{"schema_version":2,"drive":{}}"#).unwrap_err();
        assert!(later.contains("has format version 2; this flashscope reads up to 1"), "{later}");
        let much_later = read(r#"{"schema_version":99999999999,"drive":{}}"#).unwrap_err();
        assert!(much_later.contains("update flashscope"), "{much_later}");
        for damaged in
            ["", "{", "[]", "{}", r#"{"schema_version":"1","drive":{}}"#, r#"{"drive":1}"#]
        {
            let error = read(damaged).unwrap_err();
            assert!(error.contains("simulation.json is damaged: "), "{damaged}: {error}");
        }
    }
}
