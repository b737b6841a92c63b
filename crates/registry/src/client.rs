//! `flashscope submit`: what is sent, and the sending.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flashscope_analysis::analyse;
use flashscope_probe::ProbeReport;
use flashscope_result::{
    ResultFolder, is_probe, is_simulation, read_probe, read_simulation, records_path,
};
use reqwest::blocking::{Body, Client, RequestBuilder, Response};
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::Url;

use crate::submission::{
    MeasurementSubmission, Part, PartName, ProbeSubmission, Published, SimulationSubmission,
    Staged, Submission, Submitted,
};
use crate::{limits, provide_tls};

/// What is to be sent.
pub struct Prepared {
    /// What is said of the result.
    pub submission: Submission,
    files: Vec<PathBuf>,
}

/// Why a result cannot be submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// It cannot be read.
    #[error(transparent)]
    Result(#[from] flashscope_result::Error),
    /// A file of it cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what a registry takes, or the registry is not where it was said to be.
    #[error("{0}")]
    Wrong(String),
    /// The registry is not reached.
    #[error(
        "the registry does not answer: {0}; what has arrived is kept for a day: submit again to go on"
    )]
    Network(#[from] reqwest::Error),
    /// The registry refuses.
    #[error("the registry says: {0}")]
    Refused(String),
}

/// Reads the result at `path`: a measurement, a simulation or a probe. What follows from its records is found
/// anew, and what tells one drive or machine from others of its kind is left out; with `with_serial`, all but
/// the serial number.
///
/// # Errors
/// It is damaged, or more than a registry takes.
pub fn prepare(path: &Path, with_serial: bool) -> Result<Prepared, SubmitError> {
    let name = path
        .canonicalize()
        .ok()
        .and_then(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let name =
        name.unwrap_or_default().chars().filter(|c| !c.is_control()).take(limits::NAME).collect();
    let (submission, files) = if is_simulation(path) {
        let simulation = typed(path, "simulation", read_simulation(path)?)?;
        let simulation = sound(SimulationSubmission { name, simulation })?;
        (Submission::Simulation(Box::new(simulation)), Files::default())
    } else if is_probe(path) {
        probe(path, name, with_serial)?
    } else {
        measurement(path, name, with_serial)?
    };
    Ok(Prepared { submission, files: files.paths })
}

fn measurement(
    path: &Path,
    name: String,
    with_serial: bool,
) -> Result<(Submission, Files), SubmitError> {
    let (folder, manifest) = ResultFolder::open(path)?;
    let facts = analyse(&folder, &manifest)?;
    let mut files = Files::default();
    for run in manifest.runs().filter(|run| run.progress.ios() > 0) {
        files.add_records(path, run.id)?;
        if folder.has_activities(run.id) {
            files.add(path, PartName::activities(run.id))?;
        }
    }
    let parts = files.parts.clone();
    let measurement = sound(MeasurementSubmission { name, manifest, facts, parts, with_serial })?;
    Ok((Submission::Measurement(Box::new(measurement)), files))
}

fn probe(path: &Path, name: String, with_serial: bool) -> Result<(Submission, Files), SubmitError> {
    let probe: ProbeReport = typed(path, "probe", read_probe(path)?)?;
    let mut files = Files::default();
    for run in probe.steps.iter().flat_map(|step| &step.runs) {
        files.add_records(path, run.run)?;
    }
    let parts = files.parts.clone();
    let probe = sound(ProbeSubmission { name, probe, parts, with_serial })?;
    Ok((Submission::Probe(Box::new(probe)), files))
}

/// What a registry takes, without what nobody is to see.
fn sound<S: Submitted>(mut submission: S) -> Result<S, SubmitError> {
    submission.check().map_err(SubmitError::Wrong)?;
    submission.strip();
    Ok(submission)
}

/// What the JSON of a result says, as this version knows it.
fn typed<T: DeserializeOwned>(path: &Path, what: &str, json: Value) -> Result<T, SubmitError> {
    serde_json::from_value(json).map_err(|error| {
        let path = path.display();
        SubmitError::Wrong(format!(
            "the {what} in {path} is damaged, or of an earlier flashscope: {error}; make it anew"
        ))
    })
}

/// Files that are to be sent.
#[derive(Default)]
struct Files {
    parts: Vec<Part>,
    paths: Vec<PathBuf>,
}

impl Files {
    /// The files of records of run `run` of the result in `folder`.
    fn add_records(&mut self, folder: &Path, run: u32) -> Result<(), SubmitError> {
        let there = (0..).take_while(|part| records_path(folder, run, *part).exists());
        there.map(|part| PartName::records(run, part)).try_for_each(|name| self.add(folder, name))
    }

    fn add(&mut self, folder: &Path, name: PartName) -> Result<(), SubmitError> {
        let path = name.path(folder);
        let (bytes, sha256) =
            digest(&path).map_err(|source| SubmitError::Io { path: path.clone(), source })?;
        let PartName { content, run, part } = name;
        self.parts.push(Part { content, run, part, bytes, sha256 });
        self.paths.push(path);
        Ok(())
    }
}

fn digest(path: &Path) -> io::Result<(u64, String)> {
    let (mut file, mut hash, mut bytes) = (File::open(path)?, Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((bytes, hex::encode(hash.finalize())));
        }
        hash.update(&buffer[..count]);
        bytes += count as u64;
    }
}

/// Sends what was prepared to the registry at `to`; `tell` is told how many bytes of how many have
/// arrived. What arrived before is not sent again.
///
/// # Errors
/// The registry does not answer, or refuses.
pub fn send(
    prepared: &Prepared,
    to: &Url,
    token: &str,
    mut tell: impl FnMut(u64, u64),
) -> Result<Published, SubmitError> {
    let loopback = matches!(to.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if to.scheme() != "https" && !(to.scheme() == "http" && loopback) {
        let message = "the token would be sent for all to read: name the registry with https://";
        return Err(SubmitError::Wrong(message.into()));
    }
    provide_tls();
    let client = Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(600))
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let base = to.as_str().trim_end_matches('/');
    let Prepared { submission, files } = prepared;
    let begin = client.post(format!("{base}{}", submission.address())).json(submission);
    if matches!(submission, Submission::Simulation(_)) {
        // It is all there is of it.
        return answer(begin, token);
    }
    let staged: Staged = answer(begin, token)?;
    let missing = |part: &Part| staged.missing.contains(&part.name());
    let parts = submission.parts();
    let total = parts.iter().map(|part| part.bytes).sum();
    let mut arrived = parts.iter().filter(|part| !missing(part)).map(|part| part.bytes).sum();
    tell(arrived, total);
    for (part, path) in parts.iter().zip(files).filter(|(part, _)| missing(part)) {
        let file =
            File::open(path).map_err(|source| SubmitError::Io { path: path.clone(), source })?;
        let url = format!("{base}/api/submissions/{}/{}", staged.id, part.name().address());
        let body = Body::sized(file, part.bytes);
        let request = client.put(url).header(CONTENT_TYPE, "application/octet-stream").body(body);
        sent(request, token)?;
        arrived += part.bytes;
        tell(arrived, total);
    }
    let url = format!("{base}/api/submissions/{}/finish", staged.id);
    answer(client.post(url).header(CONTENT_TYPE, "application/json").body("{}"), token)
}

fn sent(request: RequestBuilder, token: &str) -> Result<Response, SubmitError> {
    #[derive(Deserialize)]
    struct Refusal {
        error: String,
    }
    let response = request.bearer_auth(token).send()?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status();
    let refusal = response.json::<Refusal>().map(|refusal| refusal.error);
    Err(SubmitError::Refused(
        refusal.unwrap_or_else(|_| format!("{status}, which no registry says")),
    ))
}

fn answer<T: DeserializeOwned>(request: RequestBuilder, token: &str) -> Result<T, SubmitError> {
    Ok(sent(request, token)?.json()?)
}
