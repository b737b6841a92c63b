//! What came of a simulated workload.

use std::collections::BTreeMap;

use flashscope_block::{Bytes, DeviceInfo, Nanos};
use flashscope_stats::{Estimate, HeatMap, Summary};
use flashscope_workload::state::Fill;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of `simulation.json` that is written, and the latest that is read.
pub const SIMULATION_VERSION: u32 = 1;

/// What `flashscope simulate --json` prints, and `--output` writes to `simulation.json`. All that is counted is of the measurement alone, without
/// fill and warm-up. `O` is what observers of the drive yield.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Simulation")]
pub struct Simulation<O> {
    /// The version of this format; 0 of those that did not say.
    #[serde(default)]
    pub schema_version: u32,
    /// The simulated drive.
    pub drive: DeviceInfo,
    /// The workload, as it was asked for.
    pub workload: String,
    /// Seed of everything random.
    #[schemars(range(max = u64::MAX))]
    pub seed: u64,
    /// IOs of each stream in flight at once, at most.
    pub queue_depth: u32,
    /// Whether IOs came at their time, whatever was in flight; latency then counts from when an
    /// IO was due.
    pub open_loop: bool,
    /// What was written before: nothing, or everything once.
    pub fill: Fill,
    /// What was done before the measurement.
    pub warm_up: SimulationWarmUp,
    /// How the measurement ended.
    pub status: SimulationStatus,
    /// The error that ended it.
    pub error: Option<String>,
    /// IOs that were answered.
    pub ios: u64,
    /// IOs answered in a second of simulated time.
    #[schemars(range(min = 0.0))]
    pub ios_per_second: Option<f64>,
    /// Bytes read.
    pub bytes_read: Bytes,
    /// Bytes written.
    pub bytes_written: Bytes,
    /// Bytes trimmed.
    pub bytes_trimmed: Bytes,
    /// Logical pages that the host read, whole or in part. Pages count when their IO reaches the
    /// drive, so that with many in flight they are not to the IO those of `ios`.
    pub host_pages_read: u64,
    /// Logical pages that the host wrote, whole or in part.
    pub host_pages_written: u64,
    /// Logical pages that the host trimmed as a whole.
    pub host_pages_trimmed: u64,
    /// Flash pages read, by cause.
    pub flash_reads: BTreeMap<String, u64>,
    /// Flash pages programmed, by cause.
    pub flash_programs: BTreeMap<String, u64>,
    /// Blocks erased, by cause.
    pub erases: BTreeMap<String, u64>,
    /// What the FTL did that takes more than one flash command, or saves some: merges by kind,
    /// evictions of log blocks, and what became of look-ups of the map.
    pub events: BTreeMap<String, u64>,
    /// Flash pages programmed for each page programmed for the host; absent where there was none.
    #[schemars(range(min = 0.0))]
    pub write_amplification: Option<f64>,
    /// The fewest erases that the host's programs may take over those that they took (the
    /// *equivalent throughput* of Boboila and Desnoyers): 1 at best once every block is in use;
    /// absent where nothing was erased.
    #[schemars(range(min = 0.0))]
    pub equivalent_throughput: Option<f64>,
    /// What cleaning did.
    pub cleaning: Cleaning,
    /// Latency of all IOs; absent where there was none.
    pub latency_ns: Option<LatencyNs>,
    /// Latency of reads; absent where there was none.
    pub read_latency_ns: Option<LatencyNs>,
    /// Latency of writes; absent where there was none.
    pub write_latency_ns: Option<LatencyNs>,
    /// Latency of trims; absent where there was none.
    pub trim_latency_ns: Option<LatencyNs>,
    /// How latencies are distributed over time; absent without `--output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_heat_map: Option<LatencyHeatMap>,
    /// What was seen inside the drive.
    pub observations: O,
    /// How long the measurement took on the clock of the drive.
    pub simulated_ns: Nanos,
    /// How long all of it took on the clock of this machine, fill and warm-up included. The one
    /// field in which two runs of one seed differ.
    pub wall_ns: Nanos,
}

/// The warm-up of a simulated workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulationWarmUp {
    /// IOs of the workload that were answered before the measurement.
    pub ios: u64,
    /// Bytes that they read, wrote and trimmed.
    pub bytes: Bytes,
    /// Write amplification in each window of the warm-up, a window being the capacity of the
    /// drive; empty unless it was to become steady.
    pub window_write_amplification: Vec<f64>,
    /// Whether write amplification became steady; absent where it was not looked at.
    pub steady: Option<bool>,
    /// What is asked of it to be steady; absent where it was not looked at.
    pub criterion: Option<String>,
}

/// How a simulation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SimulationStatus {
    /// Everything that was asked for was measured.
    Complete,
    /// It was interrupted: what was measured up to then is here.
    Interrupted,
    /// The drive failed an IO: what was measured up to then is here.
    Failed,
}

/// What cleaning did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cleaning {
    /// Blocks that were cleaned.
    pub count: u64,
    /// Valid pages that were moved out of them.
    pub pages_moved: u64,
    /// Share of the pages of cleaned blocks that were superseded, 0 to 1 (Agrawal's *cleaning
    /// efficiency*); absent where nothing was cleaned.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub efficiency: Option<f64>,
}

/// A distribution of latencies, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyNs {
    /// How many.
    pub count: u64,
    /// The mean, with its 95 % interval by batch means.
    pub mean: Estimate,
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
    /// Half of all are not above this, within 0.1 %.
    pub p50: u64,
    /// 99 % of all are not above this.
    pub p99: u64,
    /// 99.9 % of all are not above this.
    pub p999: u64,
}

/// How latencies are distributed over time: a picture with time to the right, the logarithm of
/// latency upwards, and counts as colours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyHeatMap {
    /// How long each stretch of time is. The first begins with the measurement.
    pub bucket_ns: Nanos,
    /// The limits of the bins of latency, in nanoseconds, each 1/16 of a factor of ten wide: the bin
    /// `n` holds latencies from limit `n` to below limit `n + 1`, so there is one limit more than
    /// bins. From the first bin to the last that holds any.
    pub limits_ns: Vec<u64>,
    /// Reads: for each stretch of time, how many were answered in it with a latency in each bin.
    /// Empty where there was none; with the others they add up to `ios`.
    pub reads: Vec<Vec<u64>>,
    /// Writes, likewise.
    pub writes: Vec<Vec<u64>>,
    /// Trims and flushes, likewise.
    pub others: Vec<Vec<u64>>,
}

impl LatencyHeatMap {
    /// Of counts of three kinds: reads, writes, and others.
    pub fn of(map: &HeatMap) -> LatencyHeatMap {
        let counts = |kind: usize| {
            let counts = map.counts(kind);
            if counts.iter().flatten().any(|count| *count > 0) { counts } else { Vec::new() }
        };
        LatencyHeatMap {
            bucket_ns: Nanos(map.interval()),
            limits_ns: map.limits().to_vec(),
            reads: counts(0),
            writes: counts(1),
            others: counts(2),
        }
    }
}

impl LatencyNs {
    /// The distribution in a summary of nanoseconds; `None` where it is empty.
    pub fn of(summary: &Summary) -> Option<LatencyNs> {
        Some(LatencyNs {
            count: summary.count(),
            mean: summary.mean(),
            min: summary.min()?,
            max: summary.max()?,
            p50: summary.quantile(0.5)?,
            p99: summary.quantile(0.99)?,
            p999: summary.quantile(0.999)?,
        })
    }
}
