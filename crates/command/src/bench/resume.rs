//! `flashscope bench --resume`: resumes an interrupted result.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_block::Device;
use flashscope_document::facts::Facts;
use flashscope_document::manifest::{Manifest, Progress as RunProgress, Run, Status};
use flashscope_measure::{check_state, timestamp};
use flashscope_result::ResultFolder;

use super::args::BenchArgs;
use super::same::{check_drive, check_tool, purpose};
use super::{BenchResult, SideChannels, conclude, measure, tidy};
use crate::drives::Purpose;
use crate::{Failure, Progress, drives, usage};

/// Resumes the result at `path` at the run where it stopped.
pub(super) fn resume(
    path: &Path,
    args: &BenchArgs,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<BenchResult, Failure> {
    let (folder, _) = ResultFolder::open(path).map_err(usage)?;
    let lock = folder.lock().map_err(usage)?;
    // Reads the result again: another process may have changed it before this one had the lock.
    let (folder, mut manifest) = ResultFolder::open(path).map_err(usage)?;
    check_tool(&manifest.tool, "the result was begun by", "start a new measurement")?;
    if !manifest.runs().any(is_left) {
        let facts = finish(&folder, &mut manifest)?;
        sink.note("nothing was left to run");
        return Ok(BenchResult { folder, manifest, facts });
    }
    let runs: Vec<&Run> = manifest.runs().collect();
    let purpose = Purpose {
        scratch: !args.keep,
        ignore_open_by_others: args.consent.ignore_open_by_others,
        memory: args.memory.budget(),
        ..purpose(&runs, &manifest.options, args.consent.destroy_data_on.clone())
    };
    check_existence(&manifest.device.name)?;
    let (mut device, inside) = drives::open_to_watch(&manifest.device.name, &purpose)?;
    check_drive(&manifest.device, device.info(), "that was measured")?;
    check_state(device.as_ref(), &manifest.options).map_err(usage)?;
    let surroundings = drives::surroundings(&manifest.device.name);
    manifest.resumed.push(timestamp());
    (manifest.status, manifest.finished) = (Status::Running, None);
    // Marks incomplete runs as pending before it deletes their records. After a crash in between,
    // the manifest then counts no records that are gone.
    manifest
        .runs_mut()
        .filter(|run| is_left(run))
        .for_each(|run| run.progress = RunProgress::Pending);
    folder.write_manifest(&manifest)?;
    folder.discard_unfinished(&manifest)?;
    let watching = SideChannels { inside, surroundings: surroundings.as_ref() };
    let facts = measure(device.as_mut(), &mut manifest, &folder, (stop, sink), watching)?;
    drop((lock, device));
    tidy(&manifest, sink)?;
    Ok(BenchResult { folder, manifest, facts })
}

/// Fails if the drive is a file that is missing. A new file would not have the measured state. Its
/// path would come from the result, which may be untrusted.
fn check_existence(drive: &str) -> Result<(), Failure> {
    match drives::file_to_create(drive) {
        None => Ok(()),
        Some(path) => Err(usage(anyhow!(
            "{} does not exist any more, and a new file would have another state: start a new measurement",
            path.display()
        ))),
    }
}

/// Finishes a result that has no runs left. Only its status may still have to change.
fn finish(folder: &ResultFolder, manifest: &mut Manifest) -> Result<Facts, Failure> {
    if manifest.status == Status::Running {
        (manifest.status, manifest.finished) = (Status::Complete, Some(timestamp()));
        folder.write_manifest(manifest)?;
    }
    conclude(folder, manifest)
}

/// Returns true if the run was not executed, or was interrupted.
fn is_left(run: &Run) -> bool {
    matches!(run.progress, RunProgress::Pending | RunProgress::Interrupted { .. })
}
