//! The statistics of a collection of traces, by volume, as `flashscope trace collection` computes
//! them.
//!
//! Partial statistics of parts of files merge exactly. `volumes` and `total` therefore depend
//! neither on the division of the requests among files, nor on the order of the files, nor on the
//! number of processors. `files` and, in a volume, `files` and `overlapping_files` describe the
//! files themselves.

use std::collections::BTreeMap;

use flashscope_block::{Bytes, Nanos};
use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prediction::{Passes, PredictedValue};
use crate::trace::{ByteCounts, HotShare, Requests};

/// The version of the format of [`Collection`], and the latest version that flashscope reads.
pub const COLLECTION_VERSION: u32 = 1;

/// The document in `collection.json`, which `flashscope trace collection --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collection {
    /// The version of the format, [`COLLECTION_VERSION`].
    pub schema_version: u32,
    /// The progress of the reading.
    pub status: CollectionStatus,
    /// The files, and the settings that the statistics depend on.
    pub plan: CollectionPlan,
    /// The outcome for each file, in the order of the plan; empty until all files are read.
    pub files: Vec<CollectionFile>,
    /// All volumes together; absent until all files are read.
    pub total: Option<CollectionTotal>,
    /// The volumes, sorted by name; empty until all files are read.
    pub volumes: Vec<VolumeStatistics>,
}

/// The progress of reading a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CollectionStatus {
    /// All files were read.
    Complete,
    /// Files remain; `--resume` reads them.
    Unfinished,
}

/// The files of a collection, and the settings that its statistics depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollectionPlan {
    /// The files, sorted by name.
    pub files: Vec<PlannedFile>,
    /// The fields of a trace that the user set, such as its format.
    pub fields: BTreeMap<String, String>,
    /// True if volumes of the same name in different files are different volumes.
    pub separate_files: bool,
    /// True if the collection leaves out a file that cannot be read.
    pub skip_bad_files: bool,
    /// The maximum number of pages per volume in the page statistics. Volumes with more pages are
    /// sampled.
    pub sample_pages: u32,
}

/// A file of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedFile {
    /// The path.
    pub path: String,
    /// The size of the file.
    pub size: Bytes,
    /// The offset of each part, in rising order from 0. Parts are read separately.
    pub parts: Vec<Bytes>,
    /// The format, if the file has several parts.
    pub format: Option<String>,
}

/// The outcome of reading a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollectionFile {
    /// The path.
    pub path: String,
    /// The format; absent if it is unknown.
    pub format: Option<String>,
    /// The requests in the file.
    pub requests: u64,
    /// The number of skipped lines and records, which could not be read.
    pub bad_lines_skipped: u64,
    /// Notes about reading the file.
    pub notes: Vec<String>,
    /// The error that excludes the file from the statistics, if any.
    pub problem: Option<String>,
}

/// The statistics of all volumes of a collection together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollectionTotal {
    /// The number of volumes.
    pub volumes: u64,
    /// The requests by operation.
    pub requests: Requests,
    /// The bytes by operation.
    pub bytes: ByteCounts,
    /// The time of the earliest request.
    pub start_ns: Nanos,
    /// The time of the latest request.
    pub end_ns: Nanos,
    /// The sizes of reads in bytes; absent if there are none.
    pub read_sizes: Option<Quantiles>,
    /// The sizes of writes in bytes; absent if there are none.
    pub write_sizes: Option<Quantiles>,
    /// The latencies in nanoseconds; absent if the traces have none.
    pub latency_ns: Option<Quantiles>,
    /// Sequential accesses over accesses; absent if there are no accesses.
    pub sequential_share: Option<f64>,
    /// The bytes of the distinct pages read or written, summed over the volumes.
    pub accessed_bytes: Estimate,
    /// The bytes of the distinct pages written, summed over the volumes.
    pub written_bytes: Estimate,
    /// Bytes written, divided by the bytes of the distinct pages written; absent if nothing is
    /// written.
    pub overwrite_ratio: Option<Estimate>,
}

/// The statistics of a volume. Counts, bytes and times are exact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeStatistics {
    /// The name.
    pub name: String,
    /// The number of files with requests of the volume.
    pub files: u64,
    /// The number of files that begin before an earlier file of the volume ends. Statistics of
    /// successive requests process the files one by one, in the order of their first requests.
    pub overlapping_files: u64,
    /// The requests by operation.
    pub requests: Requests,
    /// The bytes by operation.
    pub bytes: ByteCounts,
    /// The time of the earliest request: since 1970 if the format has absolute times, or else on
    /// the clock of the trace.
    pub start_ns: Nanos,
    /// The time of the latest request.
    pub end_ns: Nanos,
    /// Requests per second from the earliest to the latest request; absent if both have the same
    /// time.
    pub requests_per_s: Option<f64>,
    /// Requests whose time is earlier than that of the previous request.
    pub backwards: u64,
    /// The sizes of reads in bytes; absent if there are none.
    pub read_sizes: Option<Quantiles>,
    /// The sizes of writes in bytes; absent if there are none.
    pub write_sizes: Option<Quantiles>,
    /// The times between successive requests, in nanoseconds, 0 where the time goes backwards;
    /// absent if there are fewer than two requests.
    pub inter_arrival_ns: Option<Quantiles>,
    /// The latencies in nanoseconds; absent if the trace has none.
    pub latency_ns: Option<Quantiles>,
    /// The share of accesses that begin where the previous access ended; absent if there are no
    /// accesses.
    pub sequential_share: Option<f64>,
    /// The share of accesses that begin or end inside a page of 4 KiB; absent if there are no
    /// accesses.
    pub unaligned_share: Option<f64>,
    /// The highest byte addressed, plus one, trims included.
    pub highest_end: Bytes,
    /// The share of the volume's pages from which the following fields are estimated. At 1, these
    /// fields are exact.
    pub page_rate: f64,
    /// The bytes of the distinct pages of 4 KiB read or written.
    pub accessed_bytes: Estimate,
    /// The bytes of the distinct pages written.
    pub written_bytes: Estimate,
    /// Bytes written, divided by the bytes of the distinct pages written; absent if nothing is
    /// written.
    pub overwrite_ratio: Option<Estimate>,
    /// The mean time between two successive writes of a page, in nanoseconds; absent if no page is
    /// written twice.
    pub update_interval_ns: Option<Estimate>,
    /// The shares of all page writes that go to the hottest 1, 5, 10, 20 and 50 % of the written
    /// pages.
    pub hottest_written: Vec<HotShare>,
}

/// A distribution. Quantiles are lower bounds of buckets: at most 1/32 below the exact quantile,
/// and exact below 64. Sizes that are powers of two are exact as well.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// The arithmetic mean.
    pub mean: f64,
    /// The smallest value.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The largest value.
    pub max: u64,
}

/// The version of the format of [`CollectionPrediction`].
pub const COLLECTION_PREDICTION_VERSION: u32 = 1;

/// The document that `flashscope predict --collection --json` prints: each volume of a collection
/// on a separate drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollectionPrediction {
    /// The version of the format, [`COLLECTION_PREDICTION_VERSION`].
    pub schema_version: u32,
    /// The drive, as the user wrote it.
    pub drive: String,
    /// The FTL of the drive.
    pub ftl: String,
    /// The collection, as the user wrote it.
    pub collection: String,
    /// The share of cases that an interval is meant to contain (0 to 1).
    pub level: f64,
    /// All volumes together.
    pub summary: PredictionSummary,
    /// The volumes, sorted by name.
    pub volumes: Vec<VolumePrediction>,
}

/// The predictions of all volumes together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionSummary {
    /// The number of volumes.
    pub volumes: u64,
    /// The number of volumes with a prediction.
    pub predicted: u64,
    /// Logical pages that the host writes in one pass over the volumes with a prediction.
    pub host_pages_written: u64,
    /// The erases of one pass, summed over these volumes.
    pub erases: f64,
    /// Pages programmed per page that the host writes, over all these volumes; absent if no volume
    /// has a prediction.
    pub write_amplification: Option<f64>,
    /// The spread of the write amplification over the volumes; absent if no volume has a
    /// prediction.
    pub write_amplification_of_volumes: Option<Spread>,
}

/// The spread of a number over the volumes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The smallest value.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest value.
    pub max: f64,
}

/// The prediction of a volume on a separate drive. The volume repeats until the prediction has
/// converged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumePrediction {
    /// The name.
    pub name: String,
    /// The requests of the volume.
    pub requests: u64,
    /// The prediction; absent if there is a problem.
    pub predicted: Option<PredictedVolume>,
    /// The reason that there is no prediction.
    pub problem: Option<String>,
}

/// The predicted numbers of a volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedVolume {
    /// The name of the model.
    pub model: String,
    /// The number of repetitions of the volume.
    pub passes: Passes,
    /// Logical pages that the host writes in one pass.
    pub host_pages_written: u64,
    /// Blocks erased in one pass.
    pub erases: f64,
    /// Pages programmed per page that the host writes.
    pub write_amplification: PredictedValue,
    /// Bytes written per second while writes keep all packages busy.
    pub bytes_per_second: PredictedValue,
    /// The number of comparisons of model and simulator from which the intervals are computed.
    pub cases: u64,
    /// The features of the drive that the model ignores, in words.
    pub not_modelled: Vec<String>,
}
