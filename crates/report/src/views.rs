//! What the application shows, whether it is in the page or comes from a server.

use flashscope_analysis::compare::Comparison;
use flashscope_analysis::facts::Characteristics;
use flashscope_analysis::view::{Colours, Ios, LatencyHistogram};
use flashscope_analysis::{Facts, Outline};
use flashscope_block::DeviceInfo;
use flashscope_result::Manifest;
use flashscope_result::activity::Activity;
use flashscope_result::manifest::{Progress, Status};
use flashscope_result::marks::Marks;
use flashscope_result::sweep::{Counts, Explored, RowStatus, Sweep, SweepStatus};
use flashscope_result::what_if::{Change, Variant, WhatIf, WhatIfStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that the application may be handed, so that its types follow from one schema.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Views {
    /// Results on a shelf.
    pub shelf: Shelf,
    /// One of them.
    pub result: Measurement,
    /// A run, or a stretch of it, as a picture.
    pub outline: Outline,
    /// How the response times of a run are distributed.
    pub histogram: LatencyHistogram,
    /// Single IOs.
    pub ios: Ios,
    /// An experiment in colours.
    pub colours: Colours,
    /// What a drive did inside during a run.
    pub activities: Vec<Activity>,
    /// Results side by side.
    pub comparison: Comparison,
    /// Corrections of the summary grid.
    pub marks: Marks,
    /// A design space, explored.
    pub sweep: Explored,
    /// What can be asked what would be if.
    pub what_if_choices: WhatIfChoices,
    /// What is asked so.
    pub what_if_asked: WhatIfAsked,
    /// What came of it.
    pub what_if: WhatIf,
}

/// What can be asked about.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhatIfChoices {
    /// Simulated drives.
    pub drives: Vec<WhatIfChoice>,
    /// Workloads, and traces that the server was given.
    pub workloads: Vec<WhatIfChoice>,
    /// Fields that can be set otherwise.
    pub fields: Vec<WhatIfChoice>,
    /// Changes that are often asked for, as they are written.
    pub changes: Vec<WhatIfChoice>,
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhatIfChoice {
    /// As it is written.
    pub name: String,
    /// What it is.
    pub summary: String,
}

/// What would be if.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIfAsked {
    /// The simulated drive as it is: one of the choices, with any field of it after `?`.
    pub drive: String,
    /// The workload: likewise.
    pub workload: String,
    /// Measure so many IOs of each simulation; without, as `flashscope simulate`.
    #[serde(default)]
    pub ios: Option<u64>,
    /// Simulations of each variant.
    #[serde(default)]
    pub repeats: Option<u32>,
    /// What would be otherwise, a variant each.
    pub variants: Vec<WhatIfAskedVariant>,
}

/// A variant that is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIfAskedVariant {
    /// What to call it; without, by its changes.
    #[serde(default)]
    pub name: Option<String>,
    /// What is set otherwise, as `field=value,field=value`.
    pub changes: String,
}

/// Results and what is known of each without opening its records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shelf {
    /// How many there are in all that were asked for.
    pub total: u64,
    /// Those that are shown.
    pub items: Vec<ShelfItem>,
}

/// A result on the shelf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShelfItem {
    /// Stands for it in addresses.
    pub id: String,
    /// The name of its folder without the ending.
    pub name: String,
    /// What kind of result it is.
    pub kind: ResultKind,
    /// Why it cannot be shown, and what to do; absent where it can.
    pub problem: Option<String>,
    /// The drive.
    pub device: Option<DeviceInfo>,
    /// When it began, as RFC 3339 in UTC.
    pub started: Option<String>,
    /// How far a measurement came.
    pub status: Option<Status>,
    /// Runs that were run to their end.
    pub runs_done: u64,
    /// Runs that were planned and possible.
    pub runs_planned: u64,
    /// IOs recorded.
    pub ios: u64,
    /// The workload of a simulation, as it was asked for; that of a what-if with the drive.
    pub workload: Option<String>,
    /// What a sweep or a what-if varies; nothing of other results.
    #[serde(default)]
    pub factors: Vec<String>,
    /// What summarizes the drive; absent where the facts were not found yet.
    pub characteristics: Option<Characteristics>,
}

impl ShelfItem {
    /// One of which nothing is known but what it is.
    pub fn unread(id: String, name: String, kind: ResultKind) -> ShelfItem {
        ShelfItem {
            id,
            name,
            kind,
            problem: None,
            device: None,
            started: None,
            status: None,
            runs_done: 0,
            runs_planned: 0,
            ios: 0,
            workload: None,
            factors: Vec::new(),
            characteristics: None,
        }
    }

    /// A measurement, with what was found of it, where that is known.
    pub fn measurement(
        id: String,
        name: String,
        manifest: Manifest,
        facts: Option<Facts>,
    ) -> ShelfItem {
        let count = |which: fn(&Progress) -> bool| {
            manifest.runs().filter(|run| which(&run.progress)).count() as u64
        };
        ShelfItem {
            runs_done: count(|progress| matches!(progress, Progress::Done { .. })),
            runs_planned: count(|progress| !matches!(progress, Progress::Skipped { .. })),
            ios: manifest.runs().map(|run| run.progress.ios()).fold(0, u64::saturating_add),
            started: Some(manifest.started),
            status: Some(manifest.status),
            device: Some(manifest.device),
            characteristics: facts.map(|facts| facts.characteristics),
            ..ShelfItem::unread(id, name, ResultKind::Measurement)
        }
    }

    /// A simulation of `workload` on `device`, of which so many IOs were measured.
    pub fn simulation(
        id: String,
        name: String,
        device: DeviceInfo,
        workload: String,
        ios: u64,
    ) -> ShelfItem {
        ShelfItem {
            device: Some(device),
            workload: Some(workload),
            ios,
            ..ShelfItem::unread(id, name, ResultKind::Simulation)
        }
    }

    /// A sweep, whose simulations count as runs.
    pub fn sweep(id: String, name: String, sweep: Sweep) -> ShelfItem {
        let Counts { asked, done, impossible, failed, .. } = sweep.counts;
        ShelfItem {
            runs_done: done,
            runs_planned: asked.saturating_sub(impossible).saturating_sub(failed),
            status: Some(match sweep.status {
                SweepStatus::Complete => Status::Complete,
                SweepStatus::Unfinished => Status::Interrupted,
            }),
            factors: sweep.factors,
            ..ShelfItem::unread(id, name, ResultKind::Sweep)
        }
    }

    /// A what-if, whose variants count as runs, the base among them.
    pub fn what_if(id: String, name: String, what_if: &WhatIf) -> ShelfItem {
        let count = |which: fn(&Variant) -> bool| {
            what_if.all().filter(|variant| which(variant)).count() as u64
        };
        let mut factors = Vec::new();
        for Change { field, .. } in what_if.variants.iter().flat_map(|variant| &variant.changes) {
            if !factors.contains(field) {
                factors.push(field.clone());
            }
        }
        let Variant { workload, drive, .. } = &what_if.base;
        ShelfItem {
            runs_done: count(|variant| variant.status == Some(RowStatus::Done)),
            runs_planned: count(|variant| matches!(variant.status, None | Some(RowStatus::Done))),
            status: Some(match what_if.status {
                WhatIfStatus::Complete => Status::Complete,
                WhatIfStatus::Unfinished => Status::Interrupted,
            }),
            workload: Some(format!("{workload} on {drive}")),
            factors,
            ..ShelfItem::unread(id, name, ResultKind::WhatIf)
        }
    }

    /// A probe of `device` that began at `started`, with the IOs of each of its runs.
    pub fn probe(
        id: String,
        name: String,
        device: DeviceInfo,
        started: String,
        status: Status,
        runs: impl Iterator<Item = u64>,
    ) -> ShelfItem {
        let (runs_done, ios) =
            runs.fold((0, 0_u64), |(runs, sum), ios| (runs + 1, sum.saturating_add(ios)));
        ShelfItem {
            ios,
            runs_done,
            runs_planned: runs_done,
            device: Some(device),
            started: Some(started),
            status: Some(status),
            ..ShelfItem::unread(id, name, ResultKind::Probe)
        }
    }
}

/// What kind of result it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// A benchmark of a drive: `manifest.json`, records, facts.
    Measurement,
    /// A simulated workload: `simulation.json`.
    Simulation,
    /// What was found of a drive's internals: `probe.json`, records.
    Probe,
    /// A design space, explored: `sweep.json`, `points.parquet`.
    Sweep,
    /// A workload on a simulated drive and on variants of it: `what-if.json`.
    WhatIf,
}

/// A measurement without its records.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Measurement {
    /// Stands for it in addresses.
    pub id: String,
    /// The name of its folder without the ending.
    pub name: String,
    /// What was measured, and how.
    pub manifest: Manifest,
    /// What was found.
    pub facts: Facts,
    /// Corrections of the summary grid.
    pub marks: Marks,
}
