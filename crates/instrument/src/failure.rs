//! Why something was not done.

/// Why a command did not do what was asked.
pub enum Failure {
    /// The request cannot be carried out as it stands: exit status 2, `UsageError` in Python.
    Usage(anyhow::Error),
    /// Something went wrong on the way: exit status 1, `Failed` in Python.
    Failed(anyhow::Error),
    /// Ctrl-C or a request to terminate ended it: exit status 130, `Failed` in Python.
    Interrupted(anyhow::Error),
}

impl Failure {
    /// What went wrong.
    #[must_use]
    pub fn error(&self) -> &anyhow::Error {
        match self {
            Failure::Usage(error) | Failure::Failed(error) | Failure::Interrupted(error) => error,
        }
    }

    /// What the error says, and its causes where it does not say them itself.
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

/// Marks an error as one of usage.
pub fn usage<E: Into<anyhow::Error>>(error: E) -> Failure {
    Failure::Usage(error.into())
}

/// An interruption, with what was kept of the work.
pub fn interrupted(kept: impl std::fmt::Display) -> Failure {
    Failure::Interrupted(anyhow::anyhow!("interrupted: {kept}"))
}

/// Why the folder of a result was not created: that its name is taken is a matter of usage.
pub fn not_made(error: flashscope_result::Error) -> Failure {
    match error {
        flashscope_result::Error::Exists(_) | flashscope_result::Error::Busy(_) => usage(error),
        error => Failure::from(error),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    // Is each cause said, and none twice?
    #[test]
    fn causes_are_said_once() {
        let error = Err::<(), _>(anyhow!("no room")).context("cannot write").context("a: no room");
        assert_eq!(usage(error.unwrap_err()).message(), "a: no room: cannot write");
    }
}
