//! What a trace comes to: everything that `flashscope trace stat` shows.
//!
//! Times count from the first request of the trace, in nanoseconds. *Accesses* are reads and
//! writes; trims and flushes are counted apart and are no part of sizes, footprint, sequentiality,
//! alignment, working set and concentration.

use flashscope_block::{Bytes, Nanos};
use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::Latency;

/// Version of the format of these facts.
pub const TRACE_SCHEMA_VERSION: u32 = 1;

/// The characteristics of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceFacts {
    /// Version of the format, [`TRACE_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What looks wrong with the trace, in words.
    pub doubts: Vec<Doubt>,
    /// Requests by operation.
    pub requests: Requests,
    /// Bytes by operation.
    pub bytes: ByteCounts,
    /// Reads over accesses; absent where there is no access.
    pub read_share: Option<f64>,
    /// Bytes read over bytes accessed; absent where there is no access.
    pub read_bytes_share: Option<f64>,
    /// When requests came.
    pub time: TimeFacts,
    /// Sizes of accesses; absent where there is none.
    pub sizes: Option<SizeFacts>,
    /// The pages touched.
    pub footprint: Footprint,
    /// Bytes written over the bytes of the distinct pages written: how often what is written is
    /// overwritten, 1 for never. Below 1 where writes are smaller than a page. Absent where nothing
    /// is written.
    pub overwrite_ratio: Option<Estimate>,
    /// Whether accesses follow each other in address.
    pub sequentiality: Option<Sequentiality>,
    /// How accesses lie to 4 KiB.
    pub alignment: Option<Alignment>,
    /// Times between successive requests; absent where there are fewer than two.
    pub inter_arrival: Option<InterArrival>,
    /// Requests in windows of several lengths, the shortest first. A length of which there are
    /// fewer than ten whole windows is left out.
    pub burstiness: Vec<Burstiness>,
    /// Bytes touched in a window of time against its length.
    pub working_set: Vec<WorkingSet>,
    /// How accesses concentrate on pages; absent where there is none.
    pub access_concentration: Option<Concentration>,
    /// How writes concentrate on the pages written; absent where there is none.
    pub write_concentration: Option<Concentration>,
    /// Writes against erase blocks; absent where there is none.
    pub write_lengths: Option<WriteLengths>,
    /// Latency of all requests that have one, then by operation; empty where the trace has none.
    pub latency: Vec<OpLatency>,
    /// How many volumes there are.
    pub volume_count: u64,
    /// The volumes, by bytes accessed; no more than [`super::MOST_VOLUMES`].
    pub volumes: Vec<VolumeFacts>,
    /// The trace over time.
    pub series: Series,
    /// Bytes by time and address.
    pub heat_map: HeatMap,
    /// On what the numbers of single pages rest.
    pub sampling: Sampling,
}

/// Something about a trace that should be looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// What kind of doubt it is, for programs.
    pub kind: DoubtKind,
    /// What was found, and what helps.
    pub text: String,
}

/// What can be doubtful about a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoubtKind {
    /// There is no request.
    Empty,
    /// Times go backwards.
    Backwards,
    /// All requests have the same time.
    NoTime,
    /// Times are whole seconds.
    WholeSeconds,
    /// Requests come faster than any drive takes them.
    Rate,
    /// The trace is longer than anyone records.
    Span,
    /// Offsets or sizes are no whole sectors.
    PartialSectors,
    /// Requests are larger than any drive takes them.
    LargeRequests,
    /// All requests are smaller than a sector.
    SmallRequests,
    /// Addresses lie beyond the largest volumes.
    Addresses,
    /// Most accesses are misaligned in the same way.
    Misaligned,
}

/// Requests by operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// All of them.
    pub total: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
}

/// Bytes by operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ByteCounts {
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
    /// Bytes trimmed.
    pub trimmed: Bytes,
}

/// When requests came.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeFacts {
    /// The time of the first request: since 1970 where the format says so, else on the clock of
    /// the trace.
    pub start_ns: Nanos,
    /// From the earliest request to the latest.
    pub span_ns: Nanos,
    /// Requests over the span; absent where that is zero.
    pub requests_per_s: Option<f64>,
    /// Bytes accessed over the span; absent where that is zero.
    pub bytes_per_s: Option<f64>,
    /// Requests whose time is before the latest one until then. Everything over time takes them as
    /// if they had come at that.
    pub backwards: u64,
    /// The number of the first such request, counted from 1.
    pub first_backwards: Option<u64>,
    /// The longest way back.
    pub longest_backwards_ns: Nanos,
}

/// Sizes of accesses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeFacts {
    /// Of reads and writes.
    pub all: SizeSummary,
    /// Of reads; absent where there is none.
    pub reads: Option<SizeSummary>,
    /// Of writes; absent where there is none.
    pub writes: Option<SizeSummary>,
    /// Accesses by the power of two that is not above their size.
    pub histogram: Vec<SizeBucket>,
    /// The most frequent sizes, the most frequent first.
    pub most_frequent: Vec<SizeBucket>,
    /// How many different sizes there are.
    pub distinct: u64,
    /// Accesses whose size was rounded down by less than 1 % for the quantiles, because there are
    /// more different sizes than are kept.
    pub rounded: u64,
}

/// A distribution of sizes, in bytes. Quantiles are exact, but for what is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub min: Bytes,
    /// A tenth is not above this.
    pub p10: Bytes,
    /// A quarter is not above this.
    pub p25: Bytes,
    /// Median.
    pub p50: Bytes,
    /// Three quarters are not above this.
    pub p75: Bytes,
    /// 90 % are not above this.
    pub p90: Bytes,
    /// 99 % are not above this.
    pub p99: Bytes,
    /// Largest.
    pub max: Bytes,
}

/// Accesses of a size, or from one power of two to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeBucket {
    /// The size, or the least of the bucket.
    pub size_bytes: Bytes,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// The distinct pages of 4 KiB touched, whole or in part. Where interval and value are the same,
/// the number is exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Footprint {
    /// Size of a page.
    pub page_bytes: Bytes,
    /// Pages read or written.
    pub accessed_pages: Estimate,
    /// Bytes of those.
    pub accessed_bytes: Estimate,
    /// Pages written.
    pub written_pages: Estimate,
    /// Bytes of those.
    pub written_bytes: Estimate,
    /// Pages trimmed, whole or in part; absent where they were too many to be counted.
    pub trimmed_pages: Option<u64>,
    /// The highest byte addressed in any volume, plus one, trims included.
    pub highest_end: Bytes,
}

/// Whether accesses follow each other: one is sequential if it begins where the last access of the
/// same volume ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sequentiality {
    /// Sequential accesses over accesses.
    pub sequential_share: f64,
    /// Sequences of accesses each of which begins where the one before ended, single ones included.
    pub runs: u64,
    /// Accesses to a run, on average.
    pub mean_run_requests: f64,
    /// Bytes to a run, on average.
    pub mean_run_bytes: f64,
}

/// How accesses lie to 4 KiB and to sectors of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alignment {
    /// Accesses by LBA mod 8, the LBA counting sectors of 512 bytes.
    pub lba_mod_8: [u64; 8],
    /// Accesses that begin or end within a page of 4 KiB, over accesses.
    pub unaligned_share: f64,
    /// Accesses that begin or end within a sector.
    pub partial_sectors: u64,
    /// That most accesses are misaligned in the same way; absent where they are not.
    pub misalignment: Option<Misalignment>,
}

/// Most accesses are misaligned in the same way, as where a partition begins at sector 63: Agrawal
/// et al. (USENIX ATC 2008, section 4) found LBA mod 8 = 7 throughout in TPC-C.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Misalignment {
    /// LBA mod 8 of these accesses, 1 to 7.
    pub lba_mod_8: u8,
    /// Their share of all accesses.
    pub share: f64,
    /// What to add to every offset to mend it.
    pub shift_bytes: Bytes,
}

/// Times between successive requests, in nanoseconds; 0 where the time goes backwards. Quantiles
/// are within 0.1 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterArrival {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation over the mean: 1 for a Poisson process; absent where the mean is 0.
    pub coefficient_of_variation: Option<f64>,
    /// Shortest.
    pub min: u64,
    /// A tenth is not above this.
    pub p10: u64,
    /// Median.
    pub p50: u64,
    /// 90 % are not above this.
    pub p90: u64,
    /// 99 % are not above this.
    pub p99: u64,
    /// 99.9 % are not above this.
    pub p999: u64,
    /// Longest.
    pub max: u64,
    /// How many by the power of two that is not above them; those of 0 begin at 0.
    pub histogram: Vec<TimeBucket>,
}

/// How many times lie from one power of two to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeBucket {
    /// The least of the bucket.
    pub from_ns: Nanos,
    /// How many.
    pub count: u64,
}

/// Requests in windows of one length, of which all whole ones of the trace count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Burstiness {
    /// Length of a window.
    pub window_ns: Nanos,
    /// How many windows.
    pub windows: u64,
    /// Most requests in a window.
    pub peak_requests: u64,
    /// Those over the mean of all windows.
    pub peak_to_mean: f64,
    /// Index of dispersion for counts: variance over mean of the requests in a window (Gusella,
    /// IEEE JSAC 9, 1991). 1 at every length for a Poisson process; it grows with the length
    /// where bursts cluster.
    pub index_of_dispersion: f64,
}

/// The average working set for one length of window: the mean, over all instants of the trace, of
/// the bytes of the pages accessed in the window that ends there (Denning & Slutz, CACM 21, 1978).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// Length of the window.
    pub window_ns: Nanos,
    /// Bytes, with the 95 % interval that sampling leaves; exact where it has no width.
    pub bytes: Estimate,
}

/// How requests concentrate on pages of 4 KiB. A request of several pages counts once for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Concentration {
    /// The share of all that goes to the hottest 1, 5, 10, 20 and 50 % of the pages.
    pub hottest: Vec<HotShare>,
    /// The Lorenz curve, from the hottest page on.
    pub curve: Vec<LorenzPoint>,
}

/// What goes to the hottest pages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotShare {
    /// The hottest pages, as a share of the pages.
    pub pages: f64,
    /// What goes to them, as a share of all, with the 95 % interval that sampling leaves.
    pub share: Estimate,
}

/// A point of a Lorenz curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LorenzPoint {
    /// Share of the pages, the hottest first.
    pub pages: f64,
    /// Share of all that goes to them.
    pub share: f64,
}

/// Writes against erase blocks, in the terms of Boboila & Desnoyers (2011, section III and Fig.
/// 1): the part of a write in one erase block is a *middle* if it is the whole block, else a *tail*
/// if it begins the block, else a *head*.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteLengths {
    /// Size of a page: what of it is written in part counts as a whole.
    pub page_bytes: Bytes,
    /// Size of an erase block.
    pub block_bytes: Bytes,
    /// Each request for itself, as the paper has it.
    pub requests: Fragments,
    /// Consecutive writes joined: each sequence of writes of a volume, of which each begins where
    /// the last one ended, is one write. What a drive sees that joins them.
    pub joined: Fragments,
}

/// The fragments of writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fragments {
    /// How many writes were divided.
    pub writes: u64,
    /// The paper's *w*: the mean length of a write, in pages.
    pub mean_pages: f64,
    /// Heads.
    pub head: Fragment,
    /// Middles.
    pub middle: Fragment,
    /// Tails.
    pub tail: Fragment,
    /// Writes by the power of two that is not above their length.
    pub histogram: Vec<LengthBucket>,
}

/// The fragments of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Fragment {
    /// How many.
    pub count: u64,
    /// Their pages.
    pub pages: u64,
}

/// How many writes have from one power of two to the next pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LengthBucket {
    /// The least of the bucket, in pages.
    pub from_pages: u64,
    /// How many writes.
    pub writes: u64,
}

/// Latencies of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpLatency {
    /// The operation; absent for all together.
    pub op: Option<flashscope_block::Op>,
    /// How many requests have a latency.
    pub requests: u64,
    /// The latencies.
    pub latency_ns: Latency,
}

/// A volume of the trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeFacts {
    /// Its name.
    pub name: String,
    /// Requests by operation.
    pub requests: Requests,
    /// Bytes by operation.
    pub bytes: ByteCounts,
    /// Distinct bytes of pages accessed; absent where pages were too many to be counted.
    pub accessed_bytes: Option<Bytes>,
    /// Distinct bytes of pages written; absent where pages were too many to be counted.
    pub written_bytes: Option<Bytes>,
    /// Sequential accesses over accesses; absent where there is none.
    pub sequential_share: Option<f64>,
    /// The highest byte addressed, plus one.
    pub highest_end: Bytes,
    /// That most accesses are misaligned in the same way.
    pub misalignment: Option<Misalignment>,
}

/// The trace over time, in steps of one length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of a step.
    pub step_ns: Nanos,
    /// The steps, from the first request on; at most 400.
    pub steps: Vec<Step>,
}

/// A step of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Requests by operation.
    pub requests: Requests,
    /// Bytes by operation.
    pub bytes: ByteCounts,
    /// Distinct bytes of pages accessed from the start to the end of this step.
    pub accessed_bytes: Bytes,
    /// Distinct bytes of pages written from the start to the end of this step.
    pub written_bytes: Bytes,
}

/// Bytes by time and address. Where there are several volumes, they lie over each other: an address
/// is one in its volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeatMap {
    /// Length of a column.
    pub column_ns: Nanos,
    /// Height of a row.
    pub row_bytes: Bytes,
    /// How many rows.
    pub rows: u32,
    /// Bytes read: the rows of the first column, from address 0 on, then those of the next.
    pub read: Vec<u64>,
    /// Bytes written, in the same order.
    pub written: Vec<u64>,
}

/// On what the numbers of single pages rest: working set and concentration, and the footprint where
/// it is not exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// The share of groups of pages that were followed, chosen by a hash of their address: 1 for
    /// all (SHARDS, Waldspurger et al., FAST 2015).
    pub rate: f64,
    /// How many adjacent pages are chosen together.
    pub group_pages: u32,
    /// Groups that were followed at the end.
    pub groups: u64,
    /// The accesses to pages that the sample stands for, over those that there were: as far as this
    /// is from 1, single hot pages are missing in the sample, or too many.
    pub coverage: Option<f64>,
    /// Accesses larger than 1 GiB, of which only that much counts for pages.
    pub cut: u64,
}
