//! From facts to what people look at. Nothing is computed here that the analysis did not find.

use flashscope_analysis::{Facts, Outline};
use flashscope_result::Manifest;
use schemars::JsonSchema;
use serde::Serialize;

/// `report.json`: everything that the report shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// What was measured, and how.
    pub manifest: Manifest,
    /// What was found.
    pub facts: Facts,
    /// Each run as a picture.
    pub outlines: Vec<Outline>,
}
