//! The result folder of a what-if: `NAME.flashscope/what-if.json`.

use std::path::Path;

use flashscope_document::what_if::{WHAT_IF_VERSION, WhatIf};

use crate::Error;
use crate::document::{Document, DocumentFolder};

static WHAT_IF: Document = Document {
    name: "what-if.json",
    version: WHAT_IF_VERSION,
    writer: "what-if",
    about: &["base"],
    beside: None,
};

/// A what-if under construction. The folder appears when the document is written.
#[derive(Debug)]
pub struct WhatIfFolder(DocumentFolder);

impl WhatIfFolder {
    /// Creates the folder. `path` must not exist.
    ///
    /// # Errors
    /// [`Error::Exists`], or [`Error::Busy`] if another process writes a result of this name, or
    /// the folder cannot be created.
    pub fn create(path: &Path) -> Result<WhatIfFolder, Error> {
        DocumentFolder::create(path, &WHAT_IF).map(WhatIfFolder)
    }

    /// Writes the outcome atomically.
    ///
    /// # Errors
    /// The outcome cannot be written.
    pub fn write(&mut self, what_if: &WhatIf) -> Result<(), Error> {
        self.0.write(what_if)
    }
}

/// Returns true if the folder at `path` contains a what-if.
pub fn is_what_if(path: &Path) -> bool {
    WHAT_IF.is_in(path)
}

/// Reads the `what-if.json` of the folder at `path`.
///
/// # Errors
/// [`Error::NoWhatIf`], [`Error::Json`] if it is damaged or too large, [`Error::Version`] if a
/// later version wrote it.
pub fn read_what_if(path: &Path) -> Result<WhatIf, Error> {
    if !is_what_if(path) {
        return Err(Error::NoWhatIf(path.into()));
    }
    let value = WHAT_IF.read(path)?;
    let damaged = |source| Error::Json { path: path.join(WHAT_IF.name), source };
    serde_json::from_value(value).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use flashscope_document::sweep::RowStatus;
    use flashscope_document::what_if::{
        Change, Quantity, SimulatedQuantity, Variant, WhatIfStatus,
    };
    use flashscope_stats::Estimate;

    use super::*;

    fn what_if() -> WhatIf {
        let base = Variant {
            name: "baseline".into(),
            changes: Vec::new(),
            drive: "sim:demo".into(),
            workload: "uniform".into(),
            closed_form: None,
            not_predicted: Some("no model".into()),
            status: Some(RowStatus::Done),
            reason: None,
            simulated: vec![SimulatedQuantity {
                quantity: Quantity::MeanLatency,
                value: Estimate { value: 1.0, low: None, high: None },
                difference: None,
            }],
            disagreement: None,
        };
        let change = Change { field: "ftl".into(), value: "fast".into() };
        let variants = vec![Variant { changes: vec![change], status: None, ..base.clone() }];
        let (status, schema_version) = (WhatIfStatus::Unfinished, WHAT_IF_VERSION);
        let conclusions = vec![];
        WhatIf { schema_version, status, conclusions, seed: 1, repeats: 1, base, variants }
    }

    // A what-if survives a round trip. Missing and damaged what-ifs have different errors, and
    // without an outcome no file remains.
    #[test]
    fn a_written_document_is_read_back_unchanged() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.flashscope");
        drop(WhatIfFolder::create(&path).unwrap());
        assert!(!path.exists() && !is_what_if(&path));
        assert!(matches!(read_what_if(&path), Err(Error::NoWhatIf(_))));
        let mut folder = WhatIfFolder::create(&path).unwrap();
        assert!(matches!(WhatIfFolder::create(&path), Err(Error::Busy(_))));
        folder.write(&what_if()).unwrap();
        assert_eq!(read_what_if(&path).unwrap(), what_if());
        for damaged in ["{}", r#"{"schema_version":1,"base":{}}"#, r#"{"schema_version":2}"#] {
            std::fs::write(path.join("what-if.json"), damaged).unwrap();
            let message = read_what_if(&path).unwrap_err().to_string();
            assert!(message.contains("what-if.json"), "{message}");
        }
    }
}
