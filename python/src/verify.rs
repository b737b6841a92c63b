//! Verifies drives across power cuts. Only Linux supports this.

use pyo3::prelude::*;

/// Verifies a drive. Returns JSON that follows docs/schemas/verification.schema.json, and true if
/// Ctrl-C stopped it.
#[cfg(target_os = "linux")]
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    words: Vec<String>,
    progress: &Bound<'_, PyAny>,
    note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    use flashscope_command::verify::{VerifyArgs, verify};

    let args: VerifyArgs = crate::options::parse("verify", words)?;
    crate::watched::watched(py, progress, note, |stop, sink| {
        Ok(serde_json::to_string(&verify(&args, stop, sink)?)?)
    })
}

/// Refuses to verify a drive.
#[cfg(not(target_os = "linux"))]
#[pyfunction]
pub(crate) fn verify(
    _words: Vec<String>,
    _progress: &Bound<'_, PyAny>,
    _note: &Bound<'_, PyAny>,
) -> PyResult<(String, bool)> {
    Err(crate::error::UsageError::new_err("flashscope verifies drives only on Linux"))
}
