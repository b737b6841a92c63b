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
    Content, Part, SubmissionContent, check_device, check_fields, check_files, check_ios,
    check_name, check_texts, check_version, id_of, identified, last_part, strip_device,
};
use crate::check::Ranges;
use crate::limits;

/// A measurement to publish, without its record files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasurementSubmission {
    /// The display name.
    #[schemars(length(min = 1, max = limits::NAME))]
    pub name: String,
    /// The manifest: drive, plan and options.
    pub manifest: Manifest,
    /// The facts that the sender computed.
    pub facts: Facts,
    /// The record files, and the activity files of a simulated drive.
    pub parts: Vec<Part>,
    /// True to publish the serial number of the drive.
    #[serde(default)]
    pub with_serial: bool,
}

/// The limits of the fields.
static RANGES: LazyLock<Ranges> = LazyLock::new(Ranges::of::<MeasurementSubmission>);

impl SubmissionContent for MeasurementSubmission {
    fn id(&self) -> String {
        let records = identified(&self.parts, Content::Records);
        let activities = identified(&self.parts, Content::Activities);
        // Without activities, the id equals the id that earlier versions computed.
        match activities.is_empty() {
            true => id_of(&(&self.manifest, records)),
            false => id_of(&(&self.manifest, records, activities)),
        }
    }

    fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        let manifest = self.manifest.schema_version;
        if manifest > SCHEMA_VERSION {
            check_version("manifests", manifest, SCHEMA_VERSION, "")?;
        }
        let known = flashscope_document::facts::SCHEMA_VERSION;
        let older = "submit with the registry's version of flashscope";
        check_version("facts", self.facts.schema_version, known, older)?;
        check_device(&self.manifest.device)?;
        check_texts([("start time", self.manifest.started.as_str())])?;
        check_files(&self.parts)?;
        check_fields(self, &RANGES, || self.check_runs())
    }

    /// Removes data that identify this drive or machine: paths of devices and files, the system's
    /// names of drives, and the serial number unless `with_serial` is true.
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
    /// Checks that run numbers are unique, and that the number of IOs is within its limit.
    fn check_plan(&self) -> Result<(), String> {
        let mut known = BTreeSet::new();
        if let Some(run) = self.manifest.runs().find(|run| !known.insert(run.id)) {
            return Err(format!("run {} appears twice", run.id));
        }
        check_ios(self.manifest.runs().map(|run| run.progress.ios()))
    }

    /// Checks that each run with IOs has record files, and that no other run has files.
    fn check_runs(&self) -> Result<(), String> {
        self.check_plan()?;
        let mut parts: BTreeMap<(Content, u32), u32> = BTreeMap::new();
        for part in &self.parts {
            *parts.entry((part.content, part.run)).or_default() += 1;
        }
        let recorded = || self.manifest.runs().filter(|run| run.progress.ios() > 0);
        if let Some(run) = recorded().find(|run| !parts.contains_key(&(Content::Records, run.id))) {
            return Err(format!("the record files of run {} are missing", run.id));
        }
        let known: BTreeSet<u32> = recorded().map(|run| run.id).collect();
        if let Some((_, run)) = parts.keys().find(|(_, run)| !known.contains(run)) {
            return Err(format!("run {run} has files, but no IOs in the manifest"));
        }
        let mut inside = parts.iter().filter(|((content, _), _)| *content == Content::Activities);
        match inside.find(|(_, count)| **count > 1 || self.manifest.device.kind != DeviceKind::Sim)
        {
            Some(((_, run), _)) if self.manifest.device.kind != DeviceKind::Sim => Err(format!(
                "run {run} has an activity file, but only simulated drives report activities"
            )),
            Some(((_, run), count)) => {
                Err(format!("run {run} has {count} activity files instead of one"))
            }
            None => Ok(()),
        }
    }
}
