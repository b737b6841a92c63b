//! The error for a text that is not an expression.

use std::fmt;
use std::ops::Range;

/// The reason why a text is not an expression, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The problem, and the text to write instead.
    pub message: String,
    /// The range of the wrong characters; empty at the end of the text.
    pub place: Range<usize>,
}

impl ParseError {
    pub(crate) fn at(place: Range<usize>, message: impl Into<String>) -> ParseError {
        ParseError { message: message.into(), place }
    }

    /// Returns the message and `text` with the place marked below it, on three lines.
    pub fn pointing_into(&self, text: &str) -> String {
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let marks = "^".repeat(self.place.len().max(1));
        format!("{}\n  {line}\n  {}{marks}", self.message, " ".repeat(self.place.start))
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at character {})", self.message, self.place.start + 1)
    }
}

impl std::error::Error for ParseError {}
