//! The latency monitor of data centre drives, decoded from its log page.

use flashscope_block::Op;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LogPage, Page};

/// The GUID of the page, 85D45E58-D4E6-4370-9C6C-84D08CC07A92, stored with its last byte first.
const GUID: u128 = 0x85D4_5E58_D4E6_4370_9C6C_84D0_8CC0_7A92;

/// The unit of the thresholds in milliseconds. A stored 0 means one unit.
const THRESHOLD_UNIT_MS: u32 = 5;

/// The bit of Latency Monitor Feature Status (byte 0) that is set while the monitor is enabled.
const ENABLED: u32 = 1;

/// The number of buckets.
const BUCKETS: usize = 4;

/// The drive's counts of slow commands: Latency Monitor (OCP Datacenter NVMe SSD Specification, log
/// identifier C3h).
///
/// The drive resets its active counters after a configurable time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyMonitor {
    /// The active counters of the four buckets, from the lowest latency. Empty while the monitor is
    /// disabled.
    pub buckets: Vec<LatencyBucket>,
}

/// The commands of a range of latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBucket {
    /// The lower end of the range in milliseconds; the next bucket begins at the upper end.
    pub at_least_ms: u32,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Deallocations, or trims.
    pub trims: u64,
}

impl LatencyBucket {
    /// Returns the operations with their counts.
    pub fn counts(&self) -> [(Op, u64); 3] {
        [(Op::Read, self.reads), (Op::Write, self.writes), (Op::Trim, self.trims)]
    }
}

impl LatencyMonitor {
    /// Decodes a page C3h. Returns `None` for a page without the GUID, which is vendor-specific.
    pub fn decode(page: &LogPage) -> Option<LatencyMonitor> {
        if !page.ends_with(&GUID.to_le_bytes()) {
            return None;
        }
        let page = Page(page);
        let bucket = |index: usize| {
            // Active Threshold A to D, from byte 6.
            let threshold = page.small(6 + index, 1);
            // Active Bucket Counter 0 to 3, from byte 32: reserved, trims, writes, reads.
            let count = |field: usize| page.number(32 + 16 * index + 4 * field, 4);
            LatencyBucket {
                at_least_ms: THRESHOLD_UNIT_MS * (threshold + 1),
                reads: count(3),
                writes: count(2),
                trims: count(1),
            }
        };
        let is_enabled = page.small(0, 1) & ENABLED != 0;
        Some(LatencyMonitor { buckets: (0..BUCKETS).filter(|_| is_enabled).map(bucket).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a page with the GUID and the given bytes.
    fn page(fields: &[(usize, &[u8])]) -> LogPage {
        let mut page = [0; 512];
        page[496..].copy_from_slice(&GUID.to_le_bytes());
        for (at, bytes) in fields {
            page[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        page
    }

    #[test]
    fn counters_and_thresholds_have_the_places_of_the_specification() {
        let page = page(&[
            (0, &[0xFF]),
            (6, &[0, 1, 9, 255]),
            (36, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 0, 0]),
            (92, &[0xFF, 0xFF, 0xFF, 0xFF]),
        ]);
        let monitor = LatencyMonitor::decode(&page).unwrap();
        let thresholds: Vec<u32> = monitor.buckets.iter().map(|one| one.at_least_ms).collect();
        assert_eq!(thresholds, [5, 10, 50, 1280]);
        let first = monitor.buckets[0];
        assert_eq!(first.counts(), [(Op::Read, 259), (Op::Write, 2), (Op::Trim, 1)]);
        assert_eq!(monitor.buckets[3].reads, u64::from(u32::MAX));
    }

    #[test]
    fn a_disabled_monitor_has_no_buckets() {
        let disabled = LatencyMonitor::decode(&page(&[(0, &[0xFE]), (44, &[3])]));
        assert_eq!(disabled, Some(LatencyMonitor { buckets: Vec::new() }));
    }

    #[test]
    fn pages_without_the_guid_are_not_decoded() {
        for byte in [0, 0xFF, 0xC3] {
            assert_eq!(LatencyMonitor::decode(&[byte; 512]), None);
        }
        let mut other = page(&[]);
        other[511] ^= 1;
        assert_eq!(LatencyMonitor::decode(&other), None);
    }
}
