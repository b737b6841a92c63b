use flashscope_block::{Device, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Curve, Kind, Observer};
use crate::SimDevice;

pub(super) const KIND: Kind = Kind {
    name: "free_blocks",
    summary: "how many erased blocks the drive has left to write to",
    yields: "the fewest there were, in each lane and in all, and a curve of the least and the most \
             over time",
};

/// How many buckets a curve has at most.
const BUCKETS: usize = 512;

/// How many blocks were free over an interval of virtual time, without those of the SLC region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreeBlocksReport {
    /// The fewest in all lanes together.
    pub min: u64,
    /// The fewest in each lane (part of an allocation pool that is cleaned for itself).
    pub lane_min: Vec<u32>,
    /// In all lanes together, over time.
    pub curve: Curve,
}

/// Follows the number of free blocks.
pub struct FreeBlocks {
    lanes: Vec<u32>,
    lane_min: Vec<u32>,
    min: u64,
    curve: Curve,
    buckets: usize,
}

impl FreeBlocks {
    /// One for this drive, from now on.
    pub fn new(drive: &SimDevice) -> Self {
        FreeBlocks::with_buckets(drive, BUCKETS)
    }

    /// As [`FreeBlocks::new`], with at most so many buckets in the curve; at least 2.
    pub fn with_buckets(drive: &SimDevice, buckets: usize) -> Self {
        let lanes = drive.free_blocks();
        let min = sum(&lanes);
        let curve = Curve::new(drive.now(), min, buckets);
        FreeBlocks { lane_min: lanes.clone(), lanes, min, curve, buckets }
    }

    /// How many blocks were free up to `until`.
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

    fn look_again(&mut self, drive: &SimDevice) {
        *self = FreeBlocks::with_buckets(drive, self.buckets);
    }
}
