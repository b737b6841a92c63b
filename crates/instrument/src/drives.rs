//! From the name of a drive to the drive.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use flashscope_block::{Bytes, Device, NullDevice, nearest};
use flashscope_drive::Clock;

#[cfg(not(target_os = "linux"))]
#[path = "drives/elsewhere.rs"]
mod real;
#[cfg(target_os = "linux")]
mod real;

pub use real::*;

use crate::bench::Inside;
use crate::{Failure, usage};

/// How large the null drive says it is: room for every run of the paper.
pub const NULL_CAPACITY: Bytes = Bytes::gib(64);

/// What a drive is opened for.
#[derive(Clone, Default)]
pub struct Purpose {
    /// Whether it is written.
    pub write: bool,
    /// What the user typed to confirm that.
    pub confirmation: Option<String>,
    /// How many IOs are in flight at most.
    pub queue_depth: u32,
    /// The largest IO.
    pub max_io: Bytes,
    /// Whether a file that is created goes once what it was created for is complete.
    pub scratch: bool,
    /// Whether another process may have it open for writing, if that holds no lock.
    pub ignore_open_by_others: bool,
    /// Seed of the data written: another for each opening, so that no data comes twice.
    pub seed: u64,
}

/// Opens the drive `name`.
///
/// # Errors
/// Where there is none of that name, or it may not be opened for that.
pub fn open(name: &str, purpose: &Purpose) -> Result<Box<dyn Device>, Failure> {
    if name == "null:" {
        let clock = Clock::new();
        let null = NullDevice::new(NULL_CAPACITY, purpose.queue_depth, move || clock.now());
        return Ok(Box::new(null));
    }
    if let Some(profile) = name.strip_prefix("sim:") {
        return Ok(Box::new(flashscope_sim::open(profile).map_err(usage)?));
    }
    match is_real(name) {
        true => real::open(name, purpose),
        false => Err(Failure::Usage(unknown(name))),
    }
}

/// Whether `name` is that of a file or a device.
fn is_real(name: &str) -> bool {
    name.starts_with("file:") || name.starts_with("/dev/")
}

/// Opens the drive `name`, to see what it does inside where it can be seen.
///
/// # Errors
/// As [`open`].
pub fn open_to_watch(
    name: &str,
    purpose: &Purpose,
) -> Result<(Box<dyn Device>, Option<Inside>), Failure> {
    let Some(profile) = name.strip_prefix("sim:") else {
        return Ok((open(name, purpose)?, None));
    };
    let mut drive = flashscope_sim::open(profile).map_err(usage)?;
    let inside = Inside::of(&mut drive);
    Ok((Box::new(drive), inside))
}

fn unknown(name: &str) -> anyhow::Error {
    let kinds = "there are: /dev/NAME, file:PATH, sim:PROFILE, null:";
    let (path, _) = name.split_once('?').unwrap_or((name, ""));
    if Path::new(path).exists() || (path.contains('/') && !path.contains(':')) {
        return anyhow!("`{name}` is a path, not a drive: write `file:{name}`\n{kinds}");
    }
    let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
    let profiles = flashscope_sim::profile::KINDS.iter().map(|profile| profile.name);
    if profiles.clone().any(|profile| profile == kind) {
        return anyhow!("`{name}` is no drive, did you mean `sim:{name}`?\n{kinds}");
    }
    let meant = match nearest(kind, ["sim", "file", "null"]) {
        Some("null") => ", did you mean `null:`?".into(),
        Some(near) => format!(", did you mean `{near}:{rest}`?"),
        None => String::new(),
    };
    anyhow!("`{name}` is no drive{meant}\n{kinds}")
}

/// Refuses an IO size or a target space that the drive does not have.
///
/// # Errors
/// Which of them, and what the drive has.
pub fn check_target(
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
            bail!("{option} {} B is no multiple of the logical block, {block}", value.0);
        }
    }
    if size.0 > room {
        bail!("--target-size {size} is more than the {} that `{}` has", Bytes(room), info.name);
    }
    if io_size > size {
        bail!("--io-size {io_size} does not fit in the target space, {size}");
    }
    Ok(size)
}
