//! Twins: fitting, checking, and predicting.

use std::path::Path;

use flashscope_command::twin::{CheckArgs, FitArgs, PredictArgs, check, fit, predict, read};
use pyo3::prelude::*;

use crate::error::raised;
use crate::options::parse;
use crate::watched::watched;

/// Returns the twin that belongs to a profile, as JSON that follows docs/schemas/twin.schema.json.
#[pyfunction]
pub(crate) fn twin(path: &str) -> PyResult<String> {
    let twin = read(Path::new(path)).and_then(|twin| Ok(serde_json::to_string(&twin)?));
    twin.map_err(|failure| raised(&failure))
}

/// Fits a twin. Returns JSON that follows docs/schemas/twin.schema.json, and true if Ctrl-C stopped
/// it.
#[pyfunction]
pub(crate) fn twin_fit(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: FitArgs = parse("fit", words)?;
    watched(py, progress, note, |stop, sink| Ok(serde_json::to_string(&fit(&args, stop, sink)?)?))
}

/// Compares a twin with results. Returns JSON that follows docs/schemas/twin-check.schema.json, and
/// true if Ctrl-C stopped it.
#[pyfunction]
pub(crate) fn twin_check(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: CheckArgs = parse("check", words)?;
    watched(py, progress, note, |stop, sink| Ok(serde_json::to_string(&check(&args, stop, sink)?)?))
}

/// Predicts a workload by a twin. Returns JSON that follows
/// docs/schemas/twin-prediction.schema.json, and true if Ctrl-C stopped it.
#[pyfunction]
pub(crate) fn twin_predict(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: PredictArgs = parse("predict", words)?;
    watched(py, progress, note, |stop, sink| {
        Ok(serde_json::to_string(&predict(&args, stop, sink)?)?)
    })
}
