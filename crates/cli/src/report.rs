//! The command `flashscope report`.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "writes the page of a report: after check_output if the user names the file, else into the result folder, where a link is replaced and not followed"
    )
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use flashscope_analysis::analyse_with_progress;
use flashscope_analysis::conclusions::{Conclude, prediction_with_conclusions, with_conclusions};
use flashscope_analysis::view::{OUTLINE_BUCKETS, Overviews, Viewer};
use flashscope_command::compare::unique_names;
use flashscope_command::not_opened;
use flashscope_document::facts::Facts;
use flashscope_document::marks::Marks;
use flashscope_document::prediction::PredictionReport;
use flashscope_document::probe::ProbeReport;
use flashscope_document::sweep::ExploredSweep;
use flashscope_document::twin::{Twin, TwinPrediction};
use flashscope_document::what_if::WhatIf;
use flashscope_document::{Manifest, Simulation};
use flashscope_drive::guard::check_output;
use flashscope_report::{
    Exhibit, Exhibits, PredictedExhibit, ProbedExhibit, Report, SimulatedExhibit, SweptExhibit,
    TwinExhibit, WhatIfExhibit, html, terminal,
};
use flashscope_result::prediction::{is_of_twin, is_prediction, read_prediction};
use flashscope_result::sweep::{is_sweep, read_explored};
use flashscope_result::twin::{TWIN_ENDING, read_twin};
use flashscope_result::what_if::{is_what_if, read_what_if};
use flashscope_result::{
    Error, ResultFolder, is_probe, is_simulation, read_probe, read_simulation, write_output,
    write_text,
};
use serde::Deserialize as _;
use serde_json::Value;

use crate::args::ReportArgs;
use crate::progress::LateBar;
use crate::{Failure, print, usage};

pub(crate) fn report(args: &ReportArgs) -> Result<(), Failure> {
    let mut bar = LateBar::new();
    let results = args.results.iter().map(|path| OpenedResult::open(path, &mut bar));
    let results: Vec<OpenedResult> = results.collect::<Result<_, _>>()?;
    if args.terminal || args.json.is_given {
        bar.finish();
        for result in results {
            match args.terminal {
                true => write!(print::text_lines(), "{}", result.terminal()?)?,
                false => result.print_json(print::json_lines())?,
            }
        }
        return Ok(());
    }
    let default = match &args.results[..] {
        [one] if one.is_dir() => one.join("report.html"),
        _ => PathBuf::from("report.html"),
    };
    let page = page_of(&results, &mut bar)?;
    let path = match &args.output {
        Some(named) => {
            check_output(named).map_err(usage)?;
            write_output(named, &page).map(|()| named)
        }
        // An untrusted result may contain a link of this name; it is replaced, not followed.
        None => write_text(&default, &page).map(|()| &default),
    }?;
    bar.finish();
    writeln!(print::text_lines(), "{}", path.display())?;
    Ok(())
}

/// A result, opened for a report.
pub(crate) enum OpenedResult {
    Measurement { name: String, measured: Box<OpenedMeasurement> },
    Simulation { name: String, simulation: Value },
    Probe { name: String, probe: Value },
    Sweep { name: String, sweep: Box<ExploredSweep> },
    WhatIf { name: String, what_if: Box<WhatIf> },
    Twin { name: String, twin: Box<Twin> },
    Prediction { name: String, prediction: Value },
}

/// A measurement.
pub(crate) struct OpenedMeasurement {
    folder: ResultFolder,
    manifest: Manifest,
    facts: Facts,
    marks: Marks,
    overviews: Overviews,
}

impl OpenedResult {
    fn open(path: &Path, bar: &mut LateBar) -> Result<OpenedResult, Failure> {
        if is_simulation(path) {
            let simulation = read_simulation(path).map_err(not_opened)?;
            let simulation = with_conclusions::<Simulation<Value>>(simulation);
            return Ok(OpenedResult::Simulation { name: name_of(path), simulation });
        }
        if is_probe(path) {
            let probe = read_probe(path).map_err(not_opened)?;
            let probe = with_conclusions::<ProbeReport>(probe);
            return Ok(OpenedResult::Probe { name: name_of(path), probe });
        }
        if is_sweep(path) {
            let mut sweep = Box::new(read_explored(path).map_err(not_opened)?);
            sweep.sweep = sweep.sweep.with_conclusions();
            return Ok(OpenedResult::Sweep { name: name_of(path), sweep });
        }
        if is_what_if(path) {
            let what_if = read_what_if(path).map_err(not_opened)?;
            let what_if = Box::new(what_if.with_conclusions());
            return Ok(OpenedResult::WhatIf { name: name_of(path), what_if });
        }
        if is_prediction(path) {
            let prediction = read_prediction(path).map_err(not_opened)?;
            let prediction = prediction_with_conclusions(prediction);
            return Ok(OpenedResult::Prediction { name: name_of(path), prediction });
        }
        if path.is_file() {
            let twin = Box::new(read_twin(path).map_err(not_opened)?.with_conclusions());
            return Ok(OpenedResult::Twin { name: name_of(path), twin });
        }
        let (folder, manifest) = ResultFolder::open(path).map_err(not_opened)?;
        let facts = analyse_with_progress(&folder, &manifest, |done, total| {
            bar.show("reading the records", done, Some(total));
        })?;
        Ok(OpenedResult::measured(folder, manifest, facts)?)
    }

    /// Creates a measurement whose facts are known.
    pub(crate) fn measured(
        folder: ResultFolder,
        manifest: Manifest,
        facts: Facts,
    ) -> Result<OpenedResult, Error> {
        let (name, marks) = (name_of(folder.path()), folder.marks()?);
        let overviews = Overviews::new(std::thread::available_parallelism().map_or(1, usize::from));
        let measured = OpenedMeasurement { folder, manifest, facts, marks, overviews };
        Ok(OpenedResult::Measurement { name, measured: Box::new(measured) })
    }

    fn name(&self) -> &str {
        match self {
            OpenedResult::Measurement { name, .. }
            | OpenedResult::Simulation { name, .. }
            | OpenedResult::Probe { name, .. }
            | OpenedResult::Sweep { name, .. }
            | OpenedResult::WhatIf { name, .. }
            | OpenedResult::Twin { name, .. }
            | OpenedResult::Prediction { name, .. } => name,
        }
    }

    fn terminal(&self) -> Result<String, Failure> {
        match self {
            OpenedResult::Measurement { measured, .. } => {
                Ok(terminal(&measured.manifest, &measured.facts))
            }
            OpenedResult::Simulation { name, .. } => Err(usage(anyhow!(
                "{name} is a simulation, which has no summary for the terminal: omit --terminal for \
                 its page, or use --json"
            ))),
            OpenedResult::Probe { name, probe } => {
                let report: ProbeReport = serde_json::from_value(probe.clone())
                    .with_context(|| format!("{name}: probe.json is damaged"))?;
                Ok(crate::probe::text(&report))
            }
            OpenedResult::Sweep { sweep, .. } => Ok(flashscope_report::sweep(&sweep.sweep)),
            OpenedResult::WhatIf { what_if, .. } => Ok(flashscope_report::what_if(what_if)),
            OpenedResult::Twin { twin, .. } => Ok(crate::twin::text::twin(twin)),
            OpenedResult::Prediction { name, prediction } => prediction_text(name, prediction),
        }
    }

    /// Prints the result as JSON on one line.
    fn print_json(self, mut out: impl Write) -> Result<(), Failure> {
        match self {
            OpenedResult::Measurement { measured, .. } => {
                let outlines = measured.viewer().outlines(OUTLINE_BUCKETS)?;
                let OpenedMeasurement { manifest, facts, .. } = *measured;
                serde_json::to_writer(&mut out, &Report { manifest, facts, outlines })?;
            }
            OpenedResult::Simulation { simulation: document, .. }
            | OpenedResult::Probe { probe: document, .. }
            | OpenedResult::Prediction { prediction: document, .. } => {
                serde_json::to_writer(&mut out, &document)?;
            }
            OpenedResult::Sweep { sweep, .. } => serde_json::to_writer(&mut out, &sweep.sweep)?,
            OpenedResult::WhatIf { what_if, .. } => serde_json::to_writer(&mut out, &*what_if)?,
            OpenedResult::Twin { twin, .. } => serde_json::to_writer(&mut out, &*twin)?,
        }
        writeln!(out)?;
        Ok(())
    }
}

/// Renders the prediction of a model or of a twin for the terminal.
fn prediction_text(name: &str, prediction: &Value) -> Result<String, Failure> {
    let damaged = || format!("{name}: prediction.json is damaged");
    Ok(match is_of_twin(prediction) {
        true => crate::twin::text::prediction(
            &TwinPrediction::deserialize(prediction).with_context(damaged)?,
        ),
        false => crate::predict::text::text(
            &PredictionReport::deserialize(prediction).with_context(damaged)?,
        ),
    })
}

impl OpenedMeasurement {
    fn viewer(&self) -> Viewer<'_> {
        let OpenedMeasurement { folder, manifest, facts, overviews, .. } = self;
        Viewer { folder, manifest, facts, overviews }
    }
}

/// Returns the name of a result: its folder without `.flashscope`, or the file of a twin without
/// its extension.
fn name_of(path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ends = [".flashscope", TWIN_ENDING, ".toml"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).into()
}

/// Renders the page of results, with progress.
pub(crate) fn page_of(results: &[OpenedResult], bar: &mut LateBar) -> Result<String, Failure> {
    let ids = unique_names(results.iter().map(OpenedResult::name));
    let mut exhibits = Exhibits::default();
    for (result, id) in results.iter().zip(&ids) {
        match result {
            OpenedResult::Measurement { name, measured } => {
                let (viewer, marks) = (measured.viewer(), &measured.marks);
                exhibits.measurements.push(Exhibit { id, name, viewer, marks });
            }
            OpenedResult::Simulation { name, simulation } => {
                exhibits.simulations.push(SimulatedExhibit { id, name, simulation });
            }
            OpenedResult::Probe { name, probe } => {
                exhibits.probes.push(ProbedExhibit { id, name, probe });
            }
            OpenedResult::Sweep { name, sweep } => {
                exhibits.sweeps.push(SweptExhibit { id, name, sweep })
            }
            OpenedResult::WhatIf { name, what_if } => {
                exhibits.what_ifs.push(WhatIfExhibit { id, name, what_if });
            }
            OpenedResult::Twin { name, twin } => {
                exhibits.twins.push(TwinExhibit { id, name, twin });
            }
            OpenedResult::Prediction { name, prediction } => {
                exhibits.predictions.push(PredictedExhibit { id, name, prediction });
            }
        }
    }
    let page = html(&exhibits, |done, total| {
        bar.show("rendering the page", done, Some(total));
    })?;
    Ok(page)
}
