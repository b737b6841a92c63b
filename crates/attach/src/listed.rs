use flashscope_document::environment::Health;
use flashscope_drive::inventory::Inventory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::live::DriveStatus;

/// The output of `flashscope devices --json`: the drives of this machine, and the attached drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceList {
    /// The block devices of the machine.
    #[serde(flatten)]
    pub inventory: Inventory<Health>,
    /// The drives that processes of this user have attached with `flashscope attach`.
    pub attached: Vec<DriveStatus>,
}
