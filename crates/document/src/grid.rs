//! What uniform writes come to by their mean length and by the free space that they have: the
//! measurements that Boboila and Desnoyers interpolate ("Performance Models of Flash-Based Solid-State
//! Drives for Real Workloads", MSST 2011, section IV).

use flashscope_block::{Bytes, DeviceInfo};
use flashscope_stats::Estimate;
use flashscope_workload::pattern::UniformWrites;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::Tool;

/// Version of the format of `grid.json`.
pub const GRID_SCHEMA_VERSION: u32 = 1;

/// IOs in a window at least, on average.
const LEAST_WINDOW_IOS: u64 = 512;

/// How the runs of a grid are measured. Each writes until the drive has become used to it: until what a
/// byte comes to is level over several windows of writes; only then IOs count. In a window half of the
/// flash that these writes may take is written once, the target space and the free space.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GridRule {
    /// The unit of lengths and places.
    #[serde(rename = "page_bytes")]
    pub page: Bytes,
    /// What the flash of the drive holds beyond the capacity of the drive.
    #[serde(rename = "free_bytes")]
    pub free: Bytes,
    /// How many windows are looked at together.
    pub windows: u32,
    /// How far the largest value of these windows may be from the smallest, relative to their mean.
    #[schemars(range(min = 0.0))]
    pub range: f64,
    /// How far the line fitted to them may rise or fall, relative to their mean.
    #[schemars(range(min = 0.0))]
    pub slope: f64,
    /// After so many windows IOs count in any case.
    pub most_windows: u32,
    /// So many windows count at least.
    pub least_counted: u32,
    /// A run ends when so many have counted, however well it knows its mean.
    pub most_counted: u32,
}

impl GridRule {
    /// The free space relative to what `writes` go to.
    #[allow(clippy::cast_precision_loss)] // far below 2^53 bytes
    pub fn free_space(&self, writes: &UniformWrites) -> f64 {
        self.free.0 as f64 / writes.target_size.0 as f64
    }

    /// Bytes in a window of `writes`.
    pub fn window(&self, writes: &UniformWrites) -> Bytes {
        let half = writes.target_size.0.saturating_add(self.free.0) / 2;
        Bytes(half.max(LEAST_WINDOW_IOS.saturating_mul(writes.mean_bytes().0)))
    }

    /// Writes in so many windows, on average.
    pub fn ios_in(&self, windows: u32, writes: &UniformWrites) -> u64 {
        let bytes = self.window(writes).0.saturating_mul(windows.into());
        bytes.div_ceil(writes.mean_bytes().0.max(1))
    }
}

/// How the drive stood when the IOs of a run began to count, and what it did inside since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Whether what a byte came to was level.
    pub steady: bool,
    /// What the drive did while the IOs that count were done; absent where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Inside>,
}

/// What a drive did inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inside {
    /// What a block of its flash holds.
    pub block_bytes: Bytes,
    /// Blocks that it erased.
    pub erasures: u64,
    /// Bytes that it programmed.
    pub programmed_bytes: Bytes,
}

/// `grid.json`: what was measured, a point for each run that came to one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grid {
    /// Version of the format, [`GRID_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program that measured.
    pub tool: Tool,
    /// The drive.
    pub device: DeviceInfo,
    /// The unit of lengths and places.
    #[serde(rename = "page_bytes")]
    pub page: Bytes,
    /// What a block of the flash holds; absent where the drive does not tell.
    #[serde(rename = "block_bytes", default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    /// What the flash holds in all: what is beyond the capacity of the drive is its free space.
    #[serde(rename = "physical_capacity_bytes")]
    pub physical_capacity: Bytes,
    /// By rising length, and then by falling free space. Where a budget ended it, some are missing.
    pub points: Vec<GridPoint>,
}

/// What uniform writes of one mean length came to with one amount of free space.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GridPoint {
    /// The mean length of a write in pages, 1 or more; lengths are geometric.
    pub mean_len: u32,
    /// The space that was written, from the start of the space that may be used.
    #[serde(rename = "target_bytes")]
    pub target: Bytes,
    /// The free space of the drive relative to the space that was written.
    pub free_space: f64,
    /// The run.
    pub run: u32,
    /// IOs that count, all after the drive had become used to these writes.
    pub ios: u64,
    /// Pages that they wrote.
    pub pages: u64,
    /// Response time for each page written, in ns.
    #[serde(rename = "per_page_ns")]
    pub per_page: Estimate,
    /// Blocks erased for each page written; absent where the drive does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasures_per_page: Option<f64>,
    /// Bytes programmed for each byte written; absent where the drive does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// Whether what the writes came to was level before those that count.
    pub steady: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Has a window bytes where a manifest of somebody else tells of more free space than there can be?
    #[test]
    fn more_free_space_than_fits() {
        let rule = GridRule {
            page: Bytes::kib(4),
            free: Bytes(u64::MAX),
            windows: 4,
            range: 0.2,
            slope: 0.1,
            most_windows: 40,
            least_counted: 4,
            most_counted: 40,
        };
        let writes = UniformWrites {
            page: rule.page,
            mean_len: 1,
            target_offset: Bytes(0),
            target_size: Bytes::mib(64),
            io_count: 1000,
            io_ignore: 0,
            seed: 1,
        };
        assert_eq!(rule.window(&writes), Bytes(u64::MAX / 2));
    }
}
