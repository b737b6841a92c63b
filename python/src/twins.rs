//! Twins: fitted, compared, and asked.

use std::path::Path;

use flashscope_command::twin::{CheckArgs, FitArgs, PredictArgs, check, fit, predict, read};
use pyo3::prelude::*;

use crate::asked::parse;
use crate::error::raised;
use crate::watched::watched;

/// The twin beside a profile: JSON after docs/schemas/twin.schema.json.
#[pyfunction]
pub fn twin(path: &str) -> PyResult<String> {
    let twin = read(Path::new(path)).and_then(|twin| Ok(serde_json::to_string(&twin)?));
    twin.map_err(|failure| raised(&failure))
}

/// Fits a twin: JSON after docs/schemas/twin.schema.json, and whether Ctrl-C ended it.
#[pyfunction]
pub fn twin_fit(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: FitArgs = parse("fit", words)?;
    watched(py, progress, note, |stop, sink| Ok(serde_json::to_string(&fit(&args, stop, sink)?)?))
}

/// Compares a twin with results: JSON after docs/schemas/twin-check.schema.json, and whether Ctrl-C ended it.
#[pyfunction]
pub fn twin_check(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    let args: CheckArgs = parse("check", words)?;
    watched(py, progress, note, |stop, sink| Ok(serde_json::to_string(&check(&args, stop, sink)?)?))
}

/// Predicts by a twin: JSON after docs/schemas/twin-prediction.schema.json, and whether Ctrl-C ended it.
#[pyfunction]
pub fn twin_predict(
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
