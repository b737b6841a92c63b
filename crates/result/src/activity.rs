//! What a drive says it did inside while a run was measured. Only a simulated drive can.

use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One piece of work inside a drive that is more than a flash command, such as the merge of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// What it was, in the field's words, such as `cleaning`, `switch merge`, `partial merge`,
    /// `full merge`, `mapping write-back`, `wear levelling`.
    pub kind: String,
    /// When it began, from the begin of the run; 0 where that was before.
    pub start_ns: Nanos,
    /// When it was done, from the begin of the run; of one that was not when the run ended, as far
    /// as its commands were given.
    pub end_ns: Nanos,
    /// The unit (die or plane) of the drive on which it began.
    pub unit: u32,
    /// The block that it was about: the victim of a cleaning, the log block of a merge.
    pub block: u32,
    /// Pages that it read.
    pub pages_read: u32,
    /// Pages that it programmed.
    pub pages_programmed: u32,
    /// Blocks that it erased.
    pub blocks_erased: u32,
}

/// What a drive did inside during a run, or a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activities {
    /// In the order of their begin.
    pub items: Vec<Activity>,
    /// How many of the whole run were left out where there were too many: in each stretch of time
    /// the shortest.
    pub left_out: u64,
}
