//! The views that the application shows, from the page itself or from a server.

use flashscope_analysis::Outline;
use flashscope_analysis::view::{Colours, Ios, Matches, RunViews};
use flashscope_block::DeviceInfo;
use flashscope_document::Manifest;
use flashscope_document::comparison::Comparison;
use flashscope_document::facts::Characteristics;
use flashscope_document::facts::Facts;
use flashscope_document::manifest::{Progress, Status};
use flashscope_document::marks::Marks;
use flashscope_document::running::{RunningCommand, ShelfCommands};
use flashscope_document::sweep::{Counts, ExploredSweep, RowStatus, Sweep, SweepStatus};
use flashscope_document::what_if::{Change, Variant, WhatIf, WhatIfStatus};
use flashscope_result::activity::Activity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All types that the application receives, so that one schema covers them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Views {
    /// The results on the shelf.
    pub shelf: Shelf,
    /// A measurement.
    pub result: Measurement,
    /// A run or a part of a run, reduced for a chart.
    pub outline: Outline,
    /// The views of a run.
    pub run_views: RunViews,
    /// Single IOs.
    pub ios: Ios,
    /// The IOs that match an expression.
    pub matches: Matches,
    /// An experiment as colours, with a row per run.
    pub colours: Colours,
    /// The internal activity of a drive during a run.
    pub activities: Vec<Activity>,
    /// A comparison of results.
    pub comparison: Comparison,
    /// The user's corrections of the summary grid.
    pub marks: Marks,
    /// A sweep with the results of its points.
    pub sweep: ExploredSweep,
    /// The choices for a what-if question.
    pub what_if_choices: WhatIfChoices,
    /// A what-if request.
    pub what_if_asked: WhatIfQuestion,
    /// The answer to a what-if request.
    pub what_if: WhatIf,
    /// The state of a command that runs.
    pub running: RunningCommand,
    /// The commands that write to a shelf.
    pub commands: ShelfCommands,
}

/// The choices for a what-if question.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhatIfChoices {
    /// Simulated drives.
    pub drives: Vec<WhatIfChoice>,
    /// Workloads, and traces that the server offers.
    pub workloads: Vec<WhatIfChoice>,
    /// Fields that can be changed.
    pub fields: Vec<WhatIfChoice>,
    /// Common changes, as `field=value`.
    pub changes: Vec<WhatIfChoice>,
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhatIfChoice {
    /// The text to insert.
    pub name: String,
    /// A description.
    pub summary: String,
}

/// A what-if request: a baseline and changes to try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIfQuestion {
    /// The baseline drive: one of the choices. Fields to set may follow after `?`.
    pub drive: String,
    /// The workload: one of the choices. Fields to set may follow after `?`.
    pub workload: String,
    /// The number of IOs to measure in each simulation; the default is that of
    /// `flashscope simulate`.
    #[serde(default)]
    pub ios: Option<u64>,
    /// The number of simulations of each variant; 1 by default.
    #[serde(default)]
    pub repeats: Option<u32>,
    /// The variants, each with its changes.
    pub variants: Vec<WhatIfQuestionVariant>,
}

/// A variant in a what-if request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIfQuestionVariant {
    /// The name of the variant; by default its changes.
    #[serde(default)]
    pub name: Option<String>,
    /// The changes, as `field=value,field=value`.
    pub changes: String,
}

/// The list of results, with the data that are available without opening records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shelf {
    /// The number of results that match the query.
    pub total: u64,
    /// The results on the requested page of the list.
    pub items: Vec<ShelfItem>,
}

/// A result on the shelf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShelfItem {
    /// The id in addresses.
    pub id: String,
    /// The name of the folder, or of the file of a twin, without its extension.
    pub name: String,
    /// The kind of the result.
    pub kind: ResultKind,
    /// The reason why the result cannot be shown, and the remedy; absent if the result can be
    /// shown.
    pub problem: Option<String>,
    /// The drive.
    pub device: Option<DeviceInfo>,
    /// The start time, as RFC 3339 in UTC.
    pub started: Option<String>,
    /// The status of a measurement, probe, sweep or what-if.
    pub status: Option<Status>,
    /// Completed runs.
    pub runs_done: u64,
    /// Planned runs, without runs that are impossible on the drive.
    pub runs_planned: u64,
    /// IOs recorded.
    pub ios: u64,
    /// The workload of a simulation, as the user wrote it; for a what-if or a prediction, the
    /// workload and the drive.
    pub workload: Option<String>,
    /// The factors of a sweep or a what-if; empty for other results.
    #[serde(default)]
    pub factors: Vec<String>,
    /// The results that a twin was fitted to; empty for other results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted_to: Vec<String>,
    /// The key characteristics; absent if the result was not analysed yet.
    pub characteristics: Option<Characteristics>,
}

impl ShelfItem {
    /// Returns an item of which only id, name and kind are known.
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
            fitted_to: Vec::new(),
            characteristics: None,
        }
    }

    /// Returns the item of a measurement, with its facts if they are known.
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

    /// Returns the item of a simulation of `workload` on `device` that measured `ios` IOs.
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

    /// Returns the item of a sweep, whose simulations count as runs.
    pub fn sweep(id: String, name: String, sweep: Sweep) -> ShelfItem {
        let Counts { requested, done, impossible, failed, .. } = sweep.counts;
        ShelfItem {
            runs_done: done,
            runs_planned: requested.saturating_sub(impossible).saturating_sub(failed),
            status: Some(match sweep.status {
                SweepStatus::Complete => Status::Complete,
                SweepStatus::Unfinished => Status::Interrupted,
            }),
            factors: sweep.factors,
            ..ShelfItem::unread(id, name, ResultKind::Sweep)
        }
    }

    /// Returns the item of a what-if, whose baseline and variants count as runs.
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

    /// Returns the item of a twin that was fitted to `sources`.
    pub fn twin(id: String, name: String, sources: Vec<String>) -> ShelfItem {
        ShelfItem { fitted_to: sources, ..ShelfItem::unread(id, name, ResultKind::Twin) }
    }

    /// Returns the item of a prediction of `workload` on `drive`.
    pub fn prediction(id: String, name: String, workload: &str, drive: &str) -> ShelfItem {
        let workload = Some(format!("{workload} on {drive}"));
        ShelfItem { workload, ..ShelfItem::unread(id, name, ResultKind::Prediction) }
    }

    /// Returns the item of a probe of `device` that began at `started`. `runs` yields the IOs of
    /// each run.
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

/// The kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// A benchmark of a drive: `manifest.json`, records, facts.
    Measurement,
    /// A simulated workload: `simulation.json`.
    Simulation,
    /// The internals of a drive, as a probe inferred them: `probe.json`, records.
    Probe,
    /// A sweep over a design space: `sweep.json`, `points.parquet`.
    Sweep,
    /// A workload on a simulated drive and on variants of it: `what-if.json`.
    WhatIf,
    /// A simulated drive that was fitted to measurements: `NAME.twin.json`.
    Twin,
    /// The prediction of a model or of a twin: `prediction.json`.
    Prediction,
}

/// A measurement without its records.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Measurement {
    /// The id in addresses.
    pub id: String,
    /// The name of the folder without its extension.
    pub name: String,
    /// The manifest: what was measured, and how.
    pub manifest: Manifest,
    /// The findings of the analysis.
    pub facts: Facts,
    /// The user's corrections of the summary grid.
    pub marks: Marks,
}
