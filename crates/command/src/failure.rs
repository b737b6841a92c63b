//! The failures of commands.

/// The reason why a command failed.
pub enum Failure {
    /// The request is invalid: exit status 2, `UsageError` in Python.
    Usage(anyhow::Error),
    /// The execution failed: exit status 1, `Failed` in Python.
    Failed(anyhow::Error),
    /// The command succeeded and found a problem: a regression, or damaged data. Exit status 3; in
    /// Python, the document reports the problem.
    Finding(anyhow::Error),
    /// Ctrl-C or a termination signal ended the command: exit status 130, `Failed` in Python.
    Interrupted(anyhow::Error),
}

impl Failure {
    /// Returns the error.
    #[must_use]
    pub fn error(&self) -> &anyhow::Error {
        match self {
            Failure::Usage(error)
            | Failure::Failed(error)
            | Failure::Finding(error)
            | Failure::Interrupted(error) => error,
        }
    }

    /// Returns the message of the error, followed by the messages of those causes that it does not
    /// already contain.
    #[must_use]
    pub fn message(&self) -> String {
        let error = self.error();
        let mut text = error.to_string();
        for cause in error.chain().skip(1).map(ToString::to_string) {
            if !text.contains(&cause) {
                text = format!("{text}: {cause}");
            }
        }
        text
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Failed(error.into())
    }
}

/// Converts an error to a usage error.
pub fn usage<E: Into<anyhow::Error>>(error: E) -> Failure {
    Failure::Usage(error.into())
}

/// Returns an interruption. `kept` describes the work that was kept.
pub fn interrupted(kept: impl std::fmt::Display) -> Failure {
    Failure::Interrupted(anyhow::anyhow!("interrupted: {kept}"))
}

/// Converts an error in opening a result. An error that a wrong path may cause is a usage error.
pub fn not_opened(error: flashscope_result::Error) -> Failure {
    use flashscope_result::Error;
    match error {
        error @ (Error::NoResult(_)
        | Error::NoTwin { .. }
        | Error::Json { .. }
        | Error::Version { .. }) => usage(error),
        other => Failure::from(other),
    }
}

/// Converts the error of creating a result folder. A name that is already taken is a usage error.
pub(crate) fn not_made(error: flashscope_result::Error) -> Failure {
    match error {
        flashscope_result::Error::Exists(_) | flashscope_result::Error::Busy(_) => usage(error),
        error => Failure::from(error),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn message_names_each_cause_once() {
        let error = Err::<(), _>(anyhow!("no room")).context("cannot write").context("a: no room");
        assert_eq!(usage(error.unwrap_err()).message(), "a: no room: cannot write");
    }
}
