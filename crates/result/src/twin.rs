//! The document of a twin: `NAME.twin.json`, beside the profile `NAME.toml`.

use std::path::{Path, PathBuf};

use flashscope_document::twin::{TWIN_VERSION, Twin};

use crate::Error;
use crate::document::read_versioned;

/// The file extension of a twin's document.
pub const TWIN_ENDING: &str = ".twin.json";

/// Returns the path of the twin's document that belongs to the profile at `path`, or `path` itself
/// if it is such a document.
pub fn twin_path(path: &Path) -> PathBuf {
    match is_twin_path(path) {
        true => path.into(),
        false => path.with_extension(&TWIN_ENDING[1..]),
    }
}

/// Returns true if `path` has the name of a twin's document.
pub fn is_twin_path(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.ends_with(TWIN_ENDING) && name.len() > TWIN_ENDING.len())
}

/// Reads the twin whose document or profile is at `path`.
///
/// # Errors
/// [`Error::NoTwin`], [`Error::Json`] if it is damaged or too large, [`Error::Version`] if a later
/// version wrote it.
pub fn read_twin(path: &Path) -> Result<Twin, Error> {
    let file = twin_path(path);
    if !file.is_file() {
        return Err(Error::NoTwin { path: path.into(), document: file });
    }
    let value = read_versioned(&file, TWIN_VERSION, "twin fit")?;
    serde_json::from_value(value).map_err(|source| Error::Json { path: file, source })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn testdata(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/twins").join(name)
    }

    #[test]
    fn profile_and_document_name_the_same_twin() {
        let by_profile = read_twin(&testdata("bench-v1.toml")).unwrap();
        let by_document = read_twin(&testdata("bench-v1.twin.json")).unwrap();
        assert_eq!(by_profile, by_document);
        assert!(!is_twin_path(Path::new(".twin.json")) && !is_twin_path(Path::new("a.json")));
    }

    #[test]
    fn errors_name_the_document() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.toml");
        let message = |text: Option<&str>| {
            text.iter().for_each(|text| fs::write(twin_path(&path), text).unwrap());
            read_twin(&path).unwrap_err().to_string()
        };
        assert!(message(None).contains("a.twin.json"), "missing");
        assert!(message(Some("{}")).contains("a.twin.json is damaged"), "damaged");
        let later = fs::read_to_string(testdata("bench-v1.twin.json")).unwrap();
        let later: serde_json::Value = serde_json::from_str(&later).unwrap();
        let serde_json::Value::Object(mut later) = later else { panic!() };
        later.insert("schema_version".into(), 99.into());
        let later = message(Some(&serde_json::Value::Object(later).to_string()));
        assert!(later.contains("has format version 99"), "{later}");
    }
}
