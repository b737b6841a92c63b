//! What a drive was asked for, recorded.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::simulation::grouped;

/// What `flashscope trace record --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    /// The drive or partition that was recorded.
    pub device: String,
    /// The file that was written.
    pub output: String,
    /// Its format.
    pub output_format: String,
    /// Requests that were recorded.
    pub requests: u64,
    /// Bytes that they were for, of every operation.
    pub bytes: Bytes,
    /// Events that the kernel had no room for; a request is of two or more.
    pub events_lost: u64,
    /// What a user should know of it.
    pub notes: Vec<String>,
}

/// A recording in a sentence.
pub fn recording(recording: &Recording) -> String {
    let Recording { device, output, output_format, requests, bytes, events_lost, .. } = recording;
    let lost = match events_lost {
        0 => "no event lost".into(),
        lost => format!("{} events lost", grouped(*lost)),
    };
    let requests = grouped(*requests);
    format!("{requests} requests for {bytes} on {device}, {lost}, as {output_format}: {output}\n")
}
