//! `flashscope bench` and `flashscope plan`: measure a drive, and plan a measurement.

mod ahead;
mod args;
mod keeper;
mod options;
mod outcome;
mod part;
mod plan;
mod request;
mod resume;
mod same;
mod steady;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use flashscope_analysis::{analyse, write_grid};
use flashscope_block::Device;
use flashscope_document::environment::HealthChange;
use flashscope_document::facts::Facts;
use flashscope_document::manifest::{
    Calibration, HealthAround, Manifest, MicroBenchmark, Options, Progress as RunProgress, Run,
    Status, runs_of,
};
use flashscope_drive::Clock;
use flashscope_measure::{
    Bench, Surroundings, check_state, fresh_seed, harness_cost, machine, timestamp,
};
use flashscope_result::ResultFolder;

use ahead::Ahead;
pub use args::{BenchArgs, PlanArgs};
use keeper::Keeper;
pub(crate) use outcome::LOOK;
pub use outcome::outcome;
pub use part::{Part, bench_part};
pub use plan::plan;
use request::BenchRequest;
pub(crate) use same::check_drive;
use same::{check_tool, purpose};

use crate::drives::{self, Purpose};
pub use crate::inside::Inside;
use crate::{Failure, Progress, build, not_made, usage};

/// The result of a benchmark, complete or not.
pub struct BenchResult {
    /// The result folder.
    pub folder: ResultFolder,
    /// The plan with the progress of each run; [`outcome`] reports whether all of it ran.
    pub manifest: Manifest,
    /// The findings from the records.
    pub facts: Facts,
}

/// Measures a drive, or resumes an earlier measurement.
///
/// Setting `stop` ends the measurement in an orderly way; the result keeps all measurements so far.
///
/// # Errors
/// If the request is invalid, or records cannot be written. A failed IO is not an error here; the
/// manifest records the failure.
pub fn bench(
    args: &BenchArgs,
    stop: &AtomicBool,
    sink: &mut dyn Progress,
) -> Result<BenchResult, Failure> {
    if let Some(path) = &args.resume {
        return resume::resume(path, args, stop, sink);
    }
    if let Some(path) = &args.plan {
        let plan = plan::read(path)?;
        check_tool(&plan.tool, "the plan was made by", "run `flashscope plan` again")?;
        let runs: Vec<&Run> = runs_of(&plan.micro_benchmarks).collect();
        let confirmation = args.consent.destroy_data_on.clone();
        let purpose = purpose(&runs, &plan.options, confirmation);
        let purpose = Purpose { memory: args.memory.budget(), ..purpose };
        let name = plan.device.name.clone();
        return begin(&name, purpose, args, (stop, sink), |device, _| {
            check_drive(&plan.device, device.info(), "that was planned for")?;
            check_state(device, &plan.options).map_err(usage)?;
            Ok((plan.options, plan.micro_benchmarks))
        });
    }
    bench_drive(args, |plan| plan, (stop, sink))
}

/// Measures the drive that `args` names. `select` may remove runs from the plan.
fn bench_drive(
    args: &BenchArgs,
    select: impl FnOnce(Vec<MicroBenchmark>) -> Vec<MicroBenchmark>,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
) -> Result<BenchResult, Failure> {
    let confirmation = args.consent.destroy_data_on.clone();
    let mut request = BenchRequest::new(&args.options, confirmation, fresh_seed())?;
    let drive = &match &args.drive {
        Some(drive) => drive.clone(),
        None => request.drive_of_jobs()?,
    };
    request.purpose.memory = args.memory.budget();
    begin(drive, request.purpose.clone(), args, (stop, sink), |device, sink| {
        let planned = request.plan(device, stop, sink)?;
        for what in &planned.left_out {
            sink.note(&format!("left out to keep within the budget: {what}"));
        }
        Ok((planned.options, select(planned.micro_benchmarks)))
    })
}

/// Opens `drive`, plans the runs with `plan` and measures.
fn begin(
    drive: &str,
    purpose: Purpose,
    args: &BenchArgs,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
    plan: impl FnOnce(&mut dyn Device, &mut dyn Progress) -> Result<PlannedRuns, Failure>,
) -> Result<BenchResult, Failure> {
    let output = args.output.folder.clone().unwrap_or_else(|| default_output(drive));
    if output.exists() {
        return Err(usage(flashscope_result::Error::Exists(output)));
    }
    let new_file = drives::file_to_create(drive);
    let (scratch, ignore_open_by_others) = (!args.keep, args.consent.ignore_open_by_others);
    let purpose = Purpose { scratch, ignore_open_by_others, ..purpose };
    let (mut device, inside) = drives::open_to_watch(drive, &purpose)?;
    let surroundings = drives::surroundings(drive);
    let environment = surroundings.as_ref().map(Surroundings::environment);
    let prepared = plan(device.as_mut(), sink)
        .and_then(|(options, plan)| manifest(device.as_ref(), plan, options))
        .map(|manifest| {
            let around = |before| HealthAround { before, after: None, change: None };
            Manifest { environment, health: drives::health(drive).map(around), ..manifest }
        })
        .and_then(|manifest| Ok((create(&output, &manifest)?, manifest)));
    let (folder, mut manifest) = drives::keep_if_prepared(new_file, prepared)?;
    let lock = folder.lock()?;
    let watching = SideChannels { inside, surroundings: surroundings.as_ref() };
    let facts = measure(device.as_mut(), &mut manifest, &folder, (stop, sink), watching)?;
    drop((lock, device));
    tidy(&manifest, sink)?;
    Ok(BenchResult { folder, manifest, facts })
}

/// Removes the file that was created as the drive, if the plan is complete. The drive must be
/// closed.
fn tidy(manifest: &Manifest, sink: &mut dyn Progress) -> Result<(), Failure> {
    if manifest.status != Status::Complete {
        return Ok(());
    }
    if let Some(path) = drives::remove_scratch(&manifest.device.name)? {
        let path = path.display();
        sink.note(&format!("removed `{path}`, which was created for this run; --keep keeps it"));
    }
    Ok(())
}

/// The options and the runs of a plan.
type PlannedRuns = (Options, Vec<MicroBenchmark>);

/// Sources of information about a drive besides its response times.
#[derive(Default)]
pub struct SideChannels<'a> {
    /// The internal activity, for a simulated drive.
    pub inside: Option<Inside>,
    /// The state of the machine around the drive, for a real drive.
    pub surroundings: Option<&'a Surroundings>,
}

/// Executes the plan of `manifest` on `device` until `stop` is set, and analyses the records.
///
/// # Errors
/// If records cannot be written or read back.
pub fn measure(
    device: &mut dyn Device,
    manifest: &mut Manifest,
    folder: &ResultFolder,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
    watching: SideChannels<'_>,
) -> Result<Facts, Failure> {
    let resumed = !manifest.resumed.is_empty();
    let forgot = resumed && flashscope_measure::forgets(device.info());
    let SideChannels { inside, surroundings } = watching;
    let mut keeper = Keeper::new(Ahead::new(manifest, forgot, sink), inside, folder);
    let observer = &mut keeper;
    let bench = Bench { device, folder, manifest, forgot, stop, observer, surroundings }.run();
    let kept = keeper.finish();
    if let Some(around) = &mut manifest.health {
        around.after = drives::health(&manifest.device.name);
        let change = |after| HealthChange::between(&around.before, after);
        around.change = around.after.as_ref().map(change);
        folder.write_manifest(manifest)?;
    }
    let whereabouts = || format!("the measurements are in {}", folder.path().display());
    bench.with_context(whereabouts)?;
    kept.with_context(whereabouts)?;
    conclude(folder, manifest)
}

/// Analyses the records of a result and saves the facts.
fn conclude(folder: &ResultFolder, manifest: &Manifest) -> Result<Facts, Failure> {
    let facts = analyse(folder, manifest)?;
    folder.write_facts(&facts)?;
    if let Some(grid) = write_grid(manifest, &facts) {
        folder.write_grid(&grid)?;
    }
    Ok(facts)
}

/// Creates a result folder. A name that is already taken is a usage error.
///
/// # Errors
/// If the folder exists, or cannot be created.
pub fn create(output: &Path, manifest: &Manifest) -> Result<ResultFolder, Failure> {
    ResultFolder::create(output, manifest).map_err(not_made)
}

/// Creates the manifest for a plan before its first run.
///
/// # Errors
/// If no run of the plan can run on the drive.
pub fn manifest(
    device: &dyn Device,
    plan: Vec<MicroBenchmark>,
    options: Options,
) -> Result<Manifest, Failure> {
    let clock = Clock::new();
    let calibration = clock.calibrate();
    let calibration = Calibration {
        clock_resolution_ns: calibration.clock_resolution,
        clock_cost_ns: calibration.clock_cost,
        harness_cost_ns: Some(harness_cost(|| clock.now())),
    };
    let (info, machine) = (device.info().clone(), machine::describe());
    let manifest =
        Manifest::new(build::tool(), machine, calibration, info, options, plan, timestamp());
    let skipped = manifest.runs().find_map(|run| match &run.progress {
        RunProgress::Skipped { reason } => Some(reason),
        _ => None,
    });
    let nothing = manifest.runs().all(|run| run.progress != RunProgress::Pending);
    match skipped.filter(|_| nothing) {
        Some(reason) => {
            let name = &device.info().name;
            Err(usage(anyhow!(
                "none of the runs can run on `{name}`; the reason for the first run: {reason}"
            )))
        }
        None => Ok(manifest),
    }
}

/// Returns the default name of a result, from the drive and the time, such as
/// `sim-demo-20260102-030405.flashscope`.
pub(crate) fn default_output(drive: &str) -> PathBuf {
    let name = drive.split('?').next().unwrap_or(drive);
    let words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let time: String = timestamp().chars().filter(char::is_ascii_digit).collect();
    let (day, second) = time.split_at_checked(8).unwrap_or((&time, ""));
    format!("{}-{day}-{second}.flashscope", words.join("-")).into()
}
