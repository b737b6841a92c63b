//! The outcome of a probe.

use crate::{Contradiction, Finding};

/// The outcome of a probe.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The findings.
    pub findings: Vec<Finding>,
    /// The findings that the probe assumed and then disproved.
    pub contradicts: Vec<Contradiction>,
}

impl From<Vec<Finding>> for Outcome {
    fn from(findings: Vec<Finding>) -> Outcome {
        Outcome { findings, contradicts: Vec::new() }
    }
}
