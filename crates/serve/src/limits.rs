//! All limits on what is read, kept or sent, in one place.

use std::num::NonZero;
use std::time::Duration;

/// The depth to which the given folders are searched for results.
pub const DEPTH: usize = 3;
/// The most results on a shelf. Others are left out, with a note.
pub const ITEMS: usize = 20_000;
/// The most folder entries that a scan reads.
pub(crate) const ENTRIES: usize = 200_000;

/// The largest `manifest.json`, in bytes: a plan of 1,400 runs takes less than 4 MiB.
pub const MANIFEST: u64 = 64 << 20;
/// The largest `facts.json`, in bytes.
pub const FACTS: u64 = 64 << 20;
/// The largest `marks.json`, and the largest one that is accepted, in bytes.
pub const MARKS: u64 = 1 << 20;

/// The number of results that are kept open.
pub const OPEN: usize = 16;
/// The number of computed facts that are kept.
pub(crate) const COMPUTED_FACTS: usize = 64;
/// Bytes of answers that are kept in the cache.
pub(crate) const ANSWERS: u64 = 64 << 20;

/// The most results in one comparison.
pub(crate) const COMPARED: usize = 16;
/// The default number of results on one page of the shelf.
pub const PAGE: u64 = 100;
/// The most results on one page of the shelf.
pub const LARGEST_PAGE: u64 = 1000;

/// The most what-ifs that run at once: each takes all processors.
pub(crate) const WHAT_IFS: usize = 2;
/// The largest what-if request, in bytes.
pub const WHAT_IF: u64 = 64 << 10;
/// The most variants of a what-if.
pub(crate) const VARIANTS: u64 = 32;
/// The most simulations of each variant.
pub const REPEATS: u64 = 30;
/// The most IOs that a simulation of a what-if measures.
pub(crate) const WHAT_IF_IOS: u64 = 10_000_000;
/// The time limit of a what-if; then it ends with the simulations done so far.
pub(crate) const WHAT_IF_TIME: Duration = Duration::from_secs(15 * 60);

/// The most connections at once.
pub(crate) const CONNECTIONS: usize = 512;
/// The time limit for the head of a request to arrive.
pub(crate) const HEAD_TIME: Duration = Duration::from_secs(10);
/// The time limit of a request that changes nothing.
pub(crate) const READ_TIME: Duration = Duration::from_secs(60);
/// The time limit of a request that changes something, whose body may be large.
pub(crate) const WRITE_TIME: Duration = Duration::from_secs(15 * 60);
/// The idle timeout: a client that neither reads its response nor sends more of its body for this long is dropped.
pub(crate) const STUCK_TIME: Duration = Duration::from_secs(30);
/// The time that open responses get to finish when the server stops.
pub const GRACE: Duration = Duration::from_secs(5);

/// Returns the number of threads that can work at once.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}
