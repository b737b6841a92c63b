//! The statistics of a trace, as shown by `flashscope trace stat`.
//!
//! Times count from the first request of the trace, in nanoseconds. *Accesses* are reads and
//! writes. Trims and flushes are counted separately, and do not contribute to sizes, footprint,
//! sequentiality, alignment, working set and concentration.

use flashscope_block::{Bytes, Nanos};
use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::Latency;

/// The version of the format of [`TraceFacts`].
pub const TRACE_SCHEMA_VERSION: u32 = 1;

/// The output of `flashscope trace stat --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// The files read.
    pub inputs: Vec<String>,
    /// The format of each file.
    pub formats: Vec<String>,
    /// The outcome: read to its end or interrupted.
    pub status: TraceStatus,
    /// The number of skipped lines and records, which could not be read.
    pub bad_lines_skipped: u64,
    /// Notes about reading the files, and about the changes made to the trace.
    pub notes: Vec<String>,
    /// The characteristics.
    pub facts: TraceFacts,
}

/// The ways in which the reading of a trace ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceStatus {
    /// The trace was read to its end.
    Complete,
    /// The user interrupted the reading; the facts cover the requests read until then.
    Interrupted,
}

/// The characteristics of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceFacts {
    /// The version of the format, [`TRACE_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The warnings about the trace, as text.
    pub doubts: Vec<Doubt>,
    /// The requests by operation.
    pub requests: Requests,
    /// The bytes by operation.
    pub bytes: ByteCounts,
    /// Reads over accesses; absent if there are no accesses.
    pub read_share: Option<f64>,
    /// Bytes read over bytes accessed; absent if there are no accesses.
    pub read_bytes_share: Option<f64>,
    /// The times of the requests.
    pub time: TimeFacts,
    /// The sizes of accesses; absent if there are none.
    pub sizes: Option<SizeFacts>,
    /// The pages touched.
    pub footprint: Footprint,
    /// Bytes written, divided by the bytes of the distinct pages written. It is the mean number of
    /// times that a page is written: 1 without overwriting, and below 1 if writes are smaller than
    /// a page. Absent if nothing is written.
    pub overwrite_ratio: Option<Estimate>,
    /// The sequentiality of accesses.
    pub sequentiality: Option<Sequentiality>,
    /// The alignment of accesses to 4 KiB.
    pub alignment: Option<Alignment>,
    /// The times between successive requests; absent if there are fewer than two.
    pub inter_arrival: Option<InterArrival>,
    /// The requests in windows of several lengths, the shortest first. Lengths with fewer than ten
    /// complete windows are omitted.
    pub burstiness: Vec<Burstiness>,
    /// The average working set, by length of the time window.
    pub working_set: Vec<WorkingSet>,
    /// The concentration of accesses on pages; absent if there are none.
    pub access_concentration: Option<Concentration>,
    /// The concentration of writes on the pages written; absent if there are none.
    pub write_concentration: Option<Concentration>,
    /// The writes, split at the boundaries of erase blocks; absent if there are no writes.
    pub write_lengths: Option<WriteLengths>,
    /// The latencies of all operations together, then of each operation; empty if the trace has no
    /// latencies.
    pub latency: Vec<OpLatency>,
    /// The number of volumes.
    pub volume_count: u64,
    /// The volumes with the most bytes accessed, in falling order; at most 1,000.
    pub volumes: Vec<VolumeFacts>,
    /// The trace over time.
    pub series: Series,
    /// The bytes by time and address.
    pub heat_map: HeatMap,
    /// The sample of pages from which the statistics of single pages are estimated.
    pub sampling: Sampling,
}

/// A warning about a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// The kind of warning, for programs.
    pub kind: DoubtKind,
    /// The problem, and a remedy.
    pub text: String,
}

/// The kinds of warnings about a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoubtKind {
    /// There are no requests.
    Empty,
    /// Times go backwards.
    Backwards,
    /// All requests have the same time.
    NoTime,
    /// Times are whole seconds.
    WholeSeconds,
    /// Requests arrive faster than any drive, or any disk or SATA drive, can serve them.
    Rate,
    /// The trace is implausibly long.
    Span,
    /// Offsets or sizes are not whole sectors.
    PartialSectors,
    /// Requests are larger than 1 GiB, which operating systems would split.
    LargeRequests,
    /// All requests are smaller than a sector.
    SmallRequests,
    /// Addresses exceed the size of any real volume.
    Addresses,
    /// Most accesses are misaligned in the same way.
    Misaligned,
}

/// The requests by operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// All requests.
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

/// The bytes by operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ByteCounts {
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
    /// Bytes trimmed.
    pub trimmed: Bytes,
}

/// The times of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeFacts {
    /// The time of the first request: since 1970 if the format has absolute times, or else on the
    /// clock of the trace.
    pub start_ns: Nanos,
    /// The time from the earliest request to the latest.
    pub span_ns: Nanos,
    /// Requests per second of the span; absent if the span is zero.
    pub requests_per_s: Option<f64>,
    /// Bytes accessed per second of the span; absent if the span is zero.
    pub bytes_per_s: Option<f64>,
    /// Requests whose time is earlier than that of a previous request. Statistics over time use the
    /// latest time so far for such a request.
    pub backwards: u64,
    /// The number of the first such request, from 1.
    pub first_backwards: Option<u64>,
    /// The largest step backwards.
    pub longest_backwards_ns: Nanos,
}

/// The sizes of accesses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeFacts {
    /// The sizes of reads and writes.
    pub all: SizeSummary,
    /// The sizes of reads; absent if there are none.
    pub reads: Option<SizeSummary>,
    /// The sizes of writes; absent if there are none.
    pub writes: Option<SizeSummary>,
    /// Accesses by the power of two at or below their size.
    pub histogram: Vec<SizeBucket>,
    /// The most frequent sizes, the most frequent first.
    pub most_frequent: Vec<SizeBucket>,
    /// The number of different sizes.
    pub distinct: u64,
    /// Accesses whose size was rounded down by less than 1 % for the quantiles. Sizes are rounded
    /// if the trace has more different sizes than the statistics can record separately.
    pub rounded: u64,
}

/// A distribution of sizes, in bytes. Quantiles are exact, except for rounded sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSummary {
    /// The arithmetic mean.
    pub mean: f64,
    /// The smallest size.
    pub min: Bytes,
    /// The 10th percentile.
    pub p10: Bytes,
    /// The 25th percentile.
    pub p25: Bytes,
    /// The median.
    pub p50: Bytes,
    /// The 75th percentile.
    pub p75: Bytes,
    /// The 90th percentile.
    pub p90: Bytes,
    /// The 99th percentile.
    pub p99: Bytes,
    /// The largest size.
    pub max: Bytes,
}

/// The accesses of one size, or of all sizes from one power of two to below the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeBucket {
    /// The size, or the smallest size of the bucket.
    pub size_bytes: Bytes,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// The distinct pages of 4 KiB touched, completely or in part. A number is exact if its interval
/// has no width.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Footprint {
    /// The size of a page.
    pub page_bytes: Bytes,
    /// Pages read or written.
    pub accessed_pages: Estimate,
    /// The bytes of the pages read or written.
    pub accessed_bytes: Estimate,
    /// Pages written.
    pub written_pages: Estimate,
    /// The bytes of the pages written.
    pub written_bytes: Estimate,
    /// Pages trimmed, completely or in part; absent if there were too many to count.
    pub trimmed_pages: Option<u64>,
    /// The highest byte addressed in any volume, plus one, trims included.
    pub highest_end: Bytes,
}

/// The sequentiality of accesses: an access is sequential if it begins where the last access of the
/// same volume ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sequentiality {
    /// Sequential accesses over accesses.
    pub sequential_share: f64,
    /// The number of runs. A run is a sequence of accesses in which each access begins where the
    /// previous access ended. An access that is not part of a longer sequence is a run of one
    /// access.
    pub runs: u64,
    /// The mean number of accesses in a run.
    pub mean_run_requests: f64,
    /// The mean number of bytes in a run.
    pub mean_run_bytes: f64,
}

/// The alignment of accesses to 4 KiB and to sectors of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alignment {
    /// Accesses by LBA mod 8. An LBA is the number of a sector of 512 bytes.
    pub lba_mod_8: [u64; 8],
    /// The share of accesses that begin or end inside a page of 4 KiB, not at its boundary.
    pub unaligned_share: f64,
    /// Accesses that begin or end inside a sector, not at its boundary.
    pub partial_sectors: u64,
    /// The misalignment that most accesses share; absent if there is none.
    pub misalignment: Option<Misalignment>,
}

/// A misalignment that most accesses share, for instance if a partition begins at sector 63.
/// Agrawal et al. (USENIX ATC 2008, section 4) found LBA mod 8 = 7 throughout in TPC-C.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Misalignment {
    /// The LBA mod 8 of these accesses, 1 to 7.
    pub lba_mod_8: u8,
    /// Their share of all accesses.
    pub share: f64,
    /// The shift to add to every offset for alignment.
    pub shift_bytes: Bytes,
}

/// The times between successive requests, in nanoseconds; 0 where the time goes backwards.
/// Quantiles are accurate to within 0.1 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterArrival {
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation divided by the mean; 1 for a Poisson process. Absent if the mean is
    /// 0.
    pub coefficient_of_variation: Option<f64>,
    /// The shortest time.
    pub min: u64,
    /// The 10th percentile.
    pub p10: u64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The longest time.
    pub max: u64,
    /// The histogram of the times. A bucket covers the times from one power of two to below the
    /// next; the bucket from 0 counts times of 0.
    pub histogram: Vec<TimeBucket>,
}

/// A bucket of the histogram of times between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeBucket {
    /// The shortest time of the bucket: 0 or a power of two.
    pub from_ns: Nanos,
    /// The number of pairs of successive requests with such a time between them.
    pub count: u64,
}

/// The requests in the complete windows of one length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Burstiness {
    /// The length of a window.
    pub window_ns: Nanos,
    /// The number of windows.
    pub windows: u64,
    /// The maximum number of requests in a window.
    pub peak_requests: u64,
    /// The peak divided by the mean of all windows.
    pub peak_to_mean: f64,
    /// The index of dispersion for counts: variance over mean of the requests in a window (Gusella,
    /// IEEE JSAC 9, 1991). It is 1 at every length for a Poisson process, and grows with the length
    /// if bursts cluster.
    pub index_of_dispersion: f64,
}

/// The average working set for one length of window, over all instants of the trace. The working
/// set at an instant is the bytes of the pages accessed in the window that ends then (Denning &
/// Slutz, CACM 21, 1978).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// The length of the window.
    pub window_ns: Nanos,
    /// The bytes, with the 95 % sampling interval; exact if it has no width.
    pub bytes: Estimate,
}

/// The concentration of requests on pages of 4 KiB. A request counts once for each page that it
/// touches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Concentration {
    /// The shares of all requests that go to the hottest 1, 5, 10, 20 and 50 % of the pages.
    pub hottest: Vec<HotShare>,
    /// The Lorenz curve, from the hottest page on.
    pub curve: Vec<LorenzPoint>,
}

/// The share of requests that go to the hottest pages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotShare {
    /// The number of these hottest pages, as a share of all pages.
    pub pages: f64,
    /// Their share of all requests, with the 95 % sampling interval.
    pub share: Estimate,
}

/// A point of a Lorenz curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LorenzPoint {
    /// The share of the pages, the hottest first.
    pub pages: f64,
    /// Their share of all requests.
    pub share: f64,
}

/// The writes, split at the boundaries of erase blocks, in the terms of Boboila & Desnoyers (2011,
/// section III and Fig. 1). The part of a write in one erase block is a *middle* if it covers the
/// block completely. A part that covers less is a *tail* if it starts at the beginning of the
/// block, and a *head* if it starts later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteLengths {
    /// The size of a page; a partly written page counts as a complete page.
    pub page_bytes: Bytes,
    /// The size of an erase block.
    pub block_bytes: Bytes,
    /// The parts of each request separately, as in the paper.
    pub requests: Fragments,
    /// The parts of joined writes, as in a drive with write coalescing. Successive writes of a
    /// volume count as one write if each write begins where the previous write ended.
    pub joined: Fragments,
}

/// The fragments of writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fragments {
    /// The number of writes.
    pub writes: u64,
    /// The mean length of a write in pages, *w* in the paper.
    pub mean_pages: f64,
    /// The heads.
    pub head: Fragment,
    /// The middles.
    pub middle: Fragment,
    /// The tails.
    pub tail: Fragment,
    /// The histogram of the lengths of writes, with a bucket from each power of two to below the
    /// next.
    pub histogram: Vec<LengthBucket>,
}

/// The fragments of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Fragment {
    /// The number of fragments.
    pub count: u64,
    /// The pages of the fragments.
    pub pages: u64,
}

/// A bucket of the histogram of write lengths: from a power of two to below the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LengthBucket {
    /// The shortest length of the bucket, in pages.
    pub from_pages: u64,
    /// The number of writes.
    pub writes: u64,
}

/// The latencies of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpLatency {
    /// The operation; absent for all operations together.
    pub op: Option<flashscope_block::Op>,
    /// The number of requests with a latency.
    pub requests: u64,
    /// The latencies.
    pub latency_ns: Latency,
}

/// A volume of the trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeFacts {
    /// The name.
    pub name: String,
    /// The requests by operation.
    pub requests: Requests,
    /// The bytes by operation.
    pub bytes: ByteCounts,
    /// The bytes of the distinct pages accessed; absent if there were too many pages to count.
    pub accessed_bytes: Option<Bytes>,
    /// The bytes of the distinct pages written; absent if there were too many pages to count.
    pub written_bytes: Option<Bytes>,
    /// Sequential accesses over accesses; absent if there are none.
    pub sequential_share: Option<f64>,
    /// The highest byte addressed, plus one.
    pub highest_end: Bytes,
    /// The misalignment that most accesses share.
    pub misalignment: Option<Misalignment>,
}

/// The trace over time, in steps of equal length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The length of a step.
    pub step_ns: Nanos,
    /// The steps, from the first request on; at most 400.
    pub steps: Vec<Step>,
}

/// A step of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The requests by operation.
    pub requests: Requests,
    /// The bytes by operation.
    pub bytes: ByteCounts,
    /// The bytes of the distinct pages accessed from the start of the trace to the end of this
    /// step.
    pub accessed_bytes: Bytes,
    /// The bytes of the distinct pages written from the start of the trace to the end of this step.
    pub written_bytes: Bytes,
}

/// The bytes by time and address. Several volumes overlap: an address is relative to its volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeatMap {
    /// The length of a column.
    pub column_ns: Nanos,
    /// The height of a row.
    pub row_bytes: Bytes,
    /// The number of rows.
    pub rows: u32,
    /// Bytes read: the rows of the first column, from address 0 on, then those of the next columns.
    pub read: Vec<u64>,
    /// Bytes written, in the same order.
    pub written: Vec<u64>,
}

/// The sample of pages from which the working set and the concentration are estimated, and the
/// footprint if it is not exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// The share of page groups in the sample, from 0 to 1; 1 if the sample contains all. A hash of
    /// the address decides whether a group belongs to the sample (SHARDS, Waldspurger et al., FAST
    /// 2015).
    pub rate: f64,
    /// The number of adjacent pages in a group.
    pub group_pages: u32,
    /// The number of groups in the sample at the end of the trace.
    pub groups: u64,
    /// The number of page accesses estimated from the sample, over the actual number. Its distance
    /// from 1 shows how far hot pages are under- or overrepresented in the sample.
    pub coverage: Option<f64>,
    /// Accesses larger than 1 GiB; page statistics count only their first GiB.
    pub cut: u64,
}
