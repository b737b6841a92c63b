use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use super::FieldError;

/// What happens at a line or record that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBad {
    /// It is an error, which ends the reading.
    #[default]
    Stop,
    /// It is left out, and counted.
    Skip,
}

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed.
    #[error("cannot {action} {name}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The name of the trace.
        name: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The content is of no known format.
    #[error(
        "{name} is of no format that is known: {reason}; the formats are {}; name one by --format \
         to see what is wrong with the first line",
        known.join(", ")
    )]
    UnknownFormat {
        /// The name of the trace.
        name: String,
        /// What was found.
        reason: String,
        /// The formats that there are.
        known: Vec<&'static str>,
    },
    /// A line or a record cannot be read.
    #[error("{name}: {place}: {reason} (--on-bad-line skip leaves such out)")]
    Bad {
        /// The name of the trace.
        name: String,
        /// Where it stands.
        place: Place,
        /// What is wrong with it.
        reason: Reason,
    },
    /// The whole cannot be a trace: nothing can be skipped that would mend it.
    #[error("{name}: {reason}")]
    Damaged {
        /// The name of the trace.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What is to be made of a trace cannot be.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// There is something where a trace is to be written.
    #[error("{} exists already: choose another name, or remove it", .0.display())]
    Exists(PathBuf),
}

impl Error {
    /// An error of a file operation.
    pub(super) fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> Error {
        let name = name.to_string();
        move |source| Error::Io { action, name, source }
    }
}

/// Where in a trace something stands, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of a text.
    Line(u64),
    /// A record of a binary file, and the byte at which it begins in the uncompressed content.
    Record(u64, u64),
    /// A row of a table.
    Row(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Record(record, byte) => write!(f, "record {record} (at byte {byte})"),
            Place::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// What is wrong with a line or a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(Box<Cow<'static, str>>);

impl Reason {
    /// A reason in words. Rare, so it is kept out of the way of what is read.
    #[cold]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Reason {
        Reason(Box::new(text.into()))
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
