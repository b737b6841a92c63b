//! The program that measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// The version.
    pub version: String,
    /// The commit of the build, if known.
    pub commit: Option<String>,
}
