//! A trace that was written in another format.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::simulation::grouped;

/// What `flashscope trace convert --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversion {
    /// The files that were read.
    pub inputs: Vec<String>,
    /// The format of each.
    pub formats: Vec<String>,
    /// The file that was written.
    pub output: String,
    /// Its format.
    pub output_format: String,
    /// Requests that were read and selected.
    pub requests_read: u64,
    /// Requests that were written: without those whose operation the format does not have.
    pub requests_written: u64,
    /// Bytes that the requests read were for, of every operation.
    pub bytes_read: Bytes,
    /// Lines and records that could not be read and were left out.
    pub bad_lines_skipped: u64,
    /// What a user should know of it.
    pub notes: Vec<String>,
}

/// A conversion in a sentence.
pub fn conversion(conversion: &Conversion) -> String {
    let Conversion { formats, output, output_format, requests_written, bytes_read, .. } =
        conversion;
    format!(
        "{} requests for {bytes_read}, from {} to {output_format}: {output}\n",
        grouped(*requests_written),
        formats.join(" and ")
    )
}
