//! `flashscope bench --resume`: going on with a result that was stopped or cut off.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_analysis::analyse;
use flashscope_block::{Device, DeviceInfo, DeviceKind};
use flashscope_measure::{fresh_seed, timestamp};
use flashscope_result::ResultFolder;
use flashscope_result::manifest::{Manifest, Progress, Run, State, Status};
use flashscope_workload::state::LARGEST_FILL_IO;

use crate::args::BenchArgs;
use crate::bench::{measure, outcome, print};
use crate::drives::{self, Purpose};
use crate::{Failure, stop, usage};

/// Goes on with the result at `path` at the run where it stopped.
pub fn resume(path: &Path, args: &BenchArgs) -> Result<(), Failure> {
    let (folder, _) = ResultFolder::open(path).map_err(usage)?;
    let lock = folder.lock().map_err(usage)?;
    // Read while nobody else writes it.
    let (folder, mut manifest) = ResultFolder::open(path).map_err(usage)?;
    check_version(&manifest)?;
    if !manifest.runs().any(is_left) {
        return finish(&folder, &mut manifest, args);
    }
    let stop: &AtomicBool = stop::flag()?;
    let mut device = drives::open(&manifest.device.name, &purpose(&manifest, args))?;
    check_drive(&manifest.device, device.info())?;
    let surroundings = drives::surroundings(&manifest.device.name);
    manifest.resumed.push(timestamp());
    (manifest.status, manifest.finished) = (Status::Running, None);
    // What was not run to its end begins anew, and says so before its records go.
    manifest.runs_mut().filter(|run| is_left(run)).for_each(|run| run.progress = Progress::Pending);
    folder.write_manifest(&manifest)?;
    folder.discard_unfinished(&manifest)?;
    let facts = measure(device.as_mut(), &mut manifest, &folder, stop, surroundings.as_ref())?;
    print(args.json, &folder, &manifest, &facts)?;
    drop(lock);
    outcome(&manifest)
}

/// Ends a result of which every run was run: all that may be missing is that it says so.
fn finish(folder: &ResultFolder, manifest: &mut Manifest, args: &BenchArgs) -> Result<(), Failure> {
    if manifest.status == Status::Running {
        (manifest.status, manifest.finished) = (Status::Complete, Some(timestamp()));
        folder.write_manifest(manifest)?;
    }
    let facts = analyse(folder, manifest)?;
    folder.write_facts(&facts)?;
    eprintln!("note: nothing was left to run");
    print(args.json, folder, manifest, &facts)?;
    outcome(manifest)
}

/// Whether a run is still to be run, or to be run anew.
fn is_left(run: &Run) -> bool {
    matches!(run.progress, Progress::Pending | Progress::Interrupted { .. })
}

/// What is measured by two versions is not one result.
fn check_version(manifest: &Manifest) -> Result<(), Failure> {
    let (then, now) = (&manifest.tool.version, env!("CARGO_PKG_VERSION"));
    if then != now {
        let reason = "a result of both would be neither's";
        return Err(usage(anyhow!(
            "it was begun by flashscope {then}, and this is {now}: {reason}; measure anew"
        )));
    }
    Ok(())
}

/// What the runs that there are need of the drive.
fn purpose(manifest: &Manifest, args: &BenchArgs) -> Purpose {
    let runs = || manifest.runs().filter(|run| !matches!(run.progress, Progress::Skipped { .. }));
    let depth = |run: &Run| u32::from(run.reference.streams_count()) * run.reference.queue_depth();
    let largest = runs().map(|run| run.reference.largest_io()).max().unwrap_or_default();
    let fills = manifest.options.state != State::Keep;
    Purpose {
        write: fills || runs().any(|run| run.reference.writes()),
        confirmation: args.destroy_data_on.clone(),
        queue_depth: runs().map(depth).max().unwrap_or(1),
        max_io: largest.max(LARGEST_FILL_IO),
        seed: fresh_seed(),
    }
}

/// Refuses another drive than the one that was measured.
fn check_drive(then: &DeviceInfo, now: &DeviceInfo) -> Result<(), Failure> {
    let told = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let properties = [
        ("capacity", then.capacity.to_string(), now.capacity.to_string()),
        ("logical block", then.logical_block.to_string(), now.logical_block.to_string()),
        ("model", told(&then.model), told(&now.model)),
        ("serial number", told(&then.serial), told(&now.serial)),
        ("firmware", told(&then.firmware), told(&now.firmware)),
        ("engine", told(&then.engine), told(&now.engine)),
    ];
    let changed = properties.iter().filter(|(_, then, now)| then != now);
    let changed: Vec<_> =
        changed.map(|(what, then, now)| format!("its {what} was {then} and is {now}")).collect();
    match changed.is_empty() {
        true => Ok(()),
        false => Err(usage(anyhow!(
            "`{}` is not the drive that was measured: {}",
            now.name,
            changed.join("; ")
        ))),
    }
}

/// Whether a drive has lost what was written to it before this program began.
pub fn forgets(info: &DeviceInfo) -> bool {
    info.kind == DeviceKind::Sim
}
