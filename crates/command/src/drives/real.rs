//! Files and devices on Linux.

use std::path::{Path, PathBuf};

use flashscope_block::Device;
use flashscope_document::environment::Health;
use flashscope_drive::guard::{self, System};
use flashscope_drive::health::log_pages;
use flashscope_drive::inventory::place;
use flashscope_drive::{Access, Location, OpenOptions};
use flashscope_measure::Surroundings;

use super::{Purpose, is_real, unknown};
use crate::{Failure, usage};

pub(super) fn open(name: &str, purpose: &Purpose) -> Result<Box<dyn Device>, Failure> {
    let access = match purpose.write {
        true => Access::Write { confirmation: purpose.confirmation.clone() },
        false => Access::ReadOnly,
    };
    let options = OpenOptions {
        access,
        scratch: purpose.scratch,
        ignore_open_by_others: purpose.ignore_open_by_others,
        queue_depth: purpose.queue_depth,
        max_io: purpose.max_io,
        seed: purpose.seed,
        ..options(name)?
    };
    Ok(Box::new(flashscope_drive::open(&options).map_err(usage)?))
}

/// Parses the name of a real drive into the options for opening it.
///
/// # Errors
/// If it is not the name of a real drive.
pub fn options(name: &str) -> Result<OpenOptions, Failure> {
    match is_real(name) {
        true => OpenOptions::parse(name).map_err(usage),
        false => Err(Failure::Usage(unknown(name))),
    }
}

/// Returns the surroundings of the drive `name`; `None` if it is not a real drive.
pub fn surroundings(name: &str) -> Option<Surroundings> {
    let options = OpenOptions::parse(name).ok()?;
    let place = place(&System::default(), options.location.path());
    let (disk, sensor) = place.map_or((None, None), |place| (Some(place.disk), place.sensor));
    Some(Surroundings::at(Path::new("/"), disk, sensor))
}

/// Reads the health log of the drive `name`, or of the drive that holds the file. Returns `None` if
/// there is no health log.
pub fn health(name: &str) -> Option<Health> {
    let options = OpenOptions::parse(name).ok()?;
    let pages = log_pages(&System::default(), options.location.path()).ok()?;
    Health::decode(&pages.smart, pages.extended.as_ref())
}

/// Removes the file of the drive `name` if flashscope created it for a single measurement and no
/// program has changed it since. The drive must be closed.
///
/// # Errors
/// If the system refuses the removal.
pub fn remove_scratch(name: &str) -> Result<Option<PathBuf>, Failure> {
    let Ok(Location::File(path)) = OpenOptions::parse(name).map(|options| options.location) else {
        return Ok(None);
    };
    Ok(guard::remove_scratch(&path)?.then_some(path))
}

/// Returns the file that opening the drive `name` would create.
pub fn file_to_create(name: &str) -> Option<PathBuf> {
    match OpenOptions::parse(name).ok()?.location {
        Location::File(path) if !path.exists() => Some(path),
        _ => None,
    }
}
