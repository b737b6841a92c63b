//! Files and devices where the system is not Linux: there are none, and simulated drives are all that is measured.

use std::path::PathBuf;

use anyhow::anyhow;
use flashscope_block::Device;
use flashscope_measure::Surroundings;
use flashscope_result::environment::Health;

use super::Purpose;
use crate::{Failure, usage};

pub(super) fn open(name: &str, _: &Purpose) -> Result<Box<dyn Device>, Failure> {
    Err(usage(anyhow!(
        "`{name}`: real drives are measured on Linux only; simulated ones, such as `sim:demo`, everywhere"
    )))
}

/// Nothing is known of what surrounds a simulated drive.
pub fn surroundings(_: &str) -> Option<Surroundings> {
    None
}

/// A simulated drive has no health.
pub fn health(_: &str) -> Option<Health> {
    None
}

/// No file is ever created as a drive.
///
/// # Errors
/// None.
pub fn remove_scratch(_: &str) -> Result<Option<PathBuf>, Failure> {
    Ok(None)
}

/// No file is ever created as a drive.
pub fn file_to_create(_: &str) -> Option<PathBuf> {
    None
}
