//! The kernel's limits on the length of a command, from sysfs.

use std::path::Path;

use crate::hardware::text;

/// The size of a memory page in bytes. In the worst case, a segment of a transfer covers only one
/// page.
const PAGE: u64 = 4096;

/// Returns the length in bytes up to which an IO fits into one command, `None` without a limit. The
/// sysfs attribute `name` limits the length in KiB, and `max_segments` the number of segments. Each
/// page of memory may need a segment.
pub(crate) fn longest_command(disk: &Path, name: &str) -> Option<u64> {
    let limit = |name: &str, unit: u64| {
        let count: u64 = text(&disk.join("queue").join(name))?.parse().ok()?;
        Some(count * unit)
    };
    [limit(name, 1024), limit("max_segments", PAGE)].into_iter().flatten().min()
}
