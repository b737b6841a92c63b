//! Opens drives by name.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "removes the file that it created as a drive: only after the guard opened it, under a name that was free"
    )
)]

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use flashscope_block::{Bytes, Device, NullDevice, did_you_mean, nearest};
use flashscope_drive::Clock;
use flashscope_sim::budget::Budget;
use flashscope_sim::{Drive, ProfileError, setup};

#[cfg(not(target_os = "linux"))]
#[path = "drives/elsewhere.rs"]
mod real;
#[cfg(target_os = "linux")]
mod real;

pub use real::*;

use crate::inside::Inside;
use crate::{Failure, usage};

/// The capacity of the null drive: enough for every run of the paper.
pub const NULL_CAPACITY: Bytes = Bytes::gib(64);

/// The use for which a drive is opened.
#[derive(Clone, Default)]
pub struct Purpose {
    /// True to write to the drive.
    pub write: bool,
    /// The confirmation that the user typed for writing.
    pub confirmation: Option<String>,
    /// The maximum number of IOs in flight.
    pub queue_depth: u32,
    /// The largest IO.
    pub max_io: Bytes,
    /// True to delete a newly created file once its purpose is complete.
    pub scratch: bool,
    /// True to allow that another process has the drive open for writing, if it holds no lock.
    pub ignore_open_by_others: bool,
    /// The memory budget of simulated drives.
    pub memory: Budget,
    /// The seed of the data written. Each opening of a drive uses a different seed, so that no data
    /// repeats.
    pub seed: u64,
}

/// Opens the drive `name`.
///
/// # Errors
/// If there is no such drive, or opening it for this purpose is not permitted.
pub fn open(name: &str, purpose: &Purpose) -> Result<Box<dyn Device>, Failure> {
    if name == "null:" {
        let clock = Clock::new();
        let null = NullDevice::new(NULL_CAPACITY, purpose.queue_depth, move || clock.now());
        return Ok(Box::new(null));
    }
    if let Some(profile) = name.strip_prefix("sim:") {
        return Ok(Box::new(open_simulated(profile, purpose).map_err(usage)?));
    }
    match is_real(name) {
        true => real::open(name, purpose),
        false => Err(Failure::Usage(unknown(name))),
    }
}

/// Opens the simulated drive `spec`, which must not have zones, because measurements write
/// anywhere.
fn open_simulated(spec: &str, purpose: &Purpose) -> Result<Drive, ProfileError> {
    let profile = setup::parse(spec)?;
    profile.design_without_zones("the measurement")?;
    Drive::within(&format!("sim:{spec}"), &profile, &purpose.memory)
}

/// Returns true if `name` is that of a file or a device.
fn is_real(name: &str) -> bool {
    name.starts_with("file:") || name.starts_with("/dev/")
}

/// Opens the drive `name`, with observers of its internal activity if it is simulated.
///
/// # Errors
/// The same as for [`open`].
pub(crate) fn open_to_watch(
    name: &str,
    purpose: &Purpose,
) -> Result<(Box<dyn Device>, Option<Inside>), Failure> {
    let Some(profile) = name.strip_prefix("sim:") else {
        return Ok((open(name, purpose)?, None));
    };
    let mut drive = open_simulated(profile, purpose).map_err(usage)?;
    let inside = Inside::of(&mut drive);
    Ok((Box::new(drive), inside))
}

/// Returns `prepared`. If it is an error, removes `new_file`, the file that was created as the
/// drive: see [`file_to_create`]. Call this only after the drive was opened: if opening failed,
/// another program may have created the file.
///
/// # Errors
/// The error in `prepared`, or the error of removing the file.
pub(crate) fn keep_if_prepared<T>(
    new_file: Option<PathBuf>,
    prepared: Result<T, Failure>,
) -> Result<T, Failure> {
    if let (Err(_), Some(path)) = (&prepared, new_file) {
        std::fs::remove_file(&path)
            .with_context(|| format!("cannot remove the new file {}", path.display()))?;
    }
    prepared
}

fn unknown(name: &str) -> anyhow::Error {
    let kinds = "known drives: /dev/NAME, file:PATH, sim:PROFILE, null:";
    let (path, _) = name.split_once('?').unwrap_or((name, ""));
    if Path::new(path).exists() || (path.contains('/') && !path.contains(':')) {
        return anyhow!("`{name}` is a path, not a drive: write `file:{name}`\n{kinds}");
    }
    let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
    let profiles = setup::KINDS.iter().map(|profile| profile.name);
    if profiles.clone().any(|profile| profile == kind) {
        let near = did_you_mean(Some(format_args!("sim:{name}")));
        return anyhow!("`{name}` is not a drive{near}\n{kinds}");
    }
    let near = nearest(kind, ["sim", "file", "null"]).map(|near| match near {
        "null" => "null:".into(),
        near => format!("{near}:{rest}"),
    });
    anyhow!("`{name}` is not a drive{}\n{kinds}", did_you_mean(near))
}

/// Returns the size of the target space after checking it and the IO size against the drive.
///
/// # Errors
/// If a size or the offset is not a multiple of the logical block, the target space exceeds the
/// drive, or an IO exceeds the target space. The error names the option.
pub(crate) fn check_target(
    device: &dyn Device,
    io_size: Bytes,
    offset: Bytes,
    size: Option<Bytes>,
) -> anyhow::Result<Bytes> {
    let info = device.info();
    let block = info.logical_block;
    let room = info.capacity.0.checked_sub(offset.0).with_context(|| {
        format!("--target-offset {offset} is past the end of `{}`, {}", info.name, info.capacity)
    })?;
    let size = size.unwrap_or(Bytes(room).round_down(block));
    for (option, value) in
        [("--io-size", io_size), ("--target-offset", offset), ("--target-size", size)]
    {
        if !value.is_multiple_of(block) {
            bail!("{option} {} B is not a multiple of the logical block, {block}", value.0);
        }
    }
    if size.0 > room {
        bail!(
            "--target-size {size} does not fit on `{}`: it has {} from --target-offset on",
            info.name,
            Bytes(room)
        );
    }
    if io_size > size {
        bail!("--io-size {io_size} does not fit in the target space, {size}");
    }
    Ok(size)
}
