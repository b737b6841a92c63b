//! A benchmark plan, saved before the measurement.

use flashscope_block::{Bytes, DeviceInfo, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::{MicroBenchmark, Options};
use crate::tool::Tool;

/// The version of the format of plans.
pub const PLAN_SCHEMA_VERSION: u32 = 2;

/// The runs of a benchmark, with their estimated cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The version of the format, [`PLAN_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program that planned.
    pub tool: Tool,
    /// The drive.
    pub device: DeviceInfo,
    /// The configuration of the benchmark.
    pub options: Options,
    /// The estimated cost.
    pub estimate: Estimate,
    /// The parts omitted to keep within the budget, as text.
    pub left_out: Vec<String>,
    /// The runs.
    pub micro_benchmarks: Vec<MicroBenchmark>,
}

/// The estimated cost of a plan, including the enforcement of drive states and pauses. It does not
/// include the IOs of start-up phases, which are known only during the measurement.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The number of runs.
    pub runs: u64,
    /// The number of times that the plan enforces the drive state.
    pub states: u64,
    /// The minimum: every run reaches its precision as early as possible.
    // The name up to version 1.
    #[serde(alias = "least")]
    pub min: Amount,
    /// The expected cost: every run takes twice the minimum number of IOs, up to its maximum.
    pub expected: Amount,
    /// The maximum: every run has its maximum length.
    // The name up to version 1.
    #[serde(alias = "most")]
    pub max: Amount,
    /// The assumed costs of single IOs.
    pub costs: Costs,
    /// The expected writes as a share of the drive's rated endurance, if that was given.
    pub endurance_share: Option<f64>,
}

/// An amount of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    /// IOs of runs.
    pub ios: u64,
    /// Bytes written, including those of drive states.
    pub bytes_written: Bytes,
    /// Time on the clock of the drive.
    pub time_ns: Nanos,
}

/// The assumed costs of single IOs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// Reads.
    pub read: Cost,
    /// Sequential writes.
    pub sequential_write: Cost,
    /// Random writes.
    pub random_write: Cost,
}

/// The cost of an IO as a function of its size.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// The fixed cost per IO, in ns.
    pub per_io_ns: f64,
    /// The cost per byte, in ns.
    pub per_byte_ns: f64,
    /// True if measured, false if assumed.
    pub measured: bool,
}

impl Cost {
    /// Returns the line through the means (ns) measured at two sizes, the smaller one first. A
    /// negative cost becomes 0.
    #[allow(clippy::cast_precision_loss)]
    pub fn through((small, at_small): (Bytes, f64), (large, at_large): (Bytes, f64)) -> Cost {
        let bytes = large.0.saturating_sub(small.0) as f64;
        let per_byte_ns = if bytes > 0.0 { ((at_large - at_small) / bytes).max(0.0) } else { 0.0 };
        let per_io_ns = (at_small - per_byte_ns * small.0 as f64).max(0.0);
        Cost { per_io_ns, per_byte_ns, measured: true }
    }

    /// Returns the cost of an IO of `size`, in ns.
    #[allow(clippy::cast_precision_loss)]
    pub fn of(&self, size: Bytes) -> f64 {
        self.per_io_ns + size.0 as f64 * self.per_byte_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_of_version_1_are_read() {
        let text = |min: &str, max: &str| {
            let amount = serde_json::to_string(&Amount { ios: 3, ..Amount::default() }).unwrap();
            let written = serde_json::to_string(&Estimate::default()).unwrap();
            let zero = serde_json::to_string(&Amount::default()).unwrap();
            let written =
                written.replace(&format!("\"min\":{zero}"), &format!("\"{min}\":{amount}"));
            written.replace("\"max\":", &format!("\"{max}\":"))
        };
        let read = |text: &str| serde_json::from_str::<Estimate>(text).unwrap();
        assert_eq!(read(&text("least", "most")), read(&text("min", "max")));
        assert_eq!(read(&text("least", "most")).min.ios, 3);
    }
}
