//! What is submitted: shared by who sends and who receives.

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

/// A result that is to be published, without its records.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Submission {
    /// A benchmark of a drive.
    Measurement(Box<MeasurementSubmission>),
    /// A simulated workload.
    Simulation(Box<SimulationSubmission>),
    /// What was found of a drive's internals.
    Probe(Box<ProbeSubmission>),
}

/// What is to be done with a result of any kind before it is kept.
pub(crate) trait Submitted {
    /// What tells it from any other: the same result has the same id, whoever sends it.
    fn id(&self) -> String;

    /// What is wrong with it, as far as that can be told without the files.
    fn check(&self) -> Result<(), String>;

    /// Leaves out what tells one drive or machine from others of its kind.
    fn strip(&mut self);
}

/// What a file holds.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Records of a run: a row an IO.
    #[default]
    Records,
    /// What a simulated drive did inside during a run; a run has one such file at most.
    Activities,
}

/// A file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What it holds.
    #[serde(default)]
    pub content: Content,
    /// The number of the run.
    pub run: u32,
    /// Which file of the run with this content it is, from 0.
    pub part: u32,
    /// Its bytes.
    #[schemars(range(min = 1, max = limits::PART))]
    pub bytes: u64,
    /// The SHA-256 of its bytes, in lower-case hexadecimal.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub sha256: String,
}

/// How far a submission is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Staged {
    /// Stands for the submission, and for the result once it is published.
    pub id: String,
    /// The files that have not arrived yet.
    pub missing: Vec<PartName>,
}

/// Which file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct PartName {
    /// What it holds.
    #[serde(default)]
    pub content: Content,
    /// The number of the run.
    pub run: u32,
    /// Which file of the run with this content it is, from 0.
    pub part: u32,
}

/// A result that was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// Stands for the result in addresses.
    pub id: String,
    /// What of it the registry cannot find anew from the rest, so that it is what the sender says.
    #[serde(default)]
    pub unchecked: Vec<String>,
}

impl PartName {
    /// A file of records.
    pub fn records(run: u32, part: u32) -> PartName {
        PartName { content: Content::Records, run, part }
    }

    /// The file of what a simulated drive did inside during a run.
    pub fn activities(run: u32) -> PartName {
        PartName { content: Content::Activities, run, part: 0 }
    }

    /// Where it lies in the folder of a result, or would.
    pub fn path(self, folder: &Path) -> PathBuf {
        match self.content {
            Content::Records => records_path(folder, self.run, self.part),
            Content::Activities => activities_path(folder, self.run),
        }
    }

    /// Where it is sent to, below the address of its submission.
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
            Content::Activities => write!(f, "the file of activities of run {run}"),
        }
    }
}

impl Part {
    /// Which it is.
    pub fn name(&self) -> PartName {
        PartName { content: self.content, run: self.run, part: self.part }
    }

    /// Whether `bytes` are those of this file.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.bytes && hex::encode(Sha256::digest(bytes)) == self.sha256
    }
}

impl Submission {
    fn submitted(&self) -> &dyn Submitted {
        match self {
            Submission::Measurement(one) => &**one,
            Submission::Simulation(one) => &**one,
            Submission::Probe(one) => &**one,
        }
    }

    /// What tells it from any other: the same result has the same id, whoever sends it.
    pub fn id(&self) -> String {
        self.submitted().id()
    }

    /// What is wrong with it, as far as that can be told without its files.
    ///
    /// # Errors
    /// That, in words.
    pub fn check(&self) -> Result<(), String> {
        self.submitted().check()
    }

    /// What kind of result it is.
    pub fn kind(&self) -> ResultKind {
        match self {
            Submission::Measurement(_) => ResultKind::Measurement,
            Submission::Simulation(_) => ResultKind::Simulation,
            Submission::Probe(_) => ResultKind::Probe,
        }
    }

    /// Where it is sent to at a registry.
    pub fn address(&self) -> &'static str {
        match self {
            Submission::Measurement(_) => "/api/submissions",
            Submission::Simulation(_) => "/api/simulations",
            Submission::Probe(_) => "/api/probes",
        }
    }

    /// The files that belong to it.
    pub fn parts(&self) -> &[Part] {
        match self {
            Submission::Measurement(one) => &one.parts,
            Submission::Simulation(_) => &[],
            Submission::Probe(one) => &one.parts,
        }
    }
}

/// What stands for what is made of this alone.
fn id_of(whole: &impl Serialize) -> String {
    let whole = serde_json::to_vec(whole).unwrap_or_default();
    hex::encode(&Sha256::digest(whole)[..10])
}

/// The files with `content`, as an id is made of them.
fn identified(parts: &[Part], content: Content) -> Vec<(u32, u32, &str)> {
    let parts = parts.iter().filter(|part| part.content == content);
    parts.map(|part| (part.run, part.part, part.sha256.as_str())).collect()
}

/// Whether every field is within the limits of its schema, and those that bound each other do, once `follows` has said
/// what of it does not follow from the rest: its words say more.
fn check_fields<T: Serialize>(
    submission: &T,
    ranges: &Ranges,
    follows: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let json = serde_json::to_value(submission).map_err(|error| error.to_string())?;
    ranges.check(&json)?;
    follows()?;
    check::relations(&json)
}

/// Whether a result may have this name.
fn check_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if length == 0 || length > limits::NAME || name.chars().any(char::is_control) {
        return Err(format!("`name` has 1 to {} characters that can be seen", limits::NAME));
    }
    Ok(())
}

/// Whether texts that the shelf shows are short enough, each with its name.
fn check_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<(), String> {
    let too_long = |text: &str| text.chars().nth(limits::TEXT).is_some();
    match texts.into_iter().find(|(_, text)| too_long(text)) {
        Some((name, _)) => Err(format!("the {name} has at most {} characters", limits::TEXT)),
        None => Ok(()),
    }
}

/// The same of what is known about a drive.
fn check_device(device: &DeviceInfo) -> Result<(), String> {
    let texts = [
        ("name of the drive", Some(&device.name)),
        ("model of the drive", device.model.as_ref()),
        ("serial number of the drive", device.serial.as_ref()),
        ("firmware of the drive", device.firmware.as_ref()),
        ("engine of the drive", device.engine.as_ref()),
    ];
    check_texts(texts.into_iter().filter_map(|(name, text)| Some((name, text?.as_str()))))
}

/// Whether runs have no more IOs together than are read.
fn check_ios(ios: impl Iterator<Item = u64>) -> Result<(), String> {
    match ios.fold(0, u64::saturating_add) > limits::IOS {
        true => Err(format!("the runs have more than {} IOs together", limits::IOS)),
        false => Ok(()),
    }
}

/// Whether `what` has the format that is known here, and what to do if not.
fn check_version(what: &str, found: u32, known: u32, older: &str) -> Result<(), String> {
    if found == known {
        return Ok(());
    }
    let how = match found > known {
        true => "submit with the version of flashscope that the registry has",
        false => older,
    };
    Err(format!(
        "{what} of format version {found} are not taken here, but of version {known}: {how}"
    ))
}

/// Whether files may be such: their sizes, their hashes, and how they are counted.
fn check_files(parts: &[Part]) -> Result<(), String> {
    if parts.len() > limits::PARTS {
        return Err(format!("there are more than {} files", limits::PARTS));
    }
    let bytes = parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add);
    if bytes > limits::RECORDS {
        return Err(format!("the files take more than {} bytes", limits::RECORDS));
    }
    let mut next = std::collections::BTreeMap::new();
    for part in parts {
        // A canary of the fuzz targets: a hash that is too short is not expected.
        if cfg!(feature = "canary") && part.sha256.len() < 64 {
            panic!("a hash is too short");
        }
        let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if part.sha256.len() != 64 || !part.sha256.chars().all(hexadecimal) {
            return Err("`sha256` is 64 hexadecimal digits".into());
        }
        if part.bytes == 0 || part.bytes > limits::PART {
            return Err(format!("a file has 1 to {} bytes", limits::PART));
        }
        let next: &mut u32 = next.entry((part.content, part.run)).or_default();
        if part.part != *next {
            return Err(format!("the files of run {} are not counted from 0", part.run));
        }
        *next += 1;
    }
    Ok(())
}

/// Leaves out what tells one drive from others of its kind, and where it is on its machine; with
/// `with_serial`, all but the serial number.
fn strip_device(device: &mut DeviceInfo, with_serial: bool) {
    if !with_serial {
        device.serial = None;
    }
    match device.kind {
        DeviceKind::Block => device.name = "block device".into(),
        DeviceKind::File => device.name = "file".into(),
        // A profile may be a file of the user's.
        DeviceKind::Sim | DeviceKind::Null => device.name = last_part(&device.name),
    }
}

/// A path without its folders; what goes before its scheme, as in `sim:`, stays.
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

    // Do names lose their folders and nothing else?
    #[test]
    fn names_without_folders() {
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
