//! Opens a simulated drive with the chosen size and contents.

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::Bytes;
use flashscope_measure::{RunEnd, fill_drive};
use flashscope_sim::{Drive, setup};
use flashscope_simulate::initial_contents;
use flashscope_workload::state::Fill;

use super::AttachArgs;
use crate::progress::LateBar;
use crate::{Failure, usage};

/// The seed of a random fill.
const SEED: u64 = 1;

/// Opens the drive `spec` with enough blocks for `--size`, and fills it. Also returns the seed of its profile.
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
    profile.layout_without_zones("a host of an attached drive").map_err(usage)?;
    let mut drive = Drive::within(&args.drive, &profile, &args.memory.budget()).map_err(usage)?;
    fill(&mut drive, args.fill.unwrap_or(Fill::None), stop)?;
    Ok((drive, profile.seed))
}

/// Fills the drive. The fill stores no data: the contents read as zeros, but the simulated drive counts its
/// pages as written.
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
