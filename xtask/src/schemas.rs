//! Files that are generated from the code: the published JSON Schemas, and the reference pages.

mod limits;
mod shared;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flashscope_document::ranges::schema_of;
use schemars::Schema;
use serde_json::Value;

use crate::reference::{
    columns, drives, fio_jobs, papers, probe, profiles, unsafe_code, workloads,
};
use crate::writes;

/// A simulation with the findings of a simulated drive's observers.
type Simulation = flashscope_document::Simulation<flashscope_sim::observe::Findings>;

const FOLDER: &str = "docs/schemas";

/// The schemas of files that people write. They stay self-contained, because editors may not follow
/// references to files.
const SELF_CONTAINED: [&str; 2] = ["faults", "profile"];

fn all() -> [(&'static str, Schema); 32] {
    [
        ("manifest", schema_of::<flashscope_document::Manifest>()),
        ("facts", schema_of::<flashscope_document::facts::Facts>()),
        ("report", schemars::schema_for!(flashscope_report::Report)),
        ("views", schemars::schema_for!(flashscope_report::Views)),
        ("summary", schemars::schema_for!(flashscope_report::Summary)),
        ("plan", schemars::schema_for!(flashscope_document::plan::Plan)),
        ("grid", schemars::schema_for!(flashscope_document::grid::Grid)),
        ("devices", schemars::schema_for!(flashscope_attach::DeviceList)),
        ("live", schemars::schema_for!(flashscope_attach::DriveStatus)),
        ("faults", schemars::schema_for!(flashscope_attach::FaultPlan)),
        ("trace", schemars::schema_for!(flashscope_report::Trace)),
        ("profile", schemars::schema_for!(flashscope_sim::Profile)),
        ("simulation", schema_of::<Simulation>()),
        ("collection", schemars::schema_for!(flashscope_document::collection::Collection)),
        (
            "collection-prediction",
            schemars::schema_for!(flashscope_document::collection::CollectionPrediction),
        ),
        ("sweep", schemars::schema_for!(flashscope_document::sweep::Sweep)),
        ("what-if", schemars::schema_for!(flashscope_document::what_if::WhatIf)),
        ("comparison", schemars::schema_for!(flashscope_document::comparison::Comparison)),
        ("matches", schemars::schema_for!(flashscope_analysis::view::Matches)),
        ("prediction", schemars::schema_for!(flashscope_document::prediction::PredictionReport)),
        ("twin", schemars::schema_for!(flashscope_document::twin::Twin)),
        ("twin-check", schemars::schema_for!(flashscope_document::twin::Check)),
        ("twin-prediction", schemars::schema_for!(flashscope_document::twin::TwinPrediction)),
        ("probe", schema_of::<flashscope_document::probe::ProbeReport>()),
        ("conversion", schemars::schema_for!(flashscope_report::Conversion)),
        ("recording", schemars::schema_for!(flashscope_report::Recording)),
        ("reproduction", schemars::schema_for!(flashscope_papers::Reproductions)),
        ("attached", schemars::schema_for!(flashscope_report::AttachedDrive)),
        ("verification", schemars::schema_for!(flashscope_document::verification::Verification)),
        ("watch", schemars::schema_for!(flashscope_document::watch::WatchReport)),
        ("watch-folder", schemars::schema_for!(flashscope_document::watch::WatchHeader)),
        ("watch-reading", schemars::schema_for!(flashscope_document::watch::WatchReading)),
    ]
}

fn each(mut act: impl FnMut(&Path, String) -> Result<()>) -> Result<()> {
    let mut schemas = all().map(|(name, schema)| (name, schema.to_value()));
    limits::adopt(&mut schemas, &SELF_CONTAINED);
    let sharing = schemas.iter_mut().filter(|(name, _)| !SELF_CONTAINED.contains(name));
    let mut sharing: Vec<&mut Value> = sharing.map(|(_, schema)| schema).collect();
    let common = shared::extract(&mut sharing);
    for (name, schema) in schemas.iter().chain([&(shared::NAME, common)]) {
        let path = Path::new(FOLDER).join(format!("{name}.schema.json"));
        act(&path, serde_json::to_string_pretty(schema)? + "\n")?;
    }
    act(Path::new(columns::PATH), columns::page()?)?;
    act(Path::new(drives::PATH), drives::page()?)?;
    act(Path::new(fio_jobs::PATH), fio_jobs::page()?)?;
    act(Path::new(papers::PATH), papers::page()?)?;
    act(Path::new(probe::PATH), probe::page()?)?;
    act(Path::new(profiles::PATH), profiles::page()?)?;
    act(Path::new(unsafe_code::PATH), unsafe_code::page()?)?;
    act(Path::new(writes::PATH), writes::page()?)?;
    act(Path::new(workloads::PATH), workloads::page()?)
}

/// Writes the schemas and the reference pages.
pub(crate) fn write() -> Result<()> {
    fs::create_dir_all(FOLDER)?;
    each(|path, text| fs::write(path, text).with_context(|| path.display().to_string()))
}

/// Fails if a generated file differs from the code.
pub(crate) fn check() -> Result<()> {
    each(|path, text| {
        if fs::read_to_string(path).ok().as_deref() != Some(&text) {
            bail!("{} is stale: run `cargo xtask schemas`", path.display());
        }
        Ok(())
    })
}
