//! How much of anything is read, kept or sent: one place, so that it can be seen at a glance.

use std::num::NonZero;
use std::time::Duration;

/// Folders below one that was given in which results are looked for.
pub const DEPTH: usize = 3;
/// The most results on a shelf; others are left out, and it is said.
pub const ITEMS: usize = 20_000;
/// The most entries of folders that are looked at in one scan.
pub const ENTRIES: usize = 200_000;

/// The largest `manifest.json`, in bytes: a plan of 1,400 runs takes less than 4 MiB.
pub const MANIFEST: u64 = 64 << 20;
/// The largest `facts.json`, in bytes.
pub const FACTS: u64 = 64 << 20;
/// The largest `marks.json`, and the largest one that is accepted, in bytes.
pub const MARKS: u64 = 1 << 20;

/// Results that are kept open.
pub const OPEN: usize = 16;
/// Facts that had to be computed and are kept.
pub const COMPUTED_FACTS: usize = 64;
/// Bytes of answers that are kept.
pub const ANSWERS: u64 = 64 << 20;

/// Results in one comparison.
pub const COMPARED: usize = 16;
/// Results on one page of the shelf, unless asked for otherwise.
pub const PAGE: u64 = 100;
/// The most results on one page of the shelf.
pub const LARGEST_PAGE: u64 = 1000;

/// What-ifs that are answered at once: each takes all processors.
pub const WHAT_IFS: usize = 2;
/// The largest question of a what-if, in bytes.
pub const WHAT_IF: u64 = 64 << 10;
/// Variants of a what-if.
pub const VARIANTS: u64 = 32;
/// Simulations of each variant.
pub const REPEATS: u64 = 30;
/// IOs that a simulation of a what-if measures.
pub const WHAT_IF_IOS: u64 = 10_000_000;
/// How long a what-if may take; then it ends with what was simulated.
pub const WHAT_IF_TIME: Duration = Duration::from_secs(15 * 60);

/// Connections at once.
pub const CONNECTIONS: usize = 512;
/// How long the head of a request may take to arrive.
pub const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a request may take to be answered that changes nothing.
pub const READ_TIME: Duration = Duration::from_secs(60);
/// How long one may take that does: what is sent is large.
pub const WRITE_TIME: Duration = Duration::from_secs(15 * 60);
/// How long a client may take nothing of its answer, or send nothing more of what it sends: then it is given up.
pub const STUCK_TIME: Duration = Duration::from_secs(30);
/// How long answers that are under way are waited for when the server stops.
pub const GRACE: Duration = Duration::from_secs(5);

/// Threads that work at once.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}
