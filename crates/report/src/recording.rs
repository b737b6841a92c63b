//! The recording of a drive's requests.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::count::grouped;

/// The output of `flashscope trace record --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    /// The recorded drive or partition.
    pub device: String,
    /// The file written.
    pub output: String,
    /// The format of the file.
    pub output_format: String,
    /// The number of recorded requests.
    pub requests: u64,
    /// Bytes of the requests, over all operations.
    pub bytes: Bytes,
    /// Kernel events that were dropped because the buffer was full. A request causes two or more
    /// events.
    pub events_lost: u64,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Describes a recording in a sentence.
pub fn recording(recording: &Recording) -> String {
    let Recording { device, output, output_format, requests, bytes, events_lost, .. } = recording;
    let lost = match events_lost {
        0 => "no event lost".into(),
        lost => format!("{} events lost", grouped(*lost)),
    };
    let requests = grouped(*requests);
    format!("{requests} requests for {bytes} on {device}, {lost}, as {output_format}: {output}\n")
}
