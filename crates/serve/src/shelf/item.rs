//! Reads the items of the list of results, without opening records.

use std::fs;
use std::path::Path;

use flashscope_block::DeviceInfo;
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
use flashscope_document::facts::SCHEMA_VERSION;
use flashscope_document::manifest::{Progress, Status};
use flashscope_document::marks::Marks;
use flashscope_document::sweep::ExploredSweep;
use flashscope_document::twin::Twin;
use flashscope_document::what_if::WhatIf;
use flashscope_report::{ResultKind, ShelfItem};
use flashscope_result::prediction::read_prediction;
use flashscope_result::sweep::{read_explored, read_sweep};
use flashscope_result::twin::read_twin;
use flashscope_result::what_if::read_what_if;
use flashscope_result::{ResultFolder, read_probe, read_simulation};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::scan::{ResultEntry, Stamps};
use crate::limits;

/// The part of a simulation that the shelf needs.
#[derive(Deserialize)]
struct SimulationHead {
    drive: DeviceInfo,
    workload: String,
    #[serde(default)]
    ios: u64,
}

/// The part of a prediction that the shelf needs, of a model or of a twin.
#[derive(Deserialize)]
struct PredictionHead {
    drive: String,
    workload: String,
}

/// The part of a probe that the shelf needs.
#[derive(Deserialize)]
struct ProbeHead {
    drive: DeviceInfo,
    began: String,
    status: Status,
    steps: Vec<ProbeStep>,
}

#[derive(Deserialize)]
struct ProbeStep {
    runs: Vec<ProbeRun>,
}

#[derive(Deserialize)]
struct ProbeRun {
    ios: u64,
}

/// Returns the item for a result under `id`.
pub(super) fn item(entry: &ResultEntry, id: String) -> ShelfItem {
    let kind = match entry.stamps {
        Stamps { manifest: Some(_), .. } => ResultKind::Measurement,
        Stamps { simulation: Some(_), .. } => ResultKind::Simulation,
        Stamps { probe: Some(_), .. } => ResultKind::Probe,
        Stamps { sweep: Some(_), .. } => ResultKind::Sweep,
        Stamps { what_if: Some(_), .. } => ResultKind::WhatIf,
        Stamps { prediction: Some(_), .. } => ResultKind::Prediction,
        Stamps { twin: Some(_), .. } => ResultKind::Twin,
        _ => ResultKind::Measurement,
    };
    let read = match kind {
        ResultKind::Measurement => measurement(entry, &id),
        ResultKind::Simulation => simulation(entry, &id),
        ResultKind::Probe => probe(entry, &id),
        ResultKind::Sweep => sweep(entry, &id),
        ResultKind::WhatIf => what_if(entry, &id),
        ResultKind::Twin => twin(entry, &id),
        ResultKind::Prediction => prediction(entry, &id),
    };
    read.unwrap_or_else(|problem| ShelfItem {
        problem: Some(without_path(&problem, entry)),
        ..ShelfItem::unread(id, entry.name.clone(), kind)
    })
}

/// Replaces the path on this machine in a problem, since the client may be on another machine.
fn without_path(problem: &str, entry: &ResultEntry) -> String {
    problem.replace(&entry.path.display().to_string(), &entry.name)
}

fn measurement(entry: &ResultEntry, id: &str) -> Result<ShelfItem, String> {
    let (_, manifest) = open(&entry.path)?;
    let facts = facts(&entry.path, &manifest);
    Ok(ShelfItem::measurement(id.into(), entry.name.clone(), manifest, facts))
}

fn simulation(entry: &ResultEntry, id: &str) -> Result<ShelfItem, String> {
    let path = &entry.path;
    let head = serde_json::from_value(simulation_json(path)?);
    let head: SimulationHead =
        head.map_err(|error| format!("the simulation in {} is damaged: {error}", path.display()))?;
    let SimulationHead { drive, workload, ios } = head;
    Ok(ShelfItem::simulation(id.into(), entry.name.clone(), drive, workload, ios))
}

fn probe(entry: &ResultEntry, id: &str) -> Result<ShelfItem, String> {
    let path = &entry.path;
    let head = serde_json::from_value(probe_json(path)?);
    // A deliberate fault that the fuzz targets must find: a panic on an incomplete probe.
    if flashscope_block::canary::is_planted() && head.is_err() {
        panic!("the probe lacks something");
    }
    let head: ProbeHead =
        head.map_err(|error| format!("the probe in {} is damaged: {error}", path.display()))?;
    let ProbeHead { drive, began, status, steps } = head;
    let runs = steps.iter().flat_map(|step| &step.runs).map(|run| run.ios);
    Ok(ShelfItem::probe(id.into(), entry.name.clone(), drive, began, status, runs))
}

fn sweep(entry: &ResultEntry, id: &str) -> Result<ShelfItem, String> {
    check(&entry.path.join("sweep.json"), u64::MAX)?;
    let sweep = read_sweep(&entry.path).map_err(|error| error.to_string())?;
    Ok(ShelfItem::sweep(id.into(), entry.name.clone(), sweep))
}

fn what_if(entry: &ResultEntry, id: &str) -> Result<ShelfItem, String> {
    let what_if = kept_what_if(&entry.path)?;
    Ok(ShelfItem::what_if(id.into(), entry.name.clone(), &what_if))
}

fn twin(entry: &ResultEntry, id: &str) -> Result<ShelfItem, String> {
    let twin = twin_document(&entry.path)?;
    Ok(ShelfItem::twin(id.into(), entry.name.clone(), twin.sources))
}

fn prediction(entry: &ResultEntry, id: &str) -> Result<ShelfItem, String> {
    let path = &entry.path;
    let head = serde_json::from_value(prediction_json(path)?);
    let PredictionHead { drive, workload } =
        head.map_err(|error| format!("the prediction in {} is damaged: {error}", path.display()))?;
    Ok(ShelfItem::prediction(id.into(), entry.name.clone(), &workload, &drive))
}

/// Opens the measurement at `path`, or returns its problem.
pub(super) fn open(path: &Path) -> Result<(ResultFolder, Manifest), String> {
    let file = path.join("manifest.json");
    if file.symlink_metadata().is_ok() {
        check(&file, limits::MANIFEST)?;
    }
    ResultFolder::open(path).map_err(|error| error.to_string())
}

/// Returns the saved facts, if they have the current format and cover all complete runs of
/// `manifest`.
pub(super) fn facts(path: &Path, manifest: &Manifest) -> Option<Facts> {
    let facts: Facts = read(&path.join("facts.json"), limits::FACTS).ok()?;
    let known: Vec<u32> = facts.runs.iter().map(|facts| facts.run).collect();
    let mut done = manifest.runs().filter(|run| run.progress.ios() > 0);
    let whole =
        done.all(|run| known.contains(&run.id) || !matches!(run.progress, Progress::Done { .. }));
    (facts.schema_version == SCHEMA_VERSION && whole).then_some(facts)
}

/// Returns the user's corrections of a result; empty if there are none.
pub(super) fn marks(folder: &ResultFolder) -> Result<Marks, String> {
    let file = folder.path().join("marks.json");
    if file.symlink_metadata().is_ok() {
        check(&file, limits::MARKS)?;
    }
    folder.marks().map_err(|error| error.to_string())
}

/// Reads the document of the simulation at `path`.
pub(crate) fn simulation_json(path: &Path) -> Result<Value, String> {
    check(&path.join("simulation.json"), u64::MAX)?;
    read_simulation(path).map_err(|error| error.to_string())
}

/// Reads the document of the probe at `path`.
pub(crate) fn probe_json(path: &Path) -> Result<Value, String> {
    check(&path.join("probe.json"), u64::MAX)?;
    read_probe(path).map_err(|error| error.to_string())
}

/// Reads the what-if at `path`.
pub(crate) fn kept_what_if(path: &Path) -> Result<WhatIf, String> {
    check(&path.join("what-if.json"), u64::MAX)?;
    read_what_if(path).map_err(|error| error.to_string())
}

/// Reads the twin in the file at `path`.
pub(super) fn twin_document(path: &Path) -> Result<Twin, String> {
    check(path, u64::MAX)?;
    read_twin(path).map_err(|error| error.to_string())
}

/// Reads the document of the prediction at `path`.
pub(super) fn prediction_json(path: &Path) -> Result<Value, String> {
    check(&path.join("prediction.json"), u64::MAX)?;
    read_prediction(path).map_err(|error| error.to_string())
}

/// Reads the sweep at `path` with its points.
pub(super) fn explored(path: &Path) -> Result<ExploredSweep, String> {
    check(&path.join("sweep.json"), u64::MAX)?;
    read_explored(path).map_err(|error| error.to_string())
}

/// Reads the JSON file at `path`, if it has at most `largest` bytes.
fn read<T: DeserializeOwned>(path: &Path, largest: u64) -> Result<T, String> {
    check(path, largest)?;
    let text =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{} is damaged: {error}", path.display()))
}

/// Fails for anything but a regular file of at most `largest` bytes. A link may lead to any file,
/// and reading a pipe may never end.
fn check(path: &Path, largest: u64) -> Result<(), String> {
    let metadata = path.symlink_metadata();
    let metadata = metadata.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if !metadata.is_file() {
        return Err(format!("{} is not a regular file: copy the result as files", path.display()));
    }
    let len = metadata.len();
    if len > largest {
        return Err(format!(
            "{} has {len} bytes, more than the limit of {largest}, which no file of flashscope exceeds",
            path.display()
        ));
    }
    Ok(())
}
