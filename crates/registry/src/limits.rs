//! Limits for submissions, requests and caches.

use std::num::NonZeroU32;

/// The maximum size of a measurement in bytes of JSON: manifest and facts together.
pub(crate) const SUBMISSION: u64 = 32 << 20;
/// The maximum size of a simulation in bytes of JSON; the simulation of a 32 GB drive takes 1.3 MB.
pub(crate) const SIMULATION: u64 = 8 << 20;
/// The maximum size of a probe in bytes of JSON; a complete probe takes 0.7 MB, most of it charts.
pub(crate) const PROBE: u64 = 16 << 20;
/// The maximum size of a record file in bytes; records of 4 million IOs take 20 MB, or 100 MB if
/// they compress badly.
pub(crate) const PART: u64 = 128 << 20;
/// The maximum total size of the record files of a submission in bytes.
pub(crate) const RECORDS: u64 = 4 << 30;
/// The maximum number of record files in a submission.
pub(crate) const PARTS: usize = 20_000;
/// The maximum number of IOs in a submission: [`RECORDS`] divided by 4 bytes per record. Records of
/// uniform IOs take fewer bytes, and need this limit because the check reads each record.
pub(crate) const IOS: u64 = 1 << 30;
/// The maximum number of unfinished submissions of a token.
pub(crate) const STAGED: i64 = 8;
/// The age in seconds at which an unfinished submission expires.
pub(crate) const ABANDONED_S: i64 = 24 * 60 * 60;
/// The maximum number of concurrent requests with a token, over all tokens.
pub(crate) const RECEIVING: usize = 16;
/// The maximum number of concurrent requests per token. A slow sender therefore leaves permits for
/// other tokens.
pub(crate) const RECEIVING_OF_ONE: usize = 4;
/// The maximum size of the cache of published record files on this machine in bytes.
pub(crate) const CACHE: u64 = 4 << 30;
/// The maximum number of results that the registry keeps open.
pub(crate) const OPEN: usize = 64;
/// The maximum number of requests per minute and token; a submission of 1,400 runs sends at least
/// 1,400 files.
pub(crate) const REQUESTS_PER_TOKEN_MINUTE: NonZeroU32 =
    NonZeroU32::new(3000).expect("it is not 0");
/// The maximum number of requests without a token per minute and address. A page causes about 20
/// requests, and several users may share an address.
pub(crate) const REQUESTS_PER_ADDRESS_MINUTE: NonZeroU32 =
    NonZeroU32::new(3000).expect("it is not 0");
/// The maximum number of requests with unknown tokens per minute, over all clients.
pub(crate) const UNKNOWN_TOKENS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).expect("it is not 0");
/// The maximum length of the name of a result or a token in characters.
pub(crate) const NAME: usize = 80;
/// The maximum length of a text in the list of results in characters.
pub(crate) const TEXT: usize = 1000;
/// The relative tolerance when a recomputed fact is compared, because machines round differently.
pub(crate) const ROUNDING: f64 = 1e-6;
/// The relative resolution of a quantile, which equals the resolution of the histogram behind it.
pub(crate) const QUANTILE: f64 = 0.001;
