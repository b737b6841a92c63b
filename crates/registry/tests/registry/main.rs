//! Tests of a registry over a socket, as senders and readers use it. They use the embedded database
//! and store, unless environment variables name others (`scripts/test-registry`).

mod kinds;
mod ranges;
mod refusals;
mod same;
mod submitting;
mod tampered;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flashscope_registry::{
    Configuration, MeasurementSubmission, PreparedSubmission, Registry, Submission,
};
use flashscope_serve::Access;
use reqwest::blocking::{Client, RequestBuilder, Response};
use serde_json::Value;
use tempfile::TempDir;
use url::Url;

/// A registry with two tokens that runs until the process ends.
struct Place {
    address: SocketAddr,
    token: String,
    /// The token of a second sender.
    second: String,
    folder: TempDir,
    client: Client,
}

/// Returns the storage that the environment names, or embedded storage in `folder`. All tests share
/// a named database; each test then finds the results of other tests as well.
#[allow(clippy::disallowed_methods, reason = "scripts/test-registry names servers in variables")]
fn configuration(folder: &Path) -> Configuration {
    let named = |name: &str| std::env::var(name).ok();
    let store = named("FLASHSCOPE_TEST_STORE").map(|url| url.parse().unwrap());
    let options = named("FLASHSCOPE_TEST_STORE_OPTIONS").unwrap_or_default();
    let options = options.split(',').filter_map(|option| option.split_once('='));
    Configuration {
        folder: folder.join("registry"),
        database: named("FLASHSCOPE_TEST_DATABASE"),
        store,
        store_options: options.map(|(name, value)| (name.into(), value.into())).collect(),
    }
}

impl Place {
    /// Starts a registry with two tokens. Their names contain the name of the test.
    fn new(test: &str) -> Place {
        static PROVIDER: OnceLock<()> = OnceLock::new();
        PROVIDER
            .get_or_init(|| rustls::crypto::ring::default_provider().install_default().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let configuration = configuration(folder.path());
        let (sender, receiver) = std::sync::mpsc::channel();
        let names = [test.to_string(), format!("{test}-second")];
        std::thread::spawn(move || {
            let make = async |access: Access| {
                let registry = Registry::open(&configuration).await?;
                let mut tokens = Vec::new();
                for name in &names {
                    let _ = registry.remove_token(name).await;
                    tokens.push(registry.add_token(name).await?);
                }
                registry.app(access).map(|app| (tokens, app))
            };
            let mut made = None;
            let outcome = flashscope_serve::serve(
                async |access| {
                    let (tokens, app) = make(access).await?;
                    made = Some(tokens.clone());
                    sender.send(Err(tokens)).unwrap();
                    Ok::<_, flashscope_registry::Error>(app)
                },
                ([127, 0, 0, 1], 0).into(),
                |address| sender.send(Ok(address)).unwrap(),
            );
            panic!("the registry ended: {outcome:?}, {made:?}");
        });
        let tokens: [String; 2] = receiver.recv().unwrap().unwrap_err().try_into().unwrap();
        let address = receiver.recv().unwrap().unwrap();
        let [token, second] = tokens;
        Place { address, token, second, folder, client: Client::new() }
    }

    fn url(&self) -> Url {
        format!("http://{}/", self.address).parse().unwrap()
    }

    /// Copies a result of 36 runs of 8 IOs. Its version is the token, which makes the result
    /// unique.
    fn result(&self, name: &str) -> PathBuf {
        let unique = self.token.clone();
        self.sample("v1", name, "manifest.json", |json| json["tool"]["version"] = unique.into())
    }

    /// Copies a simulation of 12,000 IOs with reads, writes, trims and cleaning, with a unique
    /// seed.
    fn simulation(&self, name: &str) -> PathBuf {
        let unique = self.seed();
        self.sample("simulated", name, "simulation.json", |json| json["seed"] = unique.into())
    }

    /// Copies a probe of 9 runs that determined the page size, with a unique seed.
    fn probe(&self, name: &str) -> PathBuf {
        let unique = self.seed();
        self.sample("probed", name, "probe.json", |json| json["seed"] = unique.into())
    }

    /// Returns a number that is unique to the test.
    fn seed(&self) -> u64 {
        let digits = self.token.trim_start_matches("flashscope_");
        u64::from_str_radix(&digits[..12], 16).unwrap()
    }

    fn sample(
        &self,
        sample: &str,
        name: &str,
        file: &str,
        change: impl FnOnce(&mut Value),
    ) -> PathBuf {
        let path = self.folder.path().join(format!("{name}.flashscope"));
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results");
        copy(&samples.join(format!("{sample}.flashscope")), &path);
        edit(&path.join(file), change);
        path
    }

    /// Returns the number of record files in the embedded store. Returns `otherwise` for a named
    /// store, which contains the files of other tests.
    fn files_of_submissions(&self, otherwise: usize) -> usize {
        let results = self.folder.path().join("registry/store/results");
        let Ok(results) = fs::read_dir(results) else { return otherwise };
        let files = |place: fs::DirEntry| fs::read_dir(place.path().join("records"));
        results.flat_map(|place| files(place.unwrap())).flatten().count()
    }

    fn get(&self, path: &str) -> Response {
        self.client.get(format!("http://{}{path}", self.address)).send().unwrap()
    }

    fn json(&self, path: &str) -> Value {
        let response = self.get(path);
        assert_eq!(response.status(), 200, "{path}");
        response.json().unwrap()
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.client.post(format!("http://{}{path}", self.address)).json(body)
    }

    fn put(&self, path: &str, body: Vec<u8>) -> RequestBuilder {
        let request = self.client.put(format!("http://{}{path}", self.address)).body(body);
        request.header("content-type", "application/octet-stream")
    }
}

/// Returns the message of an error response, which must have `status`.
#[track_caller]
fn error(response: Response, status: u16) -> String {
    assert_eq!(response.status(), status);
    let body: BTreeMap<String, String> = response.json().unwrap();
    body["error"].clone()
}

/// Returns the measurement inside a prepared submission.
fn measurement(prepared: &mut PreparedSubmission) -> &mut MeasurementSubmission {
    match &mut prepared.submission {
        Submission::Measurement(measurement) => measurement,
        _ => panic!("the submission is not a measurement"),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut json = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut json);
    fs::write(path, serde_json::to_vec(&json).unwrap()).unwrap();
}
