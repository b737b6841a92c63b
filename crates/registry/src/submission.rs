//! What is submitted: shared by who sends and who receives.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use flashscope_analysis::Facts;
use flashscope_block::DeviceKind;
use flashscope_result::manifest::SCHEMA_VERSION;
use flashscope_result::{Manifest, ResultFolder};
use flashscope_workload::pattern::Reference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::limits;

/// A result that is to be published, without its records.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submission {
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

impl PartName {
    /// A file of records.
    pub fn records(run: u32, part: u32) -> PartName {
        PartName { content: Content::Records, run, part }
    }

    /// The file of what a simulated drive did inside during a run.
    pub fn activities(run: u32) -> PartName {
        PartName { content: Content::Activities, run, part: 0 }
    }

    /// Where it lies in the result `folder`, or would.
    pub fn path(self, folder: &ResultFolder) -> PathBuf {
        match self.content {
            Content::Records => folder.records_path(self.run, self.part),
            Content::Activities => folder.activities_path(self.run),
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

/// A result that was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// Stands for the result in addresses.
    pub id: String,
    /// What of it the registry cannot find anew from the rest, so that it is what the sender says.
    #[serde(default)]
    pub unchecked: Vec<String>,
}

impl Part {
    /// Which it is.
    pub fn name(&self) -> PartName {
        PartName { content: self.content, run: self.run, part: self.part }
    }
}

impl Submission {
    /// What tells it from any other: the same result has the same id, whoever sends it.
    pub fn id(&self) -> String {
        let of = |content: Content| -> Vec<_> {
            let parts = self.parts.iter().filter(|part| part.content == content);
            parts.map(|part| (part.run, part.part, &part.sha256)).collect()
        };
        // What has no activities keeps the id that it had before there were any here.
        let (records, activities) = (of(Content::Records), of(Content::Activities));
        let whole = match activities.is_empty() {
            true => serde_json::to_vec(&(&self.manifest, records)),
            false => serde_json::to_vec(&(&self.manifest, records, activities)),
        };
        let whole = whole.unwrap_or_default();
        hex::encode(&Sha256::digest(whole)[..10])
    }

    /// What is wrong with it, as far as that can be told without the records.
    pub fn check(&self) -> Result<(), String> {
        let name = self.name.chars().count();
        if name == 0 || name > limits::NAME || self.name.chars().any(char::is_control) {
            return Err(format!("`name` has 1 to {} characters that can be seen", limits::NAME));
        }
        let known = flashscope_analysis::facts::SCHEMA_VERSION;
        for (what, found, known) in [
            ("the manifest", self.manifest.schema_version, SCHEMA_VERSION),
            ("the facts", self.facts.schema_version, known),
        ] {
            if found > known || (found < known && what == "the facts") {
                return Err(format!(
                    "{what} of format version {found} are not taken here, but of version {known}: \
                     submit with the version of flashscope that the registry has"
                ));
            }
        }
        self.check_parts()
    }

    /// Whether the files are those that the runs have.
    fn check_parts(&self) -> Result<(), String> {
        let mut parts: BTreeMap<(Content, u32), u32> = BTreeMap::new();
        if self.parts.len() > limits::PARTS {
            return Err(format!("there are more than {} files", limits::PARTS));
        }
        let bytes = self.parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add);
        if bytes > limits::RECORDS {
            return Err(format!("the files take more than {} bytes", limits::RECORDS));
        }
        for part in &self.parts {
            let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            if part.sha256.len() != 64 || !part.sha256.chars().all(hexadecimal) {
                return Err("`sha256` is 64 hexadecimal digits".into());
            }
            if part.bytes == 0 || part.bytes > limits::PART {
                return Err(format!("a file has 1 to {} bytes", limits::PART));
            }
            let next = parts.entry((part.content, part.run)).or_default();
            if part.part != *next {
                return Err(format!("the files of run {} are not counted from 0", part.run));
            }
            *next += 1;
        }
        let recorded = || self.manifest.runs().filter(|run| run.progress.ios() > 0);
        if let Some(run) = recorded().find(|run| !parts.contains_key(&(Content::Records, run.id))) {
            return Err(format!("the records of run {} are not among the files", run.id));
        }
        let known: Vec<u32> = recorded().map(|run| run.id).collect();
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

    /// Leaves out what tells one drive or machine from others of its kind: serial number, paths of
    /// devices and files, names of drives of the system.
    pub fn strip(&mut self) {
        let device = &mut self.manifest.device;
        if !self.with_serial {
            device.serial = None;
        }
        match device.kind {
            DeviceKind::Block => device.name = "block device".into(),
            DeviceKind::File => device.name = "file".into(),
            // A profile may be a file of the user's.
            DeviceKind::Sim | DeviceKind::Null => device.name = last_part(&device.name),
        }
        let queue = self.manifest.environment.as_mut().and_then(|one| one.queue.as_mut());
        queue.into_iter().for_each(|queue| queue.drive.clear());
        for run in self.manifest.runs_mut() {
            if let Reference::Trace { playback, .. } = &mut run.reference {
                playback.files.iter_mut().for_each(|file| *file = last_part(file));
            }
        }
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
            ("null:", "null:"),
        ] {
            assert_eq!(last_part(name), left);
        }
    }
}
