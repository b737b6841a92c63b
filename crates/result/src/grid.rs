//! What uniform writes come to by their mean length and by the free space that they have: the
//! measurements that Boboila and Desnoyers interpolate ("Performance Models of Flash-Based Solid-State
//! Drives for Real Workloads", MSST 2011, section IV).

use flashscope_block::{Bytes, DeviceInfo};
use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::Tool;

/// Version of the format of `grid.json`.
pub const GRID_SCHEMA_VERSION: u32 = 1;

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
