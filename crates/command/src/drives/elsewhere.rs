//! Stubs for real drives on systems other than Linux, where only simulated drives are available.

use std::path::PathBuf;

use anyhow::anyhow;
use flashscope_block::Device;
use flashscope_document::environment::Health;
use flashscope_measure::Surroundings;

use super::Purpose;
use crate::{Failure, usage};

pub(super) fn open(name: &str, _: &Purpose) -> Result<Box<dyn Device>, Failure> {
    Err(usage(anyhow!(
        "`{name}`: flashscope measures real drives on Linux only; simulated drives, such as `sim:demo`, work on every system"
    )))
}

/// Returns `None`: real drives are only available on Linux.
pub fn surroundings(_: &str) -> Option<Surroundings> {
    None
}

/// Returns `None`: real drives are only available on Linux.
pub fn health(_: &str) -> Option<Health> {
    None
}

/// Returns `None`: no file is ever created as a drive.
///
/// # Errors
/// Never.
pub fn remove_scratch(_: &str) -> Result<Option<PathBuf>, Failure> {
    Ok(None)
}

/// Returns `None`: no file is ever created as a drive.
pub fn file_to_create(_: &str) -> Option<PathBuf> {
    None
}
