//! The internal operations of a drive during a run. Only simulated drives report them.

use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An internal operation of a drive that consists of several flash commands, such as the merge of a
/// block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// The kind of operation, such as `cleaning`, `switch merge`, `partial merge`, `full merge`,
    /// `mapping write-back`, `wear levelling`.
    pub kind: String,
    /// The start, relative to the start of the run; 0 if the operation began earlier.
    pub start_ns: Nanos,
    /// The end, relative to the start of the run. For an operation that was unfinished at the end
    /// of the run, the end of its last issued command.
    pub end_ns: Nanos,
    /// The unit (die or plane) of the drive on which the operation began.
    pub unit: u32,
    /// The block concerned: the victim of garbage collection, or the log block of a merge.
    pub block: u32,
    /// The pages read.
    pub pages_read: u32,
    /// The pages programmed.
    pub pages_programmed: u32,
    /// The blocks erased.
    pub blocks_erased: u32,
}

/// The internal operations of a drive during a run or a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activities {
    /// The operations, sorted by start time.
    pub items: Vec<Activity>,
    /// The number of operations omitted from the whole run because there were too many. The
    /// shortest operations of each interval are omitted.
    pub left_out: u64,
}
