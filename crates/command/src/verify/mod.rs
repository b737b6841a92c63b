//! `flashscope verify`: verifies a drive across power cuts.

mod args;
mod journal_file;
mod judge;
mod write;

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::{Bytes, DeviceInfo};
use flashscope_document::verification::{Atomicity, AtomicitySource, Verdict, Verification};
use flashscope_drive::guard::System;
use flashscope_drive::identify::power_fail_atomicity;
use flashscope_drive::{Location, OpenOptions};

pub use args::{VerifiedWritesArgs, VerifyArgs};

use crate::{Failure, Progress, drives, usage};

/// Writes to a drive until its power is cut or a limit is reached; with `--resume`, judges it. A
/// verification that reached a limit is judged immediately.
///
/// Setting `stop` ends the writing in an orderly way; the journal keeps everything so far.
///
/// # Errors
/// If the request is invalid, the drive failed, the journal does not belong to the drive, or `stop`
/// was set. Damage is not an error here: see [`outcome`].
pub fn verify(
    args: &VerifyArgs,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<Verification, Failure> {
    let options = options(&args.drive)?;
    if !args.resume {
        write::write(args, options.clone(), stop, sink)?;
    }
    judge::judge(args, options, stop, sink)
}

/// Checks that the drive kept its promises.
///
/// # Errors
/// If data is damaged.
pub fn outcome(verification: &Verification) -> Result<(), Failure> {
    let damaged = verification.bytes.damaged();
    match verification.verdict {
        Verdict::AsAcknowledged => Ok(()),
        Verdict::Damaged => Err(Failure::Finding(anyhow!(
            "`{}` broke its promises: {} are damaged",
            verification.device.name,
            Bytes(damaged)
        ))),
    }
}

/// Returns the options for opening the drive.
fn options(name: &str) -> Result<OpenOptions, Failure> {
    if name.starts_with("sim:") || name == "null:" {
        return Err(usage(anyhow!(
            "`{name}` keeps no data: `flashscope attach {name} --fuse FOLDER --store FILE` turns a simulated drive into \
             the file FOLDER/drive, which keeps its data in FILE"
        )));
    }
    drives::options(name)
}

/// Returns the atomicity of writes: from the option, or else from the drive, or else the logical
/// block.
fn atomicity(given: Option<Bytes>, options: &OpenOptions, info: &DeviceInfo) -> Atomicity {
    if let Some(unit) = given {
        return Atomicity { unit, boundary: None, source: AtomicitySource::Option };
    }
    let stated = match &options.location {
        Location::BlockDevice(path) => power_fail_atomicity(&System::default(), path),
        Location::File(_) => None,
    };
    match stated {
        Some(stated) => Atomicity {
            unit: stated.unit.max(info.logical_block),
            boundary: stated.boundary,
            source: AtomicitySource::Drive,
        },
        None => Atomicity {
            unit: info.logical_block,
            boundary: None,
            source: AtomicitySource::LogicalBlock,
        },
    }
}
