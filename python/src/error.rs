//! Failures as exceptions, with the words of the command line.

use anyhow::anyhow;
use flashscope_command::Failure;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};

create_exception!(flashscope, Error, PyException, "Why flashscope did not do what was asked.");
create_exception!(flashscope, UsageError, Error, "What was asked cannot be done as it stands.");
create_exception!(flashscope, Failed, Error, "Something went wrong on the way.");

/// The exception for a failure.
pub fn raised(failure: &Failure) -> PyErr {
    let message = failure.message();
    match failure {
        Failure::Usage(_) => UsageError::new_err(message),
        Failure::Failed(_) | Failure::Interrupted(_) => Failed::new_err(message),
    }
}

/// The failure that an exception of Python comes to.
pub fn failure(py: Python<'_>, error: &PyErr) -> Failure {
    match error.value(py).str() {
        Ok(text) if error.is_instance_of::<UsageError>(py) => Failure::Usage(anyhow!("{text}")),
        Ok(text) if error.is_instance_of::<Error>(py) => Failure::Failed(anyhow!("{text}")),
        _ => Failure::Failed(anyhow!("{error}")),
    }
}
