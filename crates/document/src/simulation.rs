//! The result of a simulated workload.

use std::collections::BTreeMap;

use flashscope_block::{Bytes, DeviceInfo, Nanos};
use flashscope_stats::{Estimate, HeatMap, Summary};
use flashscope_workload::state::Fill;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conclusion::Conclusion;

/// The version of `simulation.json` that flashscope writes, and the latest version that it reads.
pub const SIMULATION_VERSION: u32 = 1;

/// The output of `flashscope simulate --json`, and the `simulation.json` that `--output` writes.
/// All counts cover the measurement only, without fill and warm-up. `O` is the output of the
/// drive's observers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Simulation")]
pub struct Simulation<O> {
    /// The version of this format; 0 for documents without a version.
    #[serde(default)]
    pub schema_version: u32,
    /// The conclusions, as sentences with their evidence, the most important first. Absent from
    /// documents of earlier versions of flashscope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
    /// The simulated drive.
    pub drive: DeviceInfo,
    /// The workload, as requested.
    pub workload: String,
    /// The seed of all random numbers.
    #[schemars(range(max = u64::MAX))]
    pub seed: u64,
    /// The maximum number of IOs in flight per stream.
    pub queue_depth: u32,
    /// True for an open loop, in which IOs arrive at their own times. Latency then counts from the
    /// time at which an IO was due.
    pub open_loop: bool,
    /// The fill before the warm-up.
    pub fill: Fill,
    /// The warm-up before the measurement.
    pub warm_up: SimulationWarmUp,
    /// The reason that the measurement ended.
    pub status: SimulationStatus,
    /// The error that ended the measurement.
    pub error: Option<String>,
    /// Completed IOs.
    pub ios: u64,
    /// IOs completed per second of simulated time.
    #[schemars(range(min = 0.0))]
    pub ios_per_second: Option<f64>,
    /// Bytes read.
    pub bytes_read: Bytes,
    /// Bytes written.
    pub bytes_written: Bytes,
    /// Bytes trimmed.
    pub bytes_trimmed: Bytes,
    /// Logical pages that the host read, completely or in part. A page counts when its IO reaches
    /// the drive, but an IO counts in `ios` when it completes. The two counts therefore cover
    /// slightly different IOs if many are in flight.
    pub host_pages_read: u64,
    /// Logical pages that the host wrote, completely or in part.
    pub host_pages_written: u64,
    /// Logical pages that the host wrote while the write buffer held an older copy, which the new
    /// copy replaced. An older copy never reaches the flash; 0 for documents without this field.
    #[serde(default)]
    pub host_pages_absorbed: u64,
    /// Logical pages that the host trimmed completely.
    pub host_pages_trimmed: u64,
    /// Flash pages read, by cause. Pages copied within a plane count as programmed, but not as
    /// read.
    pub flash_reads: BTreeMap<String, u64>,
    /// Flash pages programmed, by cause.
    pub flash_programs: BTreeMap<String, u64>,
    /// Blocks erased, by cause.
    pub erases: BTreeMap<String, u64>,
    /// FTL operations that cause several flash commands or avoid some: merges by kind, evictions of
    /// log blocks, and the results of map lookups.
    pub events: BTreeMap<String, u64>,
    /// Flash pages programmed per flash page's worth of logical pages that the host wrote; absent
    /// if it wrote none. A partly written logical page counts as a complete page. The value is
    /// below 1 if the write buffer absorbs pages.
    #[schemars(range(min = 0.0))]
    pub write_amplification: Option<f64>,
    /// The logical pages that the workload itself moved, as a log-structured store does; absent if
    /// there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_pages_moved: Option<u64>,
    /// The write amplification of the workload and the drive together: flash pages programmed per
    /// flash page's worth of logical pages that the workload wrote. Moved pages do not count.
    /// Absent if the workload moved no page, or wrote only moved pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub total_write_amplification: Option<f64>,
    /// The minimum number of erases for the host's programs, divided by the actual number of erases
    /// (the *equivalent throughput* of Boboila and Desnoyers). It is at most 1 once every block is
    /// in use. Absent if there were no erases.
    #[schemars(range(min = 0.0))]
    pub equivalent_throughput: Option<f64>,
    /// The garbage collection.
    pub cleaning: Cleaning,
    /// The tenants: concurrent workloads, each in its own namespace. Empty for a single workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantResult>,
    /// The smallest slowdown of a tenant divided by the largest, at most 1; absent unless each
    /// tenant also ran alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fairness: Option<f64>,
    /// The fate of data that the host placed; absent unless the drive has several reclaim unit
    /// handles or reclaim groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementStatistics>,
    /// The zones at the end of the simulation; absent for a drive without zones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZoneStatistics>,
    /// The correction of bit errors; absent if no read needed a retry or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<Correction>,
    /// The energy that the drive consumed; absent unless the profile states the power of its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyStatistics>,
    /// The latency of all IOs; absent if there were none.
    pub latency_ns: Option<LatencyNs>,
    /// The latency of reads; absent if there were none.
    pub read_latency_ns: Option<LatencyNs>,
    /// The latency of writes; absent if there were none.
    pub write_latency_ns: Option<LatencyNs>,
    /// The latency of trims; absent if there were none.
    pub trim_latency_ns: Option<LatencyNs>,
    /// The distribution of latencies over time; absent without `--output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_heat_map: Option<LatencyHeatMap>,
    /// The output of the drive's observers.
    pub observations: O,
    /// The duration of the measurement on the clock of the drive.
    pub simulated_ns: Nanos,
    /// The wall-clock duration on this machine, including fill and warm-up. Only this field and
    /// `speed` differ between two runs with the same seed.
    pub wall_ns: Nanos,
    /// The speed of the simulator on this machine; absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<SimulationSpeed>,
}

/// The speed of the simulator in each phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulationSpeed {
    /// The fill.
    pub fill: PhaseSpeed,
    /// The warm-up.
    pub warm_up: PhaseSpeed,
    /// The measurement.
    pub measurement: PhaseSpeed,
}

/// The speed of the simulator in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSpeed {
    /// The wall-clock duration.
    pub wall_ns: Nanos,
    /// The processor time of the process in this phase, over all its threads.
    pub cpu_ns: Nanos,
    /// Bytes that the IOs of the phase read, wrote and trimmed.
    pub bytes: Bytes,
    /// Completed IOs; absent for the fill, whose IOs are not counted.
    pub ios: Option<u64>,
    /// Simulated IOs per second of processor time; absent without IOs.
    #[schemars(range(min = 0.0))]
    pub ios_per_cpu_second: Option<f64>,
}

impl PhaseSpeed {
    /// Creates the speed of a phase from its durations, its bytes and its IOs.
    pub fn new(wall_ns: Nanos, cpu_ns: Nanos, bytes: Bytes, ios: Option<u64>) -> PhaseSpeed {
        #[allow(clippy::cast_precision_loss)] // exact up to 2^53 IOs
        let rate = |ios: u64| ios as f64 / cpu_ns.as_secs_f64();
        let counted = ios.filter(|ios| *ios > 0 && cpu_ns > Nanos(0));
        PhaseSpeed { wall_ns, cpu_ns, bytes, ios, ios_per_cpu_second: counted.map(rate) }
    }
}

/// The warm-up of a simulated workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulationWarmUp {
    /// IOs of the workload that completed before the measurement.
    pub ios: u64,
    /// The bytes of these IOs: read, written and trimmed.
    pub bytes: Bytes,
    /// The write amplification in each window of the warm-up. In a window, the IOs write and trim
    /// as many bytes as the capacity of the drive; for a trace, a window is a pass over the trace.
    /// Empty unless the warm-up continued until steady state.
    pub window_write_amplification: Vec<f64>,
    /// True if the write amplification became steady, after the drive began to erase blocks; absent
    /// if not examined.
    pub steady: Option<bool>,
    /// The criterion of steadiness; absent if not examined.
    pub criterion: Option<String>,
}

/// The reason that a simulation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SimulationStatus {
    /// The measurement is complete.
    Complete,
    /// The user interrupted the measurement; the results cover the time until then.
    Interrupted,
    /// The drive failed an IO; the results cover the time until then.
    Failed,
}

/// The garbage collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cleaning {
    /// Blocks collected.
    pub count: u64,
    /// Valid pages moved.
    pub pages_moved: u64,
    /// The share of invalid pages in collected blocks, 0 to 1 (Agrawal's *cleaning efficiency*);
    /// absent if no block was collected.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub efficiency: Option<f64>,
}

/// The measurement of one of several tenants of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantResult {
    /// The name.
    pub name: String,
    /// The workload, as requested.
    pub workload: String,
    /// The class of its submission queue: urgent, high, medium or low.
    pub class: String,
    /// The start of its namespace on the drive.
    pub offset_bytes: Bytes,
    /// The size of its namespace.
    pub length_bytes: Bytes,
    /// The maximum number of its IOs in flight, including those in its submission queue.
    pub queue_depth: u32,
    /// Completed IOs.
    pub ios: u64,
    /// IOs completed per second of simulated time.
    #[schemars(range(min = 0.0))]
    pub ios_per_second: Option<f64>,
    /// Bytes read.
    pub bytes_read: Bytes,
    /// Bytes written.
    pub bytes_written: Bytes,
    /// Bytes trimmed.
    pub bytes_trimmed: Bytes,
    /// The latency of all IOs, including the wait in the submission queue; absent if there were
    /// none.
    pub latency_ns: Option<LatencyNs>,
    /// The latency of reads; absent if there were none.
    pub read_latency_ns: Option<LatencyNs>,
    /// The latency of writes; absent if there were none.
    pub write_latency_ns: Option<LatencyNs>,
    /// The measurement of as many IOs of this tenant alone, on a fresh drive; absent if it did not
    /// run alone.
    pub alone: Option<TenantAlone>,
    /// The mean latency divided by the mean latency of the tenant when it ran alone.
    #[schemars(range(min = 0.0))]
    pub slowdown: Option<f64>,
}

/// The measurement of a tenant that ran alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantAlone {
    /// IOs completed per second of simulated time.
    #[schemars(range(min = 0.0))]
    pub ios_per_second: Option<f64>,
    /// The latency of all IOs.
    pub latency_ns: LatencyNs,
}

/// The energy that a drive consumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnergyStatistics {
    /// The energy in joules.
    pub joules: f64,
    /// The energy in joules for each IO; absent if there were none.
    pub joules_per_io: Option<f64>,
    /// The mean power in watts; absent if no time passed.
    pub mean_watts: Option<f64>,
    /// The energy in joules by cause: `read`, `program` and `erase` of cells, transfers on the
    /// `bus`, handling of `requests`, and `idle`, the constant power of the drive.
    pub parts: BTreeMap<String, f64>,
}

/// The correction of bit errors in the pages that the drive read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Correction {
    /// Attempts to read a page after the first.
    pub retries: u64,
    /// Reads of a page that no attempt could correct.
    pub uncorrectable_reads: u64,
    /// Pages that the drive programmed again, because they were hard to read or for wear levelling.
    pub pages_refreshed: u64,
}

/// The fate of data that the host placed by streams. The first three fields are the statistics of
/// Flexible Data Placement (`nvme_fdp_stats_log` in libnvme).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementStatistics {
    /// Bytes of the logical pages that the host wrote.
    pub host_bytes_written: Bytes,
    /// Bytes of the flash pages that were programmed, for any cause.
    pub media_bytes_written: Bytes,
    /// Bytes of the blocks that were erased.
    pub media_bytes_erased: Bytes,
    /// Pages written with a stream whose handle or group does not exist. They went to handle 0.
    pub invalid_identifiers: u64,
    /// The number of times that a stream replaced another stream at its handle, because every
    /// handle was in use.
    pub streams_replaced: u64,
    /// Pages written to another reclaim group, because the requested group was full.
    pub groups_overflowed: u64,
    /// The data of each reclaim unit handle, from handle 0 on.
    pub handles: Vec<HandleStatistics>,
    /// The moved data of all handles, in separate reclaim units; all 0 if the handles are
    /// persistently isolated.
    pub moved: HandleStatistics,
}

/// The fate of the data of a reclaim unit handle. A reclaim unit is a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandleStatistics {
    /// Logical pages written to the handle; 0 for moved data.
    pub pages_written: u64,
    /// Reclaim units of the handle that the drive began to fill.
    pub units_opened: u64,
    /// Reclaim units of the handle that the drive erased.
    pub units_reclaimed: u64,
    /// Logical pages that garbage collection moved out of the reclaim units of the handle.
    pub pages_moved: u64,
}

/// The zones of a drive, with the zones that flash failures made unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ZoneStatistics {
    /// All zones.
    pub zones: u32,
    /// Zones that can be read, but neither written nor reset.
    pub read_only: u32,
    /// Zones that can be neither read nor written.
    pub offline: u32,
}

/// A distribution of latencies, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyNs {
    /// The number of latencies.
    pub count: u64,
    /// The mean, with its 95 % interval by batch means.
    pub mean: Estimate,
    /// The minimum.
    pub min: u64,
    /// The maximum.
    pub max: u64,
    /// The median, accurate to within 0.1 %.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
}

/// A heat map of latencies: time on the x axis, the logarithm of latency on the y axis, and counts
/// as colours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyHeatMap {
    /// The length of a time step. The first step begins with the measurement.
    pub bucket_ns: Nanos,
    /// The limits of the latency bins in nanoseconds, 16 bins per factor of ten. Bin `n` contains
    /// latencies from limit `n` to below limit `n + 1`, hence there is one more limit than bins.
    /// The list covers the bins from the first to the last nonempty one.
    pub limits_ns: Vec<u64>,
    /// For each time step, the reads completed in it, by latency bin. Empty if there were no reads.
    /// The counts in `reads`, `writes` and `others` add up to `ios`.
    pub reads: Vec<Vec<u64>>,
    /// The writes, in the layout of `reads`.
    pub writes: Vec<Vec<u64>>,
    /// The trims and flushes, in the layout of `reads`.
    pub others: Vec<Vec<u64>>,
}

impl LatencyHeatMap {
    /// Creates a heat map from counts of three kinds: reads, writes, and others.
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
    /// Returns the distribution of a summary in nanoseconds; `None` if it is empty.
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
