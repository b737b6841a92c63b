use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use flashscope_block::DeviceKind;
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
use flashscope_document::manifest::SCHEMA_VERSION;
use flashscope_workload::pattern::Reference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Content, Part, Submitted, check_device, check_fields, check_files, check_ios, check_name,
    check_texts, check_version, id_of, identified, last_part, strip_device,
};
use crate::check::Ranges;
use crate::limits;

/// A measurement that is to be published, without its records.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasurementSubmission {
    /// Its name for people.
    #[schemars(length(min = 1, max = limits::NAME))]
    pub name: String,
    /// What was measured, and how.
    pub manifest: Manifest,
    /// What was found, as the sender sees it.
    pub facts: Facts,
    /// The files of its records, and of what a simulated drive did inside.
    pub parts: Vec<Part>,
    /// Whether the serial number of the drive is to be published, too.
    #[serde(default)]
    pub with_serial: bool,
}

/// What its fields may be.
static RANGES: LazyLock<Ranges> = LazyLock::new(Ranges::of::<MeasurementSubmission>);

impl Submitted for MeasurementSubmission {
    fn id(&self) -> String {
        let records = identified(&self.parts, Content::Records);
        let activities = identified(&self.parts, Content::Activities);
        // What has no activities keeps the id that it had before there were any here.
        match activities.is_empty() {
            true => id_of(&(&self.manifest, records)),
            false => id_of(&(&self.manifest, records, activities)),
        }
    }

    fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        let manifest = self.manifest.schema_version;
        if manifest > SCHEMA_VERSION {
            check_version("the manifest", manifest, SCHEMA_VERSION, "")?;
        }
        let known = flashscope_document::facts::SCHEMA_VERSION;
        let older = "submit with the version of flashscope that the registry has";
        check_version("the facts", self.facts.schema_version, known, older)?;
        check_device(&self.manifest.device)?;
        check_texts([("time of the start", self.manifest.started.as_str())])?;
        check_files(&self.parts)?;
        check_fields(self, &RANGES, || self.check_runs())
    }

    /// Leaves out what tells one drive or machine from others of its kind: serial number, paths of
    /// devices and files, names of drives of the system.
    fn strip(&mut self) {
        strip_device(&mut self.manifest.device, self.with_serial);
        let queue = self.manifest.environment.as_mut().and_then(|one| one.queue.as_mut());
        queue.into_iter().for_each(|queue| queue.drive.clear());
        for run in self.manifest.runs_mut() {
            if let Reference::Trace { playback, .. } = &mut run.reference {
                playback.files.iter_mut().for_each(|file| *file = last_part(file));
            }
        }
    }
}

impl MeasurementSubmission {
    /// Whether each run is there once, and they have no more IOs than are read.
    fn check_plan(&self) -> Result<(), String> {
        let mut known = BTreeSet::new();
        if let Some(run) = self.manifest.runs().find(|run| !known.insert(run.id)) {
            return Err(format!("there are two runs {}", run.id));
        }
        check_ios(self.manifest.runs().map(|run| run.progress.ios()))
    }

    /// Whether the files are those that the runs have.
    fn check_runs(&self) -> Result<(), String> {
        self.check_plan()?;
        let mut parts: BTreeMap<(Content, u32), u32> = BTreeMap::new();
        for part in &self.parts {
            *parts.entry((part.content, part.run)).or_default() += 1;
        }
        let recorded = || self.manifest.runs().filter(|run| run.progress.ios() > 0);
        if let Some(run) = recorded().find(|run| !parts.contains_key(&(Content::Records, run.id))) {
            return Err(format!("the records of run {} are not among the files", run.id));
        }
        let known: BTreeSet<u32> = recorded().map(|run| run.id).collect();
        if let Some((_, run)) = parts.keys().find(|(_, run)| !known.contains(run)) {
            return Err(format!("run {run} has files, and the manifest tells of no IO of it"));
        }
        let mut inside = parts.iter().filter(|((content, _), _)| *content == Content::Activities);
        match inside.find(|(_, count)| **count > 1 || self.manifest.device.kind != DeviceKind::Sim)
        {
            Some(((_, run), _)) if self.manifest.device.kind != DeviceKind::Sim => Err(format!(
                "run {run} has a file of activities, and only a simulated drive tells what it does inside"
            )),
            Some(((_, run), count)) => {
                Err(format!("run {run} has {count} files of activities instead of one"))
            }
            None => Ok(()),
        }
    }
}
