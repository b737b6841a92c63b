use std::collections::BTreeMap;
use std::sync::LazyLock;

use flashscope_document::PROBE_VERSION;
use flashscope_probe::{Knowledge, ProbeReport, Stated, profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Content, Part, Submitted, check_device, check_fields, check_files, check_ios, check_name,
    check_texts, check_version, id_of, identified, strip_device,
};
use crate::check::{self, Ranges};
use crate::limits;

/// What was found of a drive's internals that is to be published, without its records.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeSubmission {
    /// Its name for people.
    #[schemars(length(min = 1, max = limits::NAME))]
    pub name: String,
    /// What was found, and how.
    pub probe: ProbeReport,
    /// The files of its records.
    pub parts: Vec<Part>,
    /// Whether the serial number of the drive is to be published, too.
    #[serde(default)]
    pub with_serial: bool,
}

/// What its fields may be.
static RANGES: LazyLock<Ranges> = LazyLock::new(Ranges::of::<ProbeSubmission>);

impl Submitted for ProbeSubmission {
    fn id(&self) -> String {
        id_of(&(&self.probe, identified(&self.parts, Content::Records)))
    }

    fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        check_version("probes", self.probe.schema_version, PROBE_VERSION, "probe it anew")?;
        check_device(&self.probe.drive)?;
        check_texts([("time of the start", self.probe.began.as_str())])?;
        check_files(&self.parts)?;
        self.check_runs()?;
        check_fields(self, &RANGES, || check::probe(&self.probe))
    }

    /// Leaves out what tells one drive or machine from others of its kind, and says anew what follows
    /// from the findings: what their parameters are, and the profile.
    fn strip(&mut self) {
        let ProbeReport { drive, findings, profile: fitted, .. } = &mut self.probe;
        strip_device(drive, self.with_serial);
        let mut knowledge = Knowledge::default();
        for stated in findings {
            knowledge.take(stated.finding.clone());
            let signals = std::mem::take(&mut stated.signals);
            *stated = Stated::shown_by(stated.finding.clone(), signals);
        }
        *fitted = profile(&knowledge, drive);
    }
}

impl ProbeSubmission {
    /// Whether the files are those that the runs have.
    fn check_runs(&self) -> Result<(), String> {
        let mut files: BTreeMap<u32, bool> = BTreeMap::new();
        for run in self.probe.steps.iter().flat_map(|step| &step.runs) {
            if files.insert(run.run, false).is_some() {
                return Err(format!("there are two runs {}", run.run));
            }
        }
        check_ios(self.probe.steps.iter().flat_map(|step| &step.runs).map(|run| run.ios))?;
        for part in &self.parts {
            if part.content != Content::Records {
                return Err("the files of a probe are records".into());
            }
            match files.get_mut(&part.run) {
                Some(has) => *has = true,
                None => return Err(format!("run {} has files, and no step made it", part.run)),
            }
        }
        match files.iter().find(|(_, has)| !**has) {
            Some((run, _)) => Err(format!("the records of run {run} are not among the files")),
            None => Ok(()),
        }
    }
}
