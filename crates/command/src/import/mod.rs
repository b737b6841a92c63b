//! `flashscope import`: measurements of other tools as results.

mod args;
mod fio;
mod smart;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub use args::ImportArgs;
use fio::{Fio, Job};
use flashscope_analysis::analyse;
use flashscope_block::{Bytes, DeviceInfo, DeviceKind, Nanos, Record};
use flashscope_document::Manifest;
use flashscope_document::environment::HealthChange;
use flashscope_document::facts::Facts;
use flashscope_document::manifest::{
    Calibration, Experiment, HealthAround, ImportNotes, Machine, MicroBenchmark, OnError, Options,
    Progress, Run, State, Status, Tool,
};
use flashscope_document::methodology::Methodology;
use flashscope_measure::{Progress as Sink, Step, Unit, jobs_benchmark, timestamp_of};
use flashscope_result::ResultFolder;
use flashscope_workload::pattern::{Pattern, Reference, Timing};
use flashscope_workload::uflip::{PerBaseline, Setup};
#[cfg(target_os = "linux")]
pub(crate) use smart::read as smart_log;

use crate::{Failure, not_made, usage};

/// An imported result.
pub struct ImportResult {
    /// The folder.
    pub path: PathBuf,
    /// The manifest: the jobs, as runs.
    pub manifest: Manifest,
    /// The facts of the analysis.
    pub facts: Facts,
}

/// Imports a measurement of fio.
///
/// # Errors
/// If the input cannot be read, has an option or a value that flashscope does not support, or
/// `stop` was set before all of it was read. After an error in the input, nothing is written.
pub fn import(
    args: &ImportArgs,
    stop: &AtomicBool,
    sink: &mut dyn Sink,
) -> Result<ImportResult, Failure> {
    let parent = args.file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let logs = args.logs.as_deref().or(parent).unwrap_or(Path::new("."));
    let fio = fio::read(&args.file, logs).map_err(usage)?;
    let health = health(args).map_err(usage)?;
    let mut recorded: Vec<(&Job, Vec<Record>)> = Vec::new();
    for (nth, job) in fio.jobs.iter().enumerate() {
        sink.show(&Step::of(
            "reading the logs",
            nth as u64,
            Some(fio.jobs.len() as u64),
            Unit::Count,
        ));
        recorded.push((job, job.records(stop).map_err(usage)?));
    }
    let origins = recorded.iter().map(|(job, records)| job.origin(records));
    let imported = Some(whole(origins));
    let manifest = Manifest { health, imported, ..manifest(&fio, &recorded) };
    manifest.check().map_err(anyhow::Error::msg)?;
    let path = match &args.output.folder {
        Some(path) => path.clone(),
        None => default_path(&args.file),
    };
    // Until all records are written, the manifest lists every run as pending.
    let mut pending = Manifest { status: Status::Running, ..manifest.clone() };
    pending.runs_mut().for_each(|run| run.progress = Progress::Pending);
    let folder = ResultFolder::create(&path, &pending).map_err(not_made)?;
    let mut recorder = folder.recorder();
    for (id, (_, records)) in (1..).zip(&recorded) {
        recorder.begin(id)?;
        records.iter().try_for_each(|record| recorder.push(record))?;
        recorder.end()?;
    }
    folder.write_manifest(&manifest)?;
    let facts = analyse(&folder, &manifest)?;
    folder.write_facts(&facts)?;
    Ok(ImportResult { path, manifest, facts })
}

/// Returns the origin of all records: the longest window, and all notes.
fn whole(origins: impl Iterator<Item = ImportNotes>) -> ImportNotes {
    let mut whole = ImportNotes { window_ns: None, notes: vec![] };
    for origin in origins {
        whole.window_ns = whole.window_ns.max(origin.window_ns);
        whole.notes.extend(origin.notes);
    }
    whole
}

fn default_path(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("{stem}.flashscope"))
}

/// Reads the SMART logs.
fn health(args: &ImportArgs) -> anyhow::Result<Option<HealthAround>> {
    let Some(before) = &args.smart_before else { return Ok(None) };
    let before = smart::read(before)?;
    let after = args.smart_after.as_deref().map(smart::read).transpose()?;
    let change = after.as_ref().map(|after| HealthChange::between(&before, after));
    Ok(Some(HealthAround { before, after, change }))
}

fn manifest(fio: &Fio, recorded: &[(&Job, Vec<Record>)]) -> Manifest {
    let all = recorded.iter().flat_map(|(_, records)| records);
    let ends = all.map(|record| record.offset + record.len);
    // Without offsets, only the options state the space.
    let stated = fio.jobs.iter().filter_map(|job| job.pattern.end);
    let end = ends.chain(stated).max().unwrap_or_default();
    let depth = fio.jobs.iter().map(Job::depth).max().unwrap_or(1);
    let is_device = fio.file.starts_with("/dev/");
    let device = DeviceInfo {
        name: fio.file.clone(),
        kind: if is_device { DeviceKind::Block } else { DeviceKind::File },
        capacity: end,
        logical_block: Bytes(512),
        queue_depth: depth,
        model: None,
        serial: None,
        firmware: None,
        engine: Some(format!("{} of {}", fio.engine, fio.version)),
    };
    let setup = Setup {
        io_size: fio.jobs[0].pattern.size,
        io_count: PerBaseline::same(recorded[0].1.len() as u64),
        ..Setup::paper(end, 0)
    };
    let options = Options {
        setup,
        state: State::Keep,
        spare: None,
        run_pause_ns: Nanos(0),
        on_error: OnError::Stop,
        methodology: Methodology::default(),
        rounds: None,
        grid: None,
    };
    // fio states neither the machine nor the cost of its own clock.
    let unknown = || "not stated by fio".to_string();
    let machine =
        Machine { processor: unknown(), processors: 0, memory_bytes: Bytes(0), kernel: unknown() };
    let calibration = Calibration {
        clock_resolution_ns: Nanos(1),
        clock_cost_ns: Nanos(0),
        harness_cost_ns: None,
    };
    let tool = Tool { version: fio.version.clone(), commit: None };
    let started = timestamp_of(fio.started);
    let plan = plan(recorded, end);
    let manifest =
        Manifest::new(tool, machine, calibration, device, options, plan, started.clone());
    Manifest { status: Status::Complete, finished: Some(started), ..manifest }
}

/// Returns the micro-benchmark of fio, with an experiment for each job.
fn plan(recorded: &[(&Job, Vec<Record>)], end: Bytes) -> Vec<MicroBenchmark> {
    let experiment = |(id, (job, records)): (u32, &(&Job, Vec<Record>))| {
        let of = &job.pattern;
        let ios = records.len() as u64;
        let start = records.iter().map(|record| record.offset).min().unwrap_or_default();
        let pattern = Pattern {
            op: of.op,
            address: of.address,
            timing: Timing::Consecutive,
            io_size: of.size,
            io_shift: Bytes(0),
            target_offset: start,
            target_size: Bytes(end.0 - start.0),
            io_count: ios,
            io_ignore: 0,
            seed: 0,
        };
        let (reads_percent, queue_depth) = (of.reads_percent, job.depth());
        let reference = match (reads_percent, queue_depth) {
            (0 | 100, 1) => Reference::Basic { pattern },
            _ => Reference::Blend { pattern, reads_percent, queue_depth, time: None },
        };
        let run = Run::new(id, i64::from(queue_depth), reference);
        let run = Run { progress: Progress::Done { ios }, ..run };
        Experiment { name: job.name.clone(), runs: vec![run] }
    };
    vec![jobs_benchmark((1..).zip(recorded).map(experiment).collect())]
}

#[cfg(test)]
mod logs_tests;
#[cfg(test)]
mod tests;
