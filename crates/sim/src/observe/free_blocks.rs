use flashscope_block::{Device, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Curve, Kind, Observer, Relocation};
use crate::SimDevice;

pub(super) const KIND: Kind = Kind {
    name: "free_blocks",
    summary: "how many erased blocks the drive has left for writes",
    yields: "the minimum, in each lane and in all lanes together, and a curve of minimum and \
             maximum over time",
};

/// The maximum number of buckets of a curve.
const BUCKETS: usize = 512;

/// The number of free blocks over an interval of virtual time, without the blocks of the SLC
/// region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreeBlocksReport {
    /// The minimum over all lanes together.
    pub min: u64,
    /// The minimum in each lane (a part of an allocation pool that is collected independently).
    pub lane_min: Vec<u32>,
    /// The number in all lanes together, over time.
    pub curve: Curve,
}

/// Observes the number of free blocks.
pub struct FreeBlocks {
    lanes: Vec<u32>,
    lane_min: Vec<u32>,
    min: u64,
    curve: Curve,
    buckets: usize,
}

impl FreeBlocks {
    /// Creates an observer that starts now.
    pub fn new(drive: &SimDevice) -> Self {
        FreeBlocks::with_buckets(drive, BUCKETS)
    }

    /// Does the same as [`FreeBlocks::new`], with at most `buckets` buckets in the curve; at least
    /// 2.
    pub fn with_buckets(drive: &SimDevice, buckets: usize) -> Self {
        let lanes = drive.free_blocks();
        let min = sum(&lanes);
        let curve = Curve::new(drive.now(), min, buckets);
        FreeBlocks { lane_min: lanes.clone(), lanes, min, curve, buckets }
    }

    /// Returns the numbers of free blocks up to `until`.
    pub fn report(&self, until: Nanos) -> FreeBlocksReport {
        let mut curve = self.curve.clone();
        curve.hold(until);
        FreeBlocksReport { min: self.min, lane_min: self.lane_min.clone(), curve }
    }
}

fn sum(lanes: &[u32]) -> u64 {
    lanes.iter().copied().map(u64::from).sum()
}

impl Observer for FreeBlocks {
    fn needs_commands(&self) -> bool {
        false
    }

    fn relocation(&mut self, _relocation: &Relocation) {}

    fn free_blocks(&mut self, lane: u32, free: u32, at: Nanos) {
        let lane = lane as usize;
        let before = std::mem::replace(&mut self.lanes[lane], free);
        self.lane_min[lane] = self.lane_min[lane].min(free);
        let all = self.curve.value() - u64::from(before) + u64::from(free);
        self.min = self.min.min(all);
        self.curve.change(all, at);
    }

    fn restart(&mut self, now: Nanos) {
        self.min = sum(&self.lanes);
        self.lane_min.clone_from(&self.lanes);
        self.curve = Curve::new(now, self.min, self.buckets);
    }

    fn resume(&mut self, drive: &SimDevice) {
        *self = FreeBlocks::with_buckets(drive, self.buckets);
    }
}
