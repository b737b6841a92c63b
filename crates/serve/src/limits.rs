//! The limits on the data that the server reads, keeps and sends.

use std::num::NonZero;
use std::time::Duration;

/// The maximum depth of results below the given folders.
pub(crate) const DEPTH: usize = 3;
/// The maximum number of results on the shelf. A scan leaves out further results, with a note.
pub(crate) const ITEMS: usize = 20_000;
/// The maximum number of folder entries that a scan reads.
pub(crate) const ENTRIES: usize = 200_000;

/// The maximum size of `manifest.json` in bytes: a plan of 1,400 runs takes less than 4 MiB.
pub(crate) const MANIFEST: u64 = 64 << 20;
/// The maximum size of `facts.json` in bytes.
pub(crate) const FACTS: u64 = 64 << 20;
/// The maximum size in bytes of `marks.json`, both in a result and from a client.
pub(crate) const MARKS: u64 = 1 << 20;

/// The maximum number of results that the server keeps open.
pub(crate) const OPEN: usize = 16;
/// The maximum number of results whose computed facts the server caches.
pub(crate) const COMPUTED_FACTS: usize = 64;
/// The maximum size of the cache of answers in bytes.
pub(crate) const ANSWERS: u64 = 64 << 20;

/// The maximum number of IOs that one search reads, which takes a few seconds.
pub(crate) const SEARCHED: u64 = 50_000_000;

/// The maximum number of results in one comparison.
pub(crate) const COMPARED: usize = 16;
/// The default number of results on one page of the shelf.
pub(crate) const PAGE: u64 = 100;
/// The maximum number of results on one page of the shelf.
pub(crate) const LARGEST_PAGE: u64 = 1000;

/// The maximum number of concurrent what-ifs; each what-if uses all processors.
pub(crate) const WHAT_IFS: usize = 2;
/// The maximum size of a what-if request in bytes.
pub(crate) const WHAT_IF: u64 = 64 << 10;
/// The maximum number of variants of a what-if.
pub(crate) const VARIANTS: u64 = 32;
/// The maximum number of simulations of each variant.
pub(crate) const REPEATS: u64 = 30;
/// The maximum number of IOs that a simulation of a what-if measures.
pub(crate) const WHAT_IF_IOS: u64 = 10_000_000;
/// The time limit of a what-if, after which it ends with the simulations done so far.
pub(crate) const WHAT_IF_TIME: Duration = Duration::from_secs(15 * 60);

/// The maximum number of concurrent connections.
pub(crate) const CONNECTIONS: usize = 512;
/// The time limit for the header of a request to arrive.
pub(crate) const HEAD_TIME: Duration = Duration::from_secs(10);
/// The time limit of a read-only request.
pub(crate) const READ_TIME: Duration = Duration::from_secs(60);
/// The time limit of a request that writes, whose body may be large.
pub(crate) const WRITE_TIME: Duration = Duration::from_secs(15 * 60);
/// The idle timeout. The server drops a client that stops reading its response, or sending its
/// request body, for this time.
pub(crate) const STUCK_TIME: Duration = Duration::from_secs(30);
/// The time after which a stopping server drops connections whose responses are not finished.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Returns the number of threads that can run in parallel.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}
