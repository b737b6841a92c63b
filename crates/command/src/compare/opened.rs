use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use flashscope_analysis::analyse_with_progress;
use flashscope_analysis::compare::Subject;
use flashscope_document::facts::Facts;
use flashscope_document::prediction::PredictionReport;
use flashscope_document::twin::TwinPrediction;
use flashscope_document::what_if::{Variant, WhatIf};
use flashscope_document::{Manifest, Simulation};
use flashscope_measure::{Progress, Step, Unit};
use flashscope_result::prediction::{is_of_twin, is_prediction, read_prediction};
use flashscope_result::sweep::is_sweep;
use flashscope_result::what_if::{is_what_if, read_what_if};
use flashscope_result::{ResultFolder, is_probe, is_simulation, read_simulation};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ComparisonInput;
use crate::{Failure, not_opened, usage};

/// The maximum size of a JSON file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// A result, opened for a comparison.
pub(super) struct OpenedInput {
    name: String,
    content: Content,
}

enum Content {
    Measurement(Box<(Manifest, Facts)>),
    Simulation(Box<Simulation<Value>>),
    WhatIf { variant: Box<Variant>, repeats: u32 },
    Prediction(Box<PredictionReport>),
    TwinPrediction(Box<TwinPrediction>),
}

impl OpenedInput {
    /// Opens the results of an input. A what-if contains several results.
    pub(super) fn open(
        input: &ComparisonInput<'_>,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<OpenedInput>, Failure> {
        match *input {
            ComparisonInput::Document { name, json } => of_json(name, json, name, progress),
            ComparisonInput::Path(path) if path.is_file() => {
                let place = path.display().to_string();
                of_json(&name_of(path), &text_of(path, &place)?, &place, progress)
            }
            ComparisonInput::Path(path) => of_folder(path, stop, progress),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn subject(&self) -> Subject<'_> {
        match &self.content {
            Content::Measurement(measured) => {
                let (manifest, facts) = &**measured;
                Subject::Measurement { manifest, facts }
            }
            Content::Simulation(simulation) => Subject::Simulation(simulation),
            Content::WhatIf { variant, repeats } => Subject::WhatIf { variant, repeats: *repeats },
            Content::Prediction(report) => Subject::Prediction(report),
            Content::TwinPrediction(prediction) => Subject::TwinPrediction(prediction),
        }
    }
}

/// Opens the results in a folder.
fn of_folder(
    path: &Path,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn Progress,
) -> Result<Vec<OpenedInput>, Failure> {
    let (name, place) = (name_of(path), path.display().to_string());
    let refused = |what: &str, remedy: &str| {
        Err(usage(anyhow!("{place} is {what}, which cannot be compared: {remedy}")))
    };
    if is_probe(path) {
        return refused("a probe", "compare benchmarks of the drives (`flashscope bench`)");
    }
    if is_sweep(path) {
        return refused(
            "a sweep",
            "it compares its points already; simulate a point to compare it with other results",
        );
    }
    if is_what_if(path) {
        return Ok(of_what_if(&name, read_what_if(path).map_err(not_opened)?, progress));
    }
    let content = if is_prediction(path) {
        of_prediction(read_prediction(path).map_err(not_opened)?, &place)?
    } else if is_simulation(path) {
        let document = read_simulation(path).map_err(not_opened)?;
        Content::Simulation(Box::new(parsed(document, &place, "simulation")?))
    } else {
        of_measurement(path, stop, progress)?
    };
    Ok(vec![OpenedInput { name, content }])
}

fn of_measurement(
    path: &Path,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn Progress,
) -> Result<Content, Failure> {
    let (folder, manifest) = ResultFolder::open(path).map_err(not_opened)?;
    let folder = folder.stopped_by(stop);
    let facts = analyse_with_progress(&folder, &manifest, |done, total| {
        progress.show(&Step::of("reading the records", done, Some(total), Unit::Count));
    })?;
    Ok(Content::Measurement(Box::new((manifest, facts))))
}

/// Returns the baseline and the variants of a what-if that were simulated.
fn of_what_if(name: &str, what_if: WhatIf, progress: &mut dyn Progress) -> Vec<OpenedInput> {
    let repeats = what_if.repeats;
    let is_simulated = |variant: &Variant| {
        if variant.simulated.is_empty() {
            progress.note(&format!("{name}, {} was not simulated, and is left out", variant.name));
        }
        !variant.simulated.is_empty()
    };
    let of = |variant: Variant| OpenedInput {
        name: format!("{name}, {}", variant.name),
        content: Content::WhatIf { variant: Box::new(variant), repeats },
    };
    let all = std::iter::once(what_if.base).chain(what_if.variants);
    all.filter(is_simulated).map(of).collect()
}

/// Reads a file of JSON, which `place` names in errors.
fn text_of(path: &Path, place: &str) -> Result<String, Failure> {
    let size = fs::metadata(path).with_context(|| place.to_owned()).map_err(usage)?.len();
    if size > MAX_BYTES {
        return Err(usage(anyhow!(
            "{place} is larger than 64 MiB, the limit for the JSON of a result"
        )));
    }
    fs::read_to_string(path).with_context(|| place.to_owned()).map_err(usage)
}

/// Opens the results in the JSON of a command, which `place` names in errors.
fn of_json(
    name: &str,
    json: &str,
    place: &str,
    progress: &mut dyn Progress,
) -> Result<Vec<OpenedInput>, Failure> {
    let document: Value = serde_json::from_str(json)
        .with_context(|| format!("{place} is neither a result folder nor JSON"))
        .map_err(usage)?;
    let has = |field: &str| document.get(field).is_some();
    if has("base") && has("variants") {
        return Ok(of_what_if(name, parsed(document, place, "what-if")?, progress));
    }
    let content = if has("simulated_ns") && has("warm_up") {
        Content::Simulation(Box::new(parsed(document, place, "simulation")?))
    } else if has("validation") && has("ns_per_page") || has("is_amplification_identified") {
        of_prediction(document, place)?
    } else {
        let remedy = match has("draws") && has("profile") {
            true => {
                "is a twin, which is a drive and not a result: predict a workload with `flashscope twin predict --json`, or \
                 simulate it with `flashscope simulate --drive`"
            }
            false => "is not the JSON of `simulate`, `what-if`, `predict` or `twin predict`",
        };
        return Err(usage(anyhow!("{place} {remedy}")));
    };
    Ok(vec![OpenedInput { name: name.into(), content }])
}

/// Parses the prediction of a model or of a twin.
fn of_prediction(document: Value, place: &str) -> Result<Content, Failure> {
    Ok(match is_of_twin(&document) {
        true => Content::TwinPrediction(Box::new(parsed(document, place, "prediction of a twin")?)),
        false => Content::Prediction(Box::new(parsed(document, place, "prediction")?)),
    })
}

fn parsed<T: DeserializeOwned>(document: Value, place: &str, kind: &str) -> Result<T, Failure> {
    serde_json::from_value(document)
        .with_context(|| format!("{place}: the {kind} is damaged"))
        .map_err(usage)
}

/// Returns the name of a result: its file or folder without the extension.
fn name_of(path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.strip_suffix(".flashscope").or_else(|| name.strip_suffix(".json"));
    stem.unwrap_or(&name).into()
}
