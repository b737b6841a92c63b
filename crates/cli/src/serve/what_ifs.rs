//! Answers the what-ifs of the web application.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use flashscope_analysis::conclusions::Conclude;
use flashscope_command::what_if::{RowSink, answer, repeats};
use flashscope_command::{Progress, Step};
use flashscope_document::what_if::{Change, WhatIf};
use flashscope_report::{WhatIfChoice, WhatIfChoices, WhatIfQuestion, WhatIfQuestionVariant};
use flashscope_serve::what_if::{AnswerFn, Tell, WhatIfs};
use flashscope_sim::budget::Budget;
use flashscope_sim::setup;
use flashscope_simulate::what_if::{Question, VariantRequest, changes};
use flashscope_simulate::{self, Resources, Work};
use flashscope_workload::synthetic;

/// Common changes, with their description.
const CHANGES: [(&str, &str); 7] = [
    ("over_provisioning=0.28", "more over-provisioning"),
    (
        "cleaning.frontiers=host-and-cleaning",
        "separate blocks for pages that garbage collection moves",
    ),
    (
        "placement.handles=8,workload.streams=true",
        "placement (FDP): separate blocks for the data of each stream of the workload",
    ),
    ("workload.trims=0.2", "TRIM, in a synthetic workload"),
    ("workload.ops=read,write", "no TRIM, in a trace that contains it"),
    ("ftl=fast,persistence.map=pages,background_cleaning=false", "another FTL: FAST"),
    ("cleaning.policy=fifo", "garbage collection in FIFO order"),
];

/// The what-ifs of the server, which simulations answer. Requests can name profiles, workloads, and
/// the files that the operator of the server offers, but no other files.
pub(super) struct Simulating {
    /// Profiles in TOML, such as twins.
    pub drives: Vec<PathBuf>,
    /// Traces.
    pub traces: Vec<PathBuf>,
    /// The memory budget of all simulated drives together.
    pub memory: Budget,
}

impl WhatIfs for Simulating {
    fn choices(&self) -> WhatIfChoices {
        let choice = |name: String, summary: &str| WhatIfChoice { name, summary: summary.into() };
        let own = |prefix: &str, path: &Path, summary| {
            choice(format!("{prefix}{}", name_of(path)), summary)
        };
        let kinds = setup::KINDS.iter();
        let drives = kinds.map(|kind| choice(format!("sim:{}", kind.name), kind.summary));
        let workloads = synthetic::KINDS.iter().filter(|kind| kind.argument.is_none());
        let workloads = workloads.map(|kind| choice(kind.name.into(), kind.summary));
        let fields =
            setup::field_names().iter().map(|name| choice(name.clone(), "field of the drive"));
        let mut fields: Vec<WhatIfChoice> = fields.collect();
        let of_workloads = synthetic::KINDS.iter().flat_map(|kind| kind.all_fields());
        for field in of_workloads {
            let name = format!("workload.{}", field.name);
            if !fields.iter().any(|known| known.name == name) {
                fields.push(choice(name, field.summary));
            }
        }
        let twins = self.drives.iter().map(|path| own("sim:", path, "offered by this server"));
        let traces = self.traces.iter().map(|path| own("trace:", path, "offered by this server"));
        WhatIfChoices {
            drives: twins.chain(drives).collect(),
            workloads: traces.chain(workloads).collect(),
            fields,
            changes: CHANGES.iter().map(|(name, of)| choice((*name).into(), of)).collect(),
        }
    }

    fn ask(&self, asked: &WhatIfQuestion) -> Result<Box<AnswerFn>, String> {
        let work =
            Work { workload: self.workload(&asked.workload)?, ios: asked.ios, ..Work::default() };
        let base =
            flashscope_simulate::SimulationRequest { drive: self.drive(&asked.drive)?, work };
        let variants: Result<Vec<VariantRequest>, String> =
            asked.variants.iter().map(|variant| self.variant(variant)).collect();
        let repeats = asked.repeats.unwrap_or_else(|| repeats(&base));
        let question = Question::new(base, variants?, repeats, &self.memory);
        let question = question.map_err(|error| error.to_string())?;
        let memory = self.memory.clone();
        Ok(Box::new(move |stop: &AtomicBool, tell: &mut Tell<'_>| {
            let jobs = std::thread::available_parallelism().map_or(1, usize::from);
            let resources = Resources { jobs, memory: memory.clone(), stop };
            let answer = answer(&question, &resources, &mut AnswerSender(tell));
            tell(&answer);
        }))
    }
}

impl Simulating {
    /// Returns the drive of this name: a profile, or a file that the server offers.
    fn drive(&self, spec: &str) -> Result<String, String> {
        let (name, fields) = spec.split_once('?').map_or((spec, None), |(n, f)| (n, Some(f)));
        let name = name.strip_prefix("sim:").unwrap_or(name);
        if setup::KINDS.iter().any(|kind| kind.name == name) {
            return Ok(spec.into());
        }
        let path = given(&self.drives, name).ok_or_else(|| {
            format!("`{name}` is not a drive of this server: choose a drive that the server lists")
        })?;
        Ok(format!("sim:{}{}", path.display(), query(fields)))
    }

    /// Returns the workload of this name; a trace must be a file that the server offers.
    fn workload(&self, spec: &str) -> Result<String, String> {
        let (name, fields) = spec.split_once('?').map_or((spec, None), |(n, f)| (n, Some(f)));
        let Some(name) = name.strip_prefix("trace:") else { return Ok(spec.into()) };
        let path = given(&self.traces, name).ok_or_else(|| {
            format!("`{name}` is not a trace of this server: add it with --trace")
        })?;
        Ok(format!("trace:{}{}", path.display(), query(fields)))
    }

    fn variant(&self, asked: &WhatIfQuestionVariant) -> Result<VariantRequest, String> {
        let WhatIfQuestionVariant { name, changes: text } = asked;
        let mut changes = changes(text).map_err(|error| error.to_string())?;
        for Change { field, value } in &mut changes {
            match field.as_str() {
                "drive" => *value = self.drive(value)?,
                "workload" => *value = self.workload(value)?,
                _ => {}
            }
        }
        let name = name.clone().filter(|name| !name.trim().is_empty());
        Ok(VariantRequest { name: Some(name.unwrap_or_else(|| text.trim().into())), changes })
    }
}

fn query(fields: Option<&str>) -> String {
    fields.map(|fields| format!("?{fields}")).unwrap_or_default()
}

fn given<'a>(paths: &'a [PathBuf], name: &str) -> Option<&'a PathBuf> {
    paths.iter().find(|path| name_of(path) == name)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A sink that sends the answer so far after each row.
struct AnswerSender<'a, 'b>(&'a mut Tell<'b>);

impl Progress for AnswerSender<'_, '_> {
    fn show(&mut self, _step: &Step<'_>) {}

    fn note(&mut self, _text: &str) {}
}

impl RowSink for AnswerSender<'_, '_> {
    fn predicted(&mut self, so_far: &WhatIf, _nth: usize) {
        (self.0)(so_far);
    }

    fn simulated(&mut self, so_far: &WhatIf, _nth: usize) {
        (self.0)(&so_far.clone().with_conclusions());
    }
}
