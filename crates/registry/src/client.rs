//! The client of `flashscope submit`: prepares a result and sends it to a registry.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flashscope_analysis::analyse;
use flashscope_document::probe::ProbeReport;
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
    MeasurementSubmission, Part, PartName, ProbeSubmission, Publication, SimulationSubmission,
    StagedSubmission, Submission, SubmissionContent,
};
use crate::{limits, provide_tls};

/// A result that is ready to be sent.
pub struct PreparedSubmission {
    /// The description of the result.
    pub submission: Submission,
    files: Vec<PathBuf>,
}

/// The reason why a result cannot be submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The result cannot be read.
    #[error(transparent)]
    Result(#[from] flashscope_result::Error),
    /// A file of the result cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The result or the address of the registry is not acceptable.
    #[error("{0}")]
    Invalid(String),
    /// The registry does not answer.
    #[error(
        "the registry does not answer: {0}; received files are kept for a day: submit again to continue"
    )]
    Network(#[from] reqwest::Error),
    /// The registry refuses the result.
    #[error("the registry refused: {0}")]
    Refused(String),
}

/// Reads the measurement, simulation or probe at `path`. Recomputes the facts of a measurement from
/// its records. Removes data that identify this drive or machine; `with_serial` keeps the serial
/// number.
///
/// # Errors
/// Fails if the result is damaged, or exceeds the limits of a registry.
pub fn prepare(path: &Path, with_serial: bool) -> Result<PreparedSubmission, SubmitError> {
    let name = path
        .canonicalize()
        .ok()
        .and_then(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let name =
        name.unwrap_or_default().chars().filter(|c| !c.is_control()).take(limits::NAME).collect();
    let (submission, files) = if is_simulation(path) {
        let simulation = typed(path, "simulation", read_simulation(path)?)?;
        let simulation = checked(SimulationSubmission { name, simulation })?;
        (Submission::Simulation(Box::new(simulation)), Files::default())
    } else if is_probe(path) {
        probe(path, name, with_serial)?
    } else {
        measurement(path, name, with_serial)?
    };
    Ok(PreparedSubmission { submission, files: files.paths })
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
    let measurement = checked(MeasurementSubmission { name, manifest, facts, parts, with_serial })?;
    Ok((Submission::Measurement(Box::new(measurement)), files))
}

fn probe(path: &Path, name: String, with_serial: bool) -> Result<(Submission, Files), SubmitError> {
    let probe: ProbeReport = typed(path, "probe", read_probe(path)?)?;
    let mut files = Files::default();
    for run in probe.steps.iter().flat_map(|step| &step.runs) {
        files.add_records(path, run.run)?;
    }
    let parts = files.parts.clone();
    let probe = checked(ProbeSubmission { name, probe, parts, with_serial })?;
    Ok((Submission::Probe(Box::new(probe)), files))
}

/// Returns the submission without identifying data, or fails if a registry would refuse it.
fn checked<S: SubmissionContent>(mut submission: S) -> Result<S, SubmitError> {
    submission.check().map_err(SubmitError::Invalid)?;
    submission.strip();
    Ok(submission)
}

/// Parses the JSON of a result in the current format.
fn typed<T: DeserializeOwned>(path: &Path, what: &str, json: Value) -> Result<T, SubmitError> {
    serde_json::from_value(json).map_err(|error| {
        let path = path.display();
        SubmitError::Invalid(format!(
            "the {what} in {path} is damaged, or from an earlier flashscope: {error}; create it again"
        ))
    })
}

/// The files to send: their descriptions and their paths, in the same order.
#[derive(Default)]
struct Files {
    parts: Vec<Part>,
    paths: Vec<PathBuf>,
}

impl Files {
    /// Adds the record files of `run` from the result in `folder`.
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

/// Sends a prepared result to the registry at `to`, without files that an earlier attempt sent.
/// Calls `progress` with the bytes that have arrived and the total.
///
/// # Errors
/// Fails if the registry does not answer, or refuses the result.
pub fn send(
    prepared: &PreparedSubmission,
    to: &Url,
    token: &str,
    mut progress: impl FnMut(u64, u64),
) -> Result<Publication, SubmitError> {
    let loopback = matches!(to.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if to.scheme() != "https" && !(to.scheme() == "http" && loopback) {
        let message = "an unencrypted connection would expose the token: use an https:// address";
        return Err(SubmitError::Invalid(message.into()));
    }
    provide_tls();
    let client = Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(600))
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let base = to.as_str().trim_end_matches('/');
    let PreparedSubmission { submission, files } = prepared;
    let begin = client.post(format!("{base}{}", submission.address())).json(submission);
    if matches!(submission, Submission::Simulation(_)) {
        // A simulation has no files: this request publishes it.
        return answer(begin, token);
    }
    let staged: StagedSubmission = answer(begin, token)?;
    let missing = |part: &Part| staged.missing.contains(&part.name());
    let parts = submission.parts();
    let total = parts.iter().map(|part| part.bytes).sum();
    let mut arrived = parts.iter().filter(|part| !missing(part)).map(|part| part.bytes).sum();
    progress(arrived, total);
    for (part, path) in parts.iter().zip(files).filter(|(part, _)| missing(part)) {
        let file =
            File::open(path).map_err(|source| SubmitError::Io { path: path.clone(), source })?;
        let url = format!("{base}/api/submissions/{}/{}", staged.id, part.name().address());
        let body = Body::sized(file, part.bytes);
        let request = client.put(url).header(CONTENT_TYPE, "application/octet-stream").body(body);
        sent(request, token)?;
        arrived += part.bytes;
        progress(arrived, total);
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
    Err(SubmitError::Refused(refusal.unwrap_or_else(|_| {
        format!("the server answered {status}, which is not a registry's answer")
    })))
}

fn answer<T: DeserializeOwned>(request: RequestBuilder, token: &str) -> Result<T, SubmitError> {
    Ok(sent(request, token)?.json()?)
}
