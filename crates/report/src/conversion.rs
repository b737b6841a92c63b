//! Describes the conversion of a trace to another format.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::count::grouped;

/// The output of `flashscope trace convert --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversion {
    /// The files read.
    pub inputs: Vec<String>,
    /// The format of each file.
    pub formats: Vec<String>,
    /// The file written.
    pub output: String,
    /// The format of the file written.
    pub output_format: String,
    /// Requests read, without those that the options excluded.
    pub requests_read: u64,
    /// Requests written: all except those with an operation that the output format does not
    /// support.
    pub requests_written: u64,
    /// Bytes of the requests read, over all operations.
    pub bytes_read: Bytes,
    /// The number of skipped lines and records, which could not be read.
    pub bad_lines_skipped: u64,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Describes a conversion in a sentence.
pub fn conversion(conversion: &Conversion) -> String {
    let Conversion { formats, output, output_format, requests_written, bytes_read, .. } =
        conversion;
    format!(
        "{} requests for {bytes_read}, from {} to {output_format}: {output}\n",
        grouped(*requests_written),
        formats.join(" and ")
    )
}
