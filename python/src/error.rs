//! Failures as exceptions, with the messages of the command line.

use anyhow::anyhow;
use flashscope_command::Failure;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};

create_exception!(flashscope, Error, PyException, "An error of flashscope.");
create_exception!(flashscope, UsageError, Error, "A wrong argument or input.");
create_exception!(flashscope, Failed, Error, "A failure while a command ran.");

/// Converts a failure to an exception.
pub(crate) fn raised(failure: &Failure) -> PyErr {
    let message = failure.message();
    match failure {
        Failure::Usage(_) => UsageError::new_err(message),
        Failure::Failed(_) | Failure::Finding(_) | Failure::Interrupted(_) => {
            Failed::new_err(message)
        }
    }
}

/// Converts an exception of Python to a failure.
pub(crate) fn failure(py: Python<'_>, error: &PyErr) -> Failure {
    match error.value(py).str() {
        Ok(text) if error.is_instance_of::<UsageError>(py) => Failure::Usage(anyhow!("{text}")),
        Ok(text) if error.is_instance_of::<Error>(py) => Failure::Failed(anyhow!("{text}")),
        _ => Failure::Failed(anyhow!("{error}")),
    }
}
