//! The cost of uniform writes by mean length and free space. Boboila and Desnoyers interpolate
//! these measurements ("Performance Models of Flash-Based Solid-State Drives for Real
//! Workloads", MSST 2011, section IV).

use flashscope_block::{Bytes, DeviceInfo};
use flashscope_stats::Estimate;
use flashscope_workload::pattern::UniformWrites;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::Tool;

/// The version of the format of `grid.json`.
pub const GRID_SCHEMA_VERSION: u32 = 1;

/// The minimum number of IOs in a window, on average.
const MIN_WINDOW_IOS: u64 = 512;

/// The measurement rule of a grid. Each run writes until the drive is steady: until the cost per
/// byte is level over several windows of writes. IOs count from then on. A window is half of the
/// flash available to the writes (the target space plus the free space), but at least 512 IOs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GridRule {
    /// The unit of lengths and addresses.
    #[serde(rename = "page_bytes")]
    pub page: Bytes,
    /// The flash capacity beyond the drive's capacity.
    #[serde(rename = "free_bytes")]
    pub free: Bytes,
    /// The number of successive windows over which the cost must be level.
    pub windows: u32,
    /// The maximum range of the values in these windows, relative to their mean.
    #[schemars(range(min = 0.0))]
    pub range: f64,
    /// The maximum rise or fall of the line fitted to the values, relative to their mean.
    #[schemars(range(min = 0.0))]
    pub slope: f64,
    /// The number of windows after which IOs count even if the drive is not steady.
    pub most_windows: u32,
    /// The minimum number of windows whose IOs count.
    pub least_counted: u32,
    /// The maximum number of windows whose IOs count, whatever the uncertainty of the mean.
    pub most_counted: u32,
}

impl GridRule {
    /// Returns the free space relative to the target space of `writes`.
    #[allow(clippy::cast_precision_loss)] // a ratio tolerates rounding
    pub fn free_space(&self, writes: &UniformWrites) -> f64 {
        self.free.0 as f64 / writes.target_size.0 as f64
    }

    /// Returns the bytes in a window of `writes`.
    pub fn window(&self, writes: &UniformWrites) -> Bytes {
        let half = writes.target_size.0.saturating_add(self.free.0) / 2;
        Bytes(half.max(MIN_WINDOW_IOS.saturating_mul(writes.mean_bytes().0)))
    }

    /// Returns the average number of writes in this many windows.
    pub fn ios_in(&self, windows: u32, writes: &UniformWrites) -> u64 {
        let bytes = self.window(writes).0.saturating_mul(windows.into());
        bytes.div_ceil(writes.mean_bytes().0.max(1))
    }
}

/// The state of the drive at the first counted IO of a run, and its internal work since then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// True if the cost per byte was level when IOs began to count.
    pub steady: bool,
    /// The internal work of the drive during the counted IOs; absent if not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Inside>,
}

/// The internal work of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inside {
    /// The bytes in a flash block.
    pub block_bytes: Bytes,
    /// Blocks erased.
    pub erasures: u64,
    /// Bytes programmed.
    pub programmed_bytes: Bytes,
}

/// `grid.json`: the measured points, one for each successful run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grid {
    /// The version of the format, [`GRID_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program that measured.
    pub tool: Tool,
    /// The drive.
    pub device: DeviceInfo,
    /// The unit of lengths and addresses.
    #[serde(rename = "page_bytes")]
    pub page: Bytes,
    /// The bytes in a flash block; absent if the drive does not report it.
    #[serde(rename = "block_bytes", default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    /// The total flash capacity. The part beyond the drive's capacity is its free space.
    #[serde(rename = "physical_capacity_bytes")]
    pub physical_capacity: Bytes,
    /// The points by rising length, then by falling free space. Points are missing if a budget
    /// ended the measurement.
    pub points: Vec<GridPoint>,
}

/// The cost of uniform writes of one mean length with one amount of free space.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GridPoint {
    /// The mean length of a write in pages, 1 or more; lengths have a geometric distribution.
    pub mean_len: u32,
    /// The size of the space written, which begins at the start of the usable space.
    #[serde(rename = "target_bytes")]
    pub target: Bytes,
    /// The free space of the drive relative to the space written.
    pub free_space: f64,
    /// The run.
    pub run: u32,
    /// The number of counted IOs.
    pub ios: u64,
    /// Pages that the counted IOs wrote.
    pub pages: u64,
    /// Response time per page written, in ns.
    #[serde(rename = "per_page_ns")]
    pub per_page: Estimate,
    /// Blocks erased per page written; absent if the drive does not report erases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasures_per_page: Option<f64>,
    /// Bytes programmed per byte written; absent if the drive does not report programmed bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// True if the cost was level before the counted writes.
    pub steady: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    // The window size is positive even for a third-party manifest with an impossible free space.
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
