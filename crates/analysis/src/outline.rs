use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run as a picture can show it: its IOs in order of submission or, where there are too many,
/// the fastest and the slowest of each stretch. What is shown was measured as it stands.
///
/// The lists are columns of one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outline {
    /// The number of the run.
    pub run: u32,
    /// How many IOs the run has.
    pub ios: u64,
    /// The position of each IO shown in the run, from 0.
    pub index: Vec<u64>,
    /// When it was submitted, from the begin of the run.
    pub submitted_ns: Vec<u64>,
    /// Its response time.
    pub latency_ns: Vec<u64>,
    /// Where it began.
    pub offset_bytes: Vec<u64>,
    /// What it did: 0 read, 1 write.
    pub op: Vec<u8>,
}
