//! A simulated drive of the size and in the state that was asked for.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, Device};
use flashscope_measure::{Ended, execute};
use flashscope_sim::{Drive, profile};
use flashscope_workload::Stream;
use flashscope_workload::state::{RandomFill, SequentialFill};

use super::AttachArgs;
use crate::args::FillState;
use crate::progress::LateBar;
use crate::{Failure, usage};

/// Seed of a random fill.
const SEED: u64 = 1;

/// Opens the drive `spec`, with as many blocks as it takes for `--size`, and fills it.
pub fn open(spec: &str, args: &AttachArgs, stop: &AtomicBool) -> Result<Drive, Failure> {
    let profile = profile::parse(spec).map_err(usage)?;
    let profile = match args.size {
        Some(size) => profile.sized(size).map_err(usage)?,
        None => profile,
    };
    let mut drive = Drive::new(&args.drive, &profile).map_err(usage)?;
    let (capacity, block) = (drive.info().capacity, drive.info().logical_block);
    match args.fill {
        None | Some(FillState::None) => {}
        Some(FillState::Sequential) => {
            fill(&mut drive, SequentialFill::new(Bytes(0), capacity), stop)?;
        }
        Some(FillState::Random) => {
            fill(&mut drive, RandomFill::new(Bytes(0), capacity, block, SEED), stop)?;
        }
    }
    Ok(drive)
}

/// Writes all of the drive, which holds zeros then: only the drive knows that they were written.
fn fill(drive: &mut Drive, stream: impl Stream, stop: &AtomicBool) -> Result<(), Failure> {
    let (depth, total) = (drive.info().queue_depth, drive.info().capacity.0);
    let (mut bar, mut done) = (LateBar::new(), 0);
    let filled = execute(drive, &mut [stream], depth, stop, |_, completion| {
        done += completion.io.len.0;
        bar.show("filling the drive", done, Some(total));
        Ok::<(), Infallible>(())
    });
    bar.finish();
    match filled {
        Ok(Ended::Complete) => Ok(()),
        Ok(Ended::Failed { errno, .. }) => {
            Err(Failure::Failed(anyhow!("the drive cannot be filled: {errno}")))
        }
        Ok(_) => Err(Failure::Failed(anyhow!("stopped before the drive was attached"))),
    }
}
