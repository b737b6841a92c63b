//! Collections of traces: their statistics, and the prediction of their volumes.

use flashscope_command::predict::{PredictArgs, predict_collection as foretell};
use flashscope_command::trace::collection::{CollectionArgs, PreparedCollection};
use flashscope_command::{Failure, usage};
use pyo3::prelude::*;

use crate::options::parse;
use crate::watched::watched;

/// Summarizes a collection of traces. Returns the folder of the result, and true if Ctrl-C stopped
/// it.
#[pyfunction]
pub(crate) fn collection(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: CollectionArgs = parse("collection", words)?;
    watched(py, progress, note, |stop, sink| {
        let prepared = PreparedCollection::new(&args, (stop, &mut *sink))?;
        let folder = prepared.path().display().to_string();
        match prepared.read(&args, (stop, sink)) {
            // The folder has the plan and the finished parts.
            Ok(_) | Err(Failure::Interrupted(_)) => Ok(folder),
            Err(failure) => Err(failure),
        }
    })
}

/// Predicts each volume of a collection. Returns JSON that follows
/// docs/schemas/collection-prediction.schema.json, and true if Ctrl-C stopped it.
#[pyfunction]
pub(crate) fn predict_collection(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: PredictArgs = parse("predict", words)?;
    watched(py, progress, note, |stop, sink| {
        let missing = || usage(anyhow::anyhow!("name a collection"));
        let folder = args.collection.as_deref().ok_or_else(missing)?;
        Ok(serde_json::to_string(&foretell(&args, folder, (stop, sink))?)?)
    })
}
