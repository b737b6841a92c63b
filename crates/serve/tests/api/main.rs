//! Tests the server as a browser uses it: every endpoint against its description, and all kinds of
//! bad input.

mod described;
mod live;
mod malicious;
mod running;
mod security;
mod shelf;
mod socket;
mod what_if;

use std::fs;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use flashscope_serve::{Access, Folders, app_answering};
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

/// A test fixture: a folder with results, and the application over it.
struct Place {
    folder: TempDir,
    app: Router,
}

/// A response.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Checks the status of an error, and returns its message.
    #[track_caller]
    fn error(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        self.json()["error"].as_str().unwrap().to_string()
    }

    #[track_caller]
    fn ok(self) -> Answer {
        assert_eq!(self.status, StatusCode::OK, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

impl Place {
    /// Creates the fixture with the result `demo`, which has version 1 of the format.
    fn new() -> Place {
        let place = Place::empty();
        place.add("demo");
        place
    }

    fn empty() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let folders = Folders::new(vec![folder.path().into()]);
        let app = app_answering(folders, Access::Loopback, what_if::ScriptedWhatIfs::default());
        Place { folder, app }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Adds a result of 36 runs of 8 IOs, in version 1 of the format.
    fn add(&self, name: &str) -> PathBuf {
        let path = self.path(&format!("{name}.flashscope"));
        copy(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results/v1.flashscope"),
            &path,
        );
        path
    }

    fn get(&self, path: &str) -> Answer {
        ask(
            &self.app,
            Request::get(path).header(header::HOST, "localhost:1").body(Body::empty()).unwrap(),
        )
    }

    fn put(&self, path: &str, body: impl Into<Body>, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::builder().method(Method::PUT).uri(path);
        let fixed = [("host", "localhost:1"), ("content-type", "application/json")];
        for (name, value) in fixed.iter().chain(headers) {
            request.headers_mut().unwrap().insert(
                header::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        ask(&self.app, request.body(body.into()).unwrap())
    }

    /// Returns the item `id` of the shelf.
    #[track_caller]
    fn item(&self, id: &str) -> Value {
        let shelf = self.get("/api/shelf?limit=1000").ok().json();
        let items = shelf["items"].as_array().unwrap().clone();
        let item = items.into_iter().find(|item| item["id"] == id);
        item.unwrap_or_else(|| panic!("{id} is not on the shelf: {shelf}"))
    }

    /// Returns the problem of the item `id`.
    #[track_caller]
    fn problem(&self, id: &str) -> String {
        self.item(id)["problem"].as_str().unwrap_or_default().to_string()
    }
}

fn ask(app: &Router, request: Request<Body>) -> Answer {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let response = app.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    })
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

/// Changes the JSON file at `path`.
fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut json = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut json);
    fs::write(path, serde_json::to_vec(&json).unwrap()).unwrap();
}
