use flashscope_document::environment::Health;
use flashscope_drive::inventory::Inventory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::live::Live;

/// What `flashscope devices --json` prints: the drives of this machine, and those that are attached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// Block devices.
    #[serde(flatten)]
    pub inventory: Inventory<Health>,
    /// What the user's processes have attached by `flashscope attach`.
    pub attached: Vec<Live>,
}
