//! Opens a simulated drive with the chosen size and contents.

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, Device};
use flashscope_measure::{RunEnd, fill_drive};
use flashscope_sim::{Drive, Profile, setup};
use flashscope_simulate::initial_contents;
use flashscope_workload::state::Fill;

use super::AttachArgs;
use crate::progress::LateBar;
use crate::{Failure, usage};

/// The seed of a random fill.
const SEED: u64 = 1;

/// Opens the drive `spec` with enough blocks for `--size`, and fills it. Also returns the seed of
/// its profile.
pub(super) fn open(
    spec: &str,
    args: &AttachArgs,
    stop: &AtomicBool,
) -> Result<(Drive, u64), Failure> {
    let profile = setup::parse(spec).map_err(usage)?;
    let profile = match args.size {
        Some(size) => profile.sized(size).map_err(usage)?,
        None => profile,
    };
    check_use_of_zones(&profile, args)?;
    let mut drive = Drive::within(&args.drive, &profile, &args.memory.budget()).map_err(usage)?;
    check_zone_size(&mut drive, args)?;
    super::check_namespaces(args, &mut drive)?;
    fill(&mut drive, args.fill.unwrap_or(Fill::None), stop)?;
    Ok((drive, profile.seed))
}

/// Refuses options that a drive with zones does not support.
fn check_use_of_zones(profile: &Profile, args: &AttachArgs) -> Result<(), Failure> {
    if !profile.zones.is_on() {
        return Ok(());
    }
    if args.nvme_tcp.is_none() {
        return Err(usage(anyhow!(
            "`{}` has zones, which NBD, FUSE and ublk do not support: serve it with --nvme-tcp 127.0.0.1:4420, or \
             attach it without zones, with zones.blocks=0",
            args.drive
        )));
    }
    match args.fill {
        None | Some(Fill::None) => Ok(()),
        Some(_) => Err(usage(anyhow!(
            "--fill is for drives without zones: the zones of `{}` begin empty; write them after you attach it",
            args.drive
        ))),
    }
}

/// Refuses zones of a size that Linux does not accept, and a capacity that ends within a zone.
fn check_zone_size(drive: &mut Drive, args: &AttachArgs) -> Result<(), Failure> {
    let Some(zones) = drive.zones() else { return Ok(()) };
    let zone = zones.limits().size;
    if !zone.0.is_power_of_two() {
        return Err(usage(anyhow!(
            "the zones of `{}` have {} bytes, and Linux accepts only powers of two: set zones.size={}, whose end \
             stays unwritten, or choose other zones.blocks or zones.lanes",
            args.drive,
            zone.0,
            zone.0.next_power_of_two()
        )));
    }
    match args.size {
        Some(size) if !size.is_multiple_of(zone) => Err(usage(anyhow!(
            "--size {} B must be a positive multiple of the size of a zone, {zone}",
            size.0
        ))),
        _ => Ok(()),
    }
}

/// Fills the drive. The fill stores no data: the contents read as zeros, but the simulated drive
/// counts its pages as written.
fn fill(drive: &mut Drive, state: Fill, stop: &AtomicBool) -> Result<(), Failure> {
    let mut bar = LateBar::new();
    let mut progress =
        |done: Bytes, size: Bytes| bar.show("filling the drive", done.0, Some(size.0));
    let contents = initial_contents(drive, state).map_err(usage)?;
    let filled = fill_drive(drive, contents, SEED, stop, &mut progress);
    bar.finish();
    match filled {
        RunEnd::Complete => Ok(()),
        RunEnd::Failed { first, .. } => {
            Err(Failure::Failed(anyhow!("the drive cannot be filled: {first}")))
        }
        _ => Err(Failure::Failed(anyhow!("interrupted before the drive was attached"))),
    }
}
