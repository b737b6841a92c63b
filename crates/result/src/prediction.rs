//! The result folder of a prediction, by a model or by a twin: `NAME.flashscope/prediction.json`.

use std::path::Path;

use flashscope_document::prediction::PREDICTION_VERSION;
use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::document::{Document, DocumentFolder};

static PREDICTION: Document = Document {
    name: "prediction.json",
    version: PREDICTION_VERSION,
    writer: "prediction",
    // A model states its passes, a twin its response times.
    about: &["passes", "latency_ns"],
    beside: None,
};

/// A prediction under construction. The folder appears when the document is written.
#[derive(Debug)]
pub struct PredictionFolder(DocumentFolder);

impl PredictionFolder {
    /// Creates the folder. `path` must not exist.
    ///
    /// # Errors
    /// [`Error::Exists`], or [`Error::Busy`] if another process writes a result of this name, or
    /// the folder cannot be created.
    pub fn create(path: &Path) -> Result<PredictionFolder, Error> {
        DocumentFolder::create(path, &PREDICTION).map(PredictionFolder)
    }

    /// Writes the document atomically. `prediction` is a
    /// [`PredictionReport`](flashscope_document::prediction::PredictionReport) or a
    /// [`TwinPrediction`](flashscope_document::twin::TwinPrediction).
    ///
    /// # Errors
    /// The document cannot be written.
    pub fn write(&mut self, prediction: &impl Serialize) -> Result<(), Error> {
        self.0.write(prediction)
    }
}

/// Returns true if the folder at `path` contains a prediction.
pub fn is_prediction(path: &Path) -> bool {
    PREDICTION.is_in(path)
}

/// Returns true if a prediction comes from a twin, and false if it comes from a model.
pub fn is_of_twin(prediction: &Value) -> bool {
    prediction["latency_ns"].is_object()
}

/// Reads the `prediction.json` of the folder at `path`. It follows
/// `docs/schemas/twin-prediction.schema.json` if [`is_of_twin`], else
/// `docs/schemas/prediction.schema.json`.
///
/// # Errors
/// [`Error::NoPrediction`], [`Error::Json`] if it is damaged or too large, [`Error::Version`] if a
/// later version wrote it.
pub fn read_prediction(path: &Path) -> Result<Value, Error> {
    if !is_prediction(path) {
        return Err(Error::NoPrediction(path.into()));
    }
    PREDICTION.read(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Predictions of models and of twins survive a round trip, and other documents are refused.
    #[test]
    fn predictions_of_models_and_twins_come_back() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.flashscope");
        assert!(matches!(read_prediction(&path), Err(Error::NoPrediction(_))));
        let of_model = json!({ "schema_version": 1, "passes": {} });
        let of_twin = json!({ "latency_ns": {} });
        for (nth, (document, is_twin)) in [(of_model, false), (of_twin, true)].iter().enumerate() {
            let path = place.path().join(format!("{nth}.flashscope"));
            PredictionFolder::create(&path).unwrap().write(document).unwrap();
            let read = read_prediction(&path).unwrap();
            assert_eq!((&read, is_of_twin(&read)), (document, *is_twin));
        }
        std::fs::create_dir(&path).unwrap();
        for other in ["{}", r#"{"schema_version":2,"passes":{}}"#, r#"{"passes":1}"#] {
            std::fs::write(path.join("prediction.json"), other).unwrap();
            let message = read_prediction(&path).unwrap_err().to_string();
            assert!(message.contains("prediction.json"), "{message}");
        }
    }
}
