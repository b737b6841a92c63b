//! Writes lines of numbers and names.

use std::io::Write;

use super::super::Error;
use super::{OmissionCounts, Output};

/// The number of bytes in a sector.
pub(super) const SECTOR: u64 = 512;

/// A text written line by line.
pub(super) struct Text {
    output: Output,
    line: Vec<u8>,
    pub(super) lost: OmissionCounts,
}

impl Text {
    pub(super) fn new(output: Output) -> Text {
        Text { output, line: Vec::new(), lost: OmissionCounts::default() }
    }

    /// Appends a number to the line.
    pub(super) fn number(&mut self, number: u64) -> &mut Text {
        self.line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        self
    }

    /// Appends a text to the line.
    pub(super) fn text(&mut self, text: &str) -> &mut Text {
        self.line.extend_from_slice(text.as_bytes());
        self
    }

    /// Ends the line.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        self.line.push(b'\n');
        let written = self.output.write_all(&self.line);
        self.line.clear();
        written.map_err(Error::io("write", self.output.name()))
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        self.output.finish()
    }
}

/// Returns the name without field separators.
pub(super) fn word(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_whitespace() || c == ',' || c.is_control() { '_' } else { c })
        .collect()
}
