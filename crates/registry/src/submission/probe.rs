use std::collections::BTreeMap;
use std::sync::LazyLock;

use flashscope_document::probe::PROBE_VERSION;
use flashscope_document::probe::{ProbeReport, StatedFinding};
use flashscope_probe::{Knowledge, profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Content, Part, SubmissionContent, check_device, check_fields, check_files, check_ios,
    check_name, check_texts, check_version, id_of, identified, strip_device,
};
use crate::check::{self, Ranges};
use crate::limits;

/// A probe report to publish, without its record files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeSubmission {
    /// The display name.
    #[schemars(length(min = 1, max = limits::NAME))]
    pub name: String,
    /// The report of the probe.
    pub probe: ProbeReport,
    /// The record files.
    pub parts: Vec<Part>,
    /// True to publish the serial number of the drive.
    #[serde(default)]
    pub with_serial: bool,
}

/// The limits of the fields.
static RANGES: LazyLock<Ranges> = LazyLock::new(Ranges::of::<ProbeSubmission>);

impl SubmissionContent for ProbeSubmission {
    fn id(&self) -> String {
        id_of(&(&self.probe, identified(&self.parts, Content::Records)))
    }

    fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        check_version("probes", self.probe.schema_version, PROBE_VERSION, "probe the drive again")?;
        check_device(&self.probe.drive)?;
        check_texts([("start time", self.probe.began.as_str())])?;
        check_files(&self.parts)?;
        self.check_runs()?;
        check_fields(self, &RANGES, || check::check_probe(&self.probe))
    }

    /// Removes data that identify this drive or machine, and the conclusions. Replaces the
    /// profile, and the descriptions
    /// of the parameters, by those that follow from the findings.
    fn strip(&mut self) {
        self.probe.conclusions.clear();
        let ProbeReport { drive, findings, profile: fitted, .. } = &mut self.probe;
        strip_device(drive, self.with_serial);
        let mut knowledge = Knowledge::default();
        for stated in findings {
            knowledge.add(stated.finding.clone());
            let signals = std::mem::take(&mut stated.signals);
            *stated = StatedFinding::shown_by(stated.finding.clone(), signals);
        }
        *fitted = profile(&knowledge, drive);
    }
}

impl ProbeSubmission {
    /// Checks that each run has record files, and that all files belong to a run.
    fn check_runs(&self) -> Result<(), String> {
        let mut files: BTreeMap<u32, bool> = BTreeMap::new();
        for run in self.probe.steps.iter().flat_map(|step| &step.runs) {
            if files.insert(run.run, false).is_some() {
                return Err(format!("run {} appears twice", run.run));
            }
        }
        check_ios(self.probe.steps.iter().flat_map(|step| &step.runs).map(|run| run.ios))?;
        for part in &self.parts {
            if part.content != Content::Records {
                return Err("a probe can only have record files".into());
            }
            match files.get_mut(&part.run) {
                Some(has) => *has = true,
                None => return Err(format!("run {} has files, but belongs to no step", part.run)),
            }
        }
        match files.iter().find(|(_, has)| !**has) {
            Some((run, _)) => Err(format!("the record files of run {run} are missing")),
            None => Ok(()),
        }
    }
}
