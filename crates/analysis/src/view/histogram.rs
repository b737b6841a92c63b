use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the response times of a run, or of a part of it, are distributed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyHistogram {
    /// The number of the run.
    pub run: u32,
    /// The position of the first IO that counts.
    pub from: u64,
    /// The position after the last.
    pub to: u64,
    /// IOs that count; those that failed do not.
    pub ios: u64,
    /// The bins that hold any, by rising time, each 1/16 of a factor of ten wide.
    pub bins: Vec<LatencyBin>,
    /// Percentiles in percent, with their response times in ns, within 0.1 %.
    pub percentiles: Vec<(f64, u64)>,
}

/// The IOs whose response time lies in one range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBin {
    /// Where the range begins, ns.
    pub from_ns: f64,
    /// Where it ends, ns.
    pub to_ns: f64,
    /// How many.
    pub ios: u64,
}
