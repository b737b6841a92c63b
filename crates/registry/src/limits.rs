//! Limits for submissions, requests and caches.

use std::num::NonZeroU32;

/// The largest manifest and facts of a submission together, in bytes of JSON.
pub(crate) const SUBMISSION: u64 = 32 << 20;
/// The largest simulation, in bytes of JSON; that of a 32 GB drive takes 1.3 MB.
pub const SIMULATION: u64 = 8 << 20;
/// The largest probe, in bytes of JSON; a complete one takes 0.7 MB, most of it charts.
pub const PROBE: u64 = 16 << 20;
/// The largest record file, in bytes; 4 million IOs take 20 MB, and 100 MB if they compress badly.
pub const PART: u64 = 128 << 20;
/// The record files of a submission together, in bytes.
pub const RECORDS: u64 = 4 << 30;
/// The largest number of record files in a submission.
pub const PARTS: usize = 20_000;
/// The largest number of IOs in a submission. [`RECORDS`] bytes hold that many at 4 bytes each.
/// Uniform records take less, but the check reads each one.
pub const IOS: u64 = 1 << 30;
/// The largest number of unfinished submissions of a token.
pub(crate) const STAGED: i64 = 8;
/// The age in seconds at which an unfinished submission expires.
pub(crate) const ABANDONED_S: i64 = 24 * 60 * 60;
/// The number of authorized requests that are received concurrently.
pub(crate) const RECEIVING: usize = 16;
/// The number of concurrent requests per token, which leaves permits for others however slowly it
/// sends.
pub(crate) const RECEIVING_OF_ONE: usize = 4;
/// The size of the cache of published record files on this machine, in bytes.
pub const CACHE: u64 = 4 << 30;
/// The number of results that are kept open.
pub const OPEN: usize = 64;
/// Requests per minute and token; a submission of 1,400 runs sends as many files.
pub(crate) const REQUESTS_PER_TOKEN_MINUTE: NonZeroU32 =
    NonZeroU32::new(3000).expect("it is not 0");
/// Requests per minute and address without a token; a page takes about 20, and several users may
/// share an address.
pub(crate) const REQUESTS_PER_ADDRESS_MINUTE: NonZeroU32 =
    NonZeroU32::new(3000).expect("it is not 0");
/// Unknown tokens per minute, over all clients.
pub(crate) const UNKNOWN_TOKENS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).expect("it is not 0");
/// The longest name of a result or a token, in characters.
pub const NAME: usize = 80;
/// The longest text of a result on the shelf, in characters.
pub const TEXT: usize = 1000;
/// The relative tolerance of a recomputed fact, because machines round differently.
pub const ROUNDING: f64 = 1e-6;
/// The relative resolution of a quantile, which is that of its histogram.
pub(crate) const QUANTILE: f64 = 0.001;
