//! Random simulated drives with known internals.

mod cleaning;
mod draft;
mod log_blocks;
mod page_mapped;
pub mod ranges;
pub mod strata;

use std::collections::BTreeMap;

use flashscope_document::probe::Parameter;

use self::draft::Draft;
use self::ranges::{CALIBRATION, Ranges};

/// The true value of a drive's parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Truth {
    /// The parameter has this value.
    Value(f64),
    /// The parameter is of this class.
    Class(&'static str),
    /// The drive lacks the feature.
    Absent,
}

/// A generated drive.
#[derive(Debug, Clone)]
pub struct RandomDrive {
    /// The spec after `sim:`.
    pub spec: String,
    /// The true values of its parameters. A parameter is missing if it has no definite value, such
    /// as the log eviction of a drive whose log blocks belong to groups; such a parameter is not
    /// scored.
    pub truth: BTreeMap<Parameter, Truth>,
}

/// Generates a valid drive of the kinds that the probe is calibrated on.
///
/// # Panics
/// Panics like [`generate_within`].
pub fn generate(seed: u64) -> RandomDrive {
    generate_within(&CALIBRATION, seed)
}

/// Generates a valid drive within these ranges.
///
/// # Panics
/// Panics if none of 10,000 generated drives is valid.
pub fn generate_within(ranges: &Ranges, seed: u64) -> RandomDrive {
    let drives = (0..10_000).map(|nth| Draft::generate(ranges, seed, nth));
    let mut valid = drives.filter(|drive| flashscope_sim::open(&drive.spec).is_ok());
    valid.next().expect("some drives are valid")
}
