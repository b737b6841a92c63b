//! `flashscope submit`: what is sent, and the sending.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flashscope_analysis::analyse;
use flashscope_result::ResultFolder;
use reqwest::blocking::{Body, Client, RequestBuilder, Response};
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use url::Url;

use crate::submission::{Part, PartName, Published, Staged, Submission};
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

/// Reads the result at `path`. Its facts are found anew, and what tells one drive or machine from
/// others of its kind is left out; with `with_serial`, all but the serial number.
///
/// # Errors
/// It is damaged, or more than a registry takes.
pub fn prepare(path: &Path, with_serial: bool) -> Result<Prepared, SubmitError> {
    let (folder, manifest) = ResultFolder::open(path)?;
    let facts = analyse(&folder, &manifest)?;
    let name = path
        .canonicalize()
        .ok()
        .and_then(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let name =
        name.unwrap_or_default().chars().filter(|c| !c.is_control()).take(limits::NAME).collect();
    let (mut parts, mut files) = (Vec::new(), Vec::new());
    for run in manifest.runs().filter(|run| run.progress.ios() > 0) {
        let records = (0..).map(|part| PartName::records(run.id, part));
        let records = records.take_while(|name| name.path(&folder).exists());
        let activities = Some(PartName::activities(run.id));
        for name in records.chain(activities.filter(|_| folder.has_activities(run.id))) {
            let path = name.path(&folder);
            let (bytes, sha256) =
                digest(&path).map_err(|source| SubmitError::Io { path: path.clone(), source })?;
            let PartName { content, run, part } = name;
            parts.push(Part { content, run, part, bytes, sha256 });
            files.push(path);
        }
    }
    let mut submission = Submission { name, manifest, facts, parts, with_serial };
    submission.strip();
    submission.check().map_err(SubmitError::Wrong)?;
    Ok(Prepared { submission, files })
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
    let staged: Staged =
        answer(client.post(format!("{base}/api/submissions")).json(submission), token)?;
    let missing = |part: &Part| staged.missing.contains(&part.name());
    let total = submission.parts.iter().map(|part| part.bytes).sum();
    let mut arrived =
        submission.parts.iter().filter(|part| !missing(part)).map(|part| part.bytes).sum();
    tell(arrived, total);
    for (part, path) in submission.parts.iter().zip(files).filter(|(part, _)| missing(part)) {
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
