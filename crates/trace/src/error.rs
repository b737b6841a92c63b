use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use super::FieldError;

/// The handling of an unreadable line or record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBad {
    /// Stop with an error.
    #[default]
    Stop,
    /// Skip and count it.
    Skip,
}

/// An error while reading or writing a trace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed.
    #[error("cannot {action} {name}: {source}")]
    Io {
        /// The operation, as a verb such as `read`.
        action: &'static str,
        /// The name of the trace.
        name: String,
        /// The underlying error.
        source: io::Error,
    },
    /// The content matches no known format.
    #[error(
        "the format of {name} is unknown: {reason}; the formats are {}; name one by --format \
         to see the error in the first line",
        known.join(", ")
    )]
    UnknownFormat {
        /// The name of the trace.
        name: String,
        /// A description of the content.
        reason: String,
        /// The known formats.
        known: Vec<&'static str>,
    },
    /// A line or a record is unreadable.
    #[error("{name}: {place}: {reason} (--on-bad-line skip ignores such lines)")]
    Bad {
        /// The name of the trace.
        name: String,
        /// The position of the line or record.
        place: Place,
        /// The reason that the line or record is unreadable.
        reason: Reason,
    },
    /// The trace is invalid as a whole; skipping lines or records cannot help.
    #[error("{name}: {reason}")]
    Damaged {
        /// The name of the trace.
        name: String,
        /// The reason that the trace is invalid.
        reason: String,
    },
    /// A field does not exist, or its value is invalid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The output file exists.
    #[error("{} exists already: choose another name, or remove it", .0.display())]
    Exists(PathBuf),
}

impl Error {
    /// Creates an error of a file operation.
    pub(super) fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> Error {
        let name = name.to_string();
        move |source| Error::Io { action, name, source }
    }
}

/// A position in a trace. Lines, records and rows count from 1, bytes from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of a text.
    Line(u64),
    /// A record of a binary file, and its first byte in the uncompressed content.
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

/// The reason that a line or a record is unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(Box<Cow<'static, str>>);

impl Reason {
    /// Creates a reason from a text. Boxed, because errors are rare and results should stay small.
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
