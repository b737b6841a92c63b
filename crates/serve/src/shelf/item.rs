//! What the shelf shows of a result, without opening its records.

use std::fs;
use std::path::Path;

use flashscope_analysis::Facts;
use flashscope_analysis::facts::SCHEMA_VERSION;
use flashscope_block::DeviceInfo;
use flashscope_report::{ResultKind, ShelfItem};
use flashscope_result::manifest::{Progress, Status};
use flashscope_result::marks::Marks;

use flashscope_result::{Manifest, ResultFolder, read_probe, read_simulation};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::scan::{Found, Stamps};
use crate::limits;

/// What is read of a simulation for the shelf.
#[derive(Deserialize)]
struct SimulationHead {
    drive: DeviceInfo,
    workload: String,
    #[serde(default)]
    ios: u64,
}

/// What is read of a probe for the shelf.
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

/// How a result looks on the shelf under `id`.
pub fn item(found: &Found, id: String) -> ShelfItem {
    let kind = match found.stamps {
        Stamps { manifest: Some(_), .. } => ResultKind::Measurement,
        Stamps { simulation: Some(_), .. } => ResultKind::Simulation,
        Stamps { probe: Some(_), .. } => ResultKind::Probe,
        _ => ResultKind::Measurement,
    };
    let mut item = ShelfItem {
        id,
        name: found.name.clone(),
        kind,
        problem: None,
        device: None,
        started: None,
        status: None,
        runs_done: 0,
        runs_planned: 0,
        ios: 0,
        workload: None,
        characteristics: None,
    };
    let filled = match kind {
        ResultKind::Measurement => measurement(&mut item, &found.path),
        ResultKind::Simulation => simulation(&mut item, &found.path),
        ResultKind::Probe => probe(&mut item, &found.path),
    };
    item.problem = filled.err().map(|problem| without_path(&problem, found));
    item
}

/// What is wrong, without where the folders of the shelf lie: who looks may be on another machine.
fn without_path(problem: &str, found: &Found) -> String {
    problem.replace(&found.path.display().to_string(), &found.name)
}

fn measurement(item: &mut ShelfItem, path: &Path) -> Result<(), String> {
    let (_, manifest) = open(path)?;
    let facts = facts(path, &manifest);
    item.runs_planned = count(&manifest, |progress| !matches!(progress, Progress::Skipped { .. }));
    item.runs_done = count(&manifest, |progress| matches!(progress, Progress::Done { .. }));
    let ios = manifest.runs().map(|run| run.progress.ios());
    item.ios = ios.fold(0, u64::saturating_add);
    item.started = Some(manifest.started);
    item.status = Some(manifest.status);
    item.device = Some(manifest.device);
    item.characteristics = facts.map(|facts| facts.characteristics);
    Ok(())
}

fn count(manifest: &Manifest, which: impl Fn(&Progress) -> bool) -> u64 {
    manifest.runs().filter(|run| which(&run.progress)).count() as u64
}

fn simulation(item: &mut ShelfItem, path: &Path) -> Result<(), String> {
    let head = serde_json::from_value(simulation_json(path)?);
    let head: SimulationHead =
        head.map_err(|error| format!("the simulation in {} is damaged: {error}", path.display()))?;
    item.device = Some(head.drive);
    item.workload = Some(head.workload);
    item.ios = head.ios;
    Ok(())
}

fn probe(item: &mut ShelfItem, path: &Path) -> Result<(), String> {
    let head = serde_json::from_value(probe_json(path)?);
    let head: ProbeHead =
        head.map_err(|error| format!("the probe in {} is damaged: {error}", path.display()))?;
    let runs = || head.steps.iter().flat_map(|step| &step.runs);
    item.ios = runs().fold(0, |sum, run| sum.saturating_add(run.ios));
    item.runs_done = runs().count() as u64;
    item.runs_planned = item.runs_done;
    item.device = Some(head.drive);
    item.started = Some(head.began);
    item.status = Some(head.status);
    Ok(())
}

/// Opens the measurement at `path`, or says what is wrong with it.
pub fn open(path: &Path) -> Result<(ResultFolder, Manifest), String> {
    let file = path.join("manifest.json");
    if file.symlink_metadata().is_ok() {
        check(&file, limits::MANIFEST)?;
    }
    ResultFolder::open(path).map_err(|error| error.to_string())
}

/// The facts that lie beside `manifest`, where they are of the present format and of all its runs.
pub fn facts(path: &Path, manifest: &Manifest) -> Option<Facts> {
    let facts: Facts = read(&path.join("facts.json"), limits::FACTS).ok()?;
    let known: Vec<u32> = facts.runs.iter().map(|facts| facts.run).collect();
    let mut done = manifest.runs().filter(|run| run.progress.ios() > 0);
    let whole =
        done.all(|run| known.contains(&run.id) || !matches!(run.progress, Progress::Done { .. }));
    (facts.schema_version == SCHEMA_VERSION && whole).then_some(facts)
}

/// The corrections of the result at `path`; none where there are none.
pub fn marks(path: &Path) -> Result<Marks, String> {
    let file = path.join("marks.json");
    if file.symlink_metadata().is_err() { Ok(Marks::default()) } else { read(&file, limits::MARKS) }
}

/// The simulation at `path` as it was written.
pub fn simulation_json(path: &Path) -> Result<Value, String> {
    check(&path.join("simulation.json"), u64::MAX)?;
    read_simulation(path).map_err(|error| error.to_string())
}

/// The probe at `path` as it was written.
pub fn probe_json(path: &Path) -> Result<Value, String> {
    check(&path.join("probe.json"), u64::MAX)?;
    read_probe(path).map_err(|error| error.to_string())
}

/// What the JSON file at `path` holds, if it is a file of at most `largest` bytes.
fn read<T: DeserializeOwned>(path: &Path, largest: u64) -> Result<T, String> {
    check(path, largest)?;
    let text =
        fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{} is damaged: {error}", path.display()))
}

/// Refuses what is no file, such as a link or a pipe, which may lead anywhere and never end.
fn check(path: &Path, largest: u64) -> Result<(), String> {
    let metadata = path.symlink_metadata();
    let metadata = metadata.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if !metadata.is_file() {
        return Err(format!("{} is no file: copy the result as files", path.display()));
    }
    let len = metadata.len();
    if len > largest {
        return Err(format!(
            "{} has {len} bytes: more than {largest} are not read, and no flashscope writes so many",
            path.display()
        ));
    }
    Ok(())
}
