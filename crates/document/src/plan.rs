//! A plan that is saved before anything is measured.

use flashscope_block::{Bytes, DeviceInfo, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::{MicroBenchmark, Options, Tool};

/// Version of the format of plans.
pub const PLAN_SCHEMA_VERSION: u32 = 1;

/// What a benchmark will run, and what that will take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Version of the format, [`PLAN_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program that planned.
    pub tool: Tool,
    /// The drive it is for.
    pub device: DeviceInfo,
    /// What was asked for.
    pub options: Options,
    /// What it will take.
    pub estimate: Estimate,
    /// What was left out to keep within the budget, in words.
    pub left_out: Vec<String>,
    /// The runs.
    pub micro_benchmarks: Vec<MicroBenchmark>,
}

/// What a plan takes, states of the drive and pauses among it. IOs that turn out to belong to a
/// start-up phase come on top.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Runs.
    pub runs: u64,
    /// How often the state of the drive is enforced.
    pub states: u64,
    /// Where every run knows its mean as soon as it can.
    pub least: Amount,
    /// Where every run takes twice as many IOs, and is not longer than it may be.
    pub expected: Amount,
    /// Where every run is as long as it may be.
    pub most: Amount,
    /// What an IO is taken to take.
    pub costs: Costs,
    /// What is written, as expected, as a share of what may be written to the drive in its life, where
    /// that was given.
    pub endurance_share: Option<f64>,
}

/// An amount of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    /// IOs of runs.
    pub ios: u64,
    /// Bytes written, by states of the drive as well.
    pub bytes_written: Bytes,
    /// Time on the clock of the drive.
    pub time_ns: Nanos,
}

/// What single IOs are taken to take.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// Reads.
    pub read: Cost,
    /// Writes one after the other.
    pub sequential_write: Cost,
    /// Writes all over the drive.
    pub random_write: Cost,
}

/// What an IO takes by its size.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Of any size, in ns.
    pub per_io_ns: f64,
    /// For each byte, in ns.
    pub per_byte_ns: f64,
    /// Whether that was measured, or is only assumed.
    pub measured: bool,
}

impl Cost {
    /// The line through the means (ns) that were measured at two sizes, the smaller one first.
    #[allow(clippy::cast_precision_loss)]
    pub fn through((small, at_small): (Bytes, f64), (large, at_large): (Bytes, f64)) -> Cost {
        let bytes = large.0.saturating_sub(small.0) as f64;
        let per_byte_ns = if bytes > 0.0 { ((at_large - at_small) / bytes).max(0.0) } else { 0.0 };
        let per_io_ns = (at_small - per_byte_ns * small.0 as f64).max(0.0);
        Cost { per_io_ns, per_byte_ns, measured: true }
    }

    /// What an IO of `size` takes, in ns.
    #[allow(clippy::cast_precision_loss)]
    pub fn of(&self, size: Bytes) -> f64 {
        self.per_io_ns + size.0 as f64 * self.per_byte_ns
    }
}
