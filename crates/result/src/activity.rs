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
    /// When it began, from the begin of the run.
    pub start_ns: Nanos,
    /// When it was done.
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
