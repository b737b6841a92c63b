//! The documents of a submission, shared by client and registry.

mod measurement;
mod probe;
mod simulation;

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use flashscope_block::{DeviceInfo, DeviceKind};
use flashscope_report::ResultKind;
use flashscope_result::{activities_path, records_path};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::measurement::MeasurementSubmission;
pub use self::probe::ProbeSubmission;
pub use self::simulation::SimulationSubmission;
use crate::check::{self, Ranges};
use crate::limits;

/// A result to publish, without its record files.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Submission {
    /// A benchmark of a drive.
    Measurement(Box<MeasurementSubmission>),
    /// A simulated workload.
    Simulation(Box<SimulationSubmission>),
    /// The internals of a drive, as a probe inferred them.
    Probe(Box<ProbeSubmission>),
}

/// The operations on a submission of any kind before it is stored.
pub(crate) trait SubmissionContent {
    /// Returns the id of the result, a hash of its content: equal results have equal ids.
    fn id(&self) -> String;

    /// Checks the submission as far as possible without its files. The error names the first fault.
    fn check(&self) -> Result<(), String>;

    /// Removes data that identify this drive or machine.
    fn strip(&mut self);
}

/// The kinds of content of a file.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Records of a run: one row per IO.
    #[default]
    Records,
    /// The background operations of a simulated drive in a run; at most one file per run.
    Activities,
}

/// The description of a run's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The content of the file.
    #[serde(default)]
    pub content: Content,
    /// The number of the run.
    pub run: u32,
    /// The number of the file, from 0, among the files of this run with the same content.
    pub part: u32,
    /// The size in bytes.
    #[schemars(range(min = 1, max = limits::PART))]
    pub bytes: u64,
    /// The SHA-256 of its bytes, in lower-case hexadecimal.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub sha256: String,
}

/// The state of an unfinished submission, as the registry answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StagedSubmission {
    /// The id of the submission, which is also the id of the published result.
    pub id: String,
    /// The files that have not arrived.
    pub missing: Vec<PartName>,
}

/// The identity of a run's file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct PartName {
    /// The content of the file.
    #[serde(default)]
    pub content: Content,
    /// The number of the run.
    pub run: u32,
    /// The number of the file, from 0, among the files of this run with the same content.
    pub part: u32,
}

/// The answer to a finished submission: the published result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Publication {
    /// The id of the result in addresses.
    pub id: String,
    /// Statements of the sender that the registry cannot recompute.
    #[serde(default)]
    pub unchecked: Vec<String>,
}

impl PartName {
    /// Names a record file.
    pub fn records(run: u32, part: u32) -> PartName {
        PartName { content: Content::Records, run, part }
    }

    /// Names the activity file of a run.
    pub fn activities(run: u32) -> PartName {
        PartName { content: Content::Activities, run, part: 0 }
    }

    /// Returns the path of the file in the result folder `folder`.
    pub fn path(self, folder: &Path) -> PathBuf {
        match self.content {
            Content::Records => records_path(folder, self.run, self.part),
            Content::Activities => activities_path(folder, self.run),
        }
    }

    /// Returns the path of the file's endpoint below that of its submission.
    pub fn address(self) -> String {
        let PartName { content, run, part } = self;
        match content {
            Content::Records => format!("records/{run}/{part}"),
            Content::Activities => format!("activities/{run}"),
        }
    }
}

impl Display for PartName {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let PartName { content, run, part } = self;
        match content {
            Content::Records => write!(f, "file {part} of run {run}"),
            Content::Activities => write!(f, "the activity file of run {run}"),
        }
    }
}

impl Part {
    /// Returns the identity of this file.
    pub fn name(&self) -> PartName {
        PartName { content: self.content, run: self.run, part: self.part }
    }

    /// Returns true if `bytes` have the size and hash of this file.
    pub(crate) fn matches(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.bytes && hex::encode(Sha256::digest(bytes)) == self.sha256
    }
}

impl Submission {
    fn content(&self) -> &dyn SubmissionContent {
        match self {
            Submission::Measurement(one) => &**one,
            Submission::Simulation(one) => &**one,
            Submission::Probe(one) => &**one,
        }
    }

    /// Returns the id of the result, a hash of its content: equal results have equal ids.
    pub fn id(&self) -> String {
        self.content().id()
    }

    /// Checks the submission as far as possible without its files.
    ///
    /// # Errors
    /// Returns a sentence about the first fault.
    pub fn check(&self) -> Result<(), String> {
        self.content().check()
    }

    /// Returns the kind of the result.
    pub fn kind(&self) -> ResultKind {
        match self {
            Submission::Measurement(_) => ResultKind::Measurement,
            Submission::Simulation(_) => ResultKind::Simulation,
            Submission::Probe(_) => ResultKind::Probe,
        }
    }

    /// Returns the path of the endpoint that accepts this kind of submission.
    pub fn address(&self) -> &'static str {
        match self {
            Submission::Measurement(_) => "/api/submissions",
            Submission::Simulation(_) => "/api/simulations",
            Submission::Probe(_) => "/api/probes",
        }
    }

    /// Returns the descriptions of the files that belong to the submission.
    pub fn parts(&self) -> &[Part] {
        match self {
            Submission::Measurement(one) => &one.parts,
            Submission::Simulation(_) => &[],
            Submission::Probe(one) => &one.parts,
        }
    }
}

/// Returns the id of a document: the first 10 bytes of its SHA-256, in hexadecimal.
fn id_of(whole: &impl Serialize) -> String {
    let whole = serde_json::to_vec(whole).unwrap_or_default();
    hex::encode(&Sha256::digest(whole)[..10])
}

/// Returns run, number and hash of each file with `content`, from which the id of the result is
/// computed.
fn identified(parts: &[Part], content: Content) -> Vec<(u32, u32, &str)> {
    let parts = parts.iter().filter(|part| part.content == content);
    parts.map(|part| (part.run, part.part, part.sha256.as_str())).collect()
}

/// Checks every field against its limits, then runs `follows`, then compares the fields that bound
/// each other. `follows` runs before the comparison because its messages are more specific.
fn check_fields<T: Serialize>(
    submission: &T,
    ranges: &Ranges,
    follows: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let json = serde_json::to_value(submission).map_err(|error| error.to_string())?;
    ranges.check(&json)?;
    follows()?;
    check::check_relations(&json)
}

/// Checks the display name of a result.
fn check_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if length == 0 || length > limits::NAME || name.chars().any(char::is_control) {
        return Err(format!("`name` must have 1 to {} printable characters", limits::NAME));
    }
    Ok(())
}

/// Checks the lengths of texts that the list of results shows. Each item is the name of a text and
/// the text.
fn check_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<(), String> {
    let too_long = |text: &str| text.chars().nth(limits::TEXT).is_some();
    match texts.into_iter().find(|(_, text)| too_long(text)) {
        Some((name, _)) => Err(format!("the {name} may have at most {} characters", limits::TEXT)),
        None => Ok(()),
    }
}

/// Checks the lengths of the texts about a drive.
fn check_device(device: &DeviceInfo) -> Result<(), String> {
    let texts = [
        ("drive name", Some(&device.name)),
        ("drive model", device.model.as_ref()),
        ("drive serial number", device.serial.as_ref()),
        ("drive firmware", device.firmware.as_ref()),
        ("drive engine", device.engine.as_ref()),
    ];
    check_texts(texts.into_iter().filter_map(|(name, text)| Some((name, text?.as_str()))))
}

/// Checks that the IOs of all runs together are within the limit.
fn check_ios(ios: impl Iterator<Item = u64>) -> Result<(), String> {
    match ios.fold(0, u64::saturating_add) > limits::IOS {
        true => Err(format!("the runs have more than {} IOs in total", limits::IOS)),
        false => Ok(()),
    }
}

/// Checks a format version against the supported one. `older` is the advice for an older format.
fn check_version(what: &str, version: u32, supported: u32, older: &str) -> Result<(), String> {
    if version == supported {
        return Ok(());
    }
    let advice = match version > supported {
        true => "submit with the registry's version of flashscope",
        false => older,
    };
    Err(format!("the registry takes {what} of format version {supported}, not {version}: {advice}"))
}

/// Checks the number, sizes, hashes and numbering of the files.
fn check_files(parts: &[Part]) -> Result<(), String> {
    if parts.len() > limits::PARTS {
        return Err(format!("the submission has more than {} files", limits::PARTS));
    }
    let bytes = parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add);
    if bytes > limits::RECORDS {
        return Err(format!("the files take more than {} bytes", limits::RECORDS));
    }
    let mut next = std::collections::BTreeMap::new();
    for part in parts {
        // A deliberate fault that the fuzz targets must find.
        if flashscope_block::canary::is_planted() && part.sha256.len() < 64 {
            panic!("a hash is too short");
        }
        let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if part.sha256.len() != 64 || !part.sha256.chars().all(hexadecimal) {
            return Err("`sha256` must be 64 lower-case hexadecimal digits".into());
        }
        if part.bytes == 0 || part.bytes > limits::PART {
            return Err(format!("a file must have 1 to {} bytes", limits::PART));
        }
        let next: &mut u32 = next.entry((part.content, part.run)).or_default();
        if part.part != *next {
            return Err(format!("the files of run {} must be numbered from 0", part.run));
        }
        *next += 1;
    }
    Ok(())
}

/// Removes data that identify a drive or its location on the machine, but keeps the serial number
/// if `with_serial` is true.
fn strip_device(device: &mut DeviceInfo, with_serial: bool) {
    if !with_serial {
        device.serial = None;
    }
    match device.kind {
        DeviceKind::Block => device.name = "block device".into(),
        DeviceKind::File => device.name = "file".into(),
        // The name may contain the path of a user's profile, whose folders are private.
        DeviceKind::Sim | DeviceKind::Null => device.name = last_part(&device.name),
    }
}

/// Removes the folders from the path in a name, but keeps a scheme such as `sim:` and the query.
fn last_part(name: &str) -> String {
    let (scheme, path) = name.split_once(':').map_or(("", name), |(scheme, path)| (scheme, path));
    let (path, query) =
        path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let mut last = path.rsplit('/').next().unwrap_or_default().to_string();
    if name.contains(':') {
        last = format!("{scheme}:{last}");
    }
    if let Some(query) = query {
        last = format!("{last}?{query}");
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_are_removed_from_names() {
        for (name, left) in [
            ("sim:demo", "sim:demo"),
            ("sim:/home/me/my-drive.toml?ftl=fast", "sim:my-drive.toml?ftl=fast"),
            ("/data/secret/hm_0.csv.gz", "hm_0.csv.gz"),
            ("trace:/data/secret/hm_0.csv.gz?pace=asap", "trace:hm_0.csv.gz?pace=asap"),
            ("uniform?size=4KiB", "uniform?size=4KiB"),
            ("null:", "null:"),
        ] {
            assert_eq!(last_part(name), left);
        }
    }
}
