//! Transforms and writers of traces.

mod playback;
mod transforms;
mod writers;

use std::path::{Path, PathBuf};

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_trace::writer::{self, Output};
use flashscope_trace::{Error, Reader, Request, Spec, Trace, Volumes};
use tempfile::TempDir;

/// A folder for traces that is removed at the end of a test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes requests of these volumes to a file; returns the counts of information that the
    /// format could not store.
    fn write(&self, name: &str, volumes: &[&str], requests: &[Request]) -> writer::OmissionCounts {
        let mut known = Volumes::new();
        for volume in volumes {
            known.id(volume.as_bytes());
        }
        let path = self.at(name);
        let path = path.to_str().unwrap();
        let kind = writer::for_file(path).unwrap();
        let mut writer = (kind.open)(Output::create(path).unwrap()).unwrap();
        for batch in requests.chunks(1000) {
            writer.write(batch, &known).unwrap();
        }
        let lost = writer.lost();
        writer.finish(&known).unwrap();
        lost
    }

    /// Opens files with these fields set.
    fn open(&self, names: &[&str], fields: &[(&str, &str)]) -> Result<Trace, Error> {
        let paths: Vec<String> =
            names.iter().map(|name| self.at(name).to_str().unwrap().to_string()).collect();
        spec(fields).open(&paths)
    }

    fn read(&self, names: &[&str], fields: &[(&str, &str)]) -> Vec<Request> {
        all(&mut self.open(names, fields).unwrap()).unwrap()
    }
}

fn spec(fields: &[(&str, &str)]) -> Spec {
    let mut spec = Spec::default();
    for (name, value) in fields {
        spec.set(name, value).unwrap();
    }
    spec
}

/// Returns all requests of a reader.
fn all(reader: &mut dyn Reader) -> Result<Vec<Request>, Error> {
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(requests);
        }
        requests.extend_from_slice(&batch);
    }
}

/// Returns a write of 4 KiB to volume 0.
fn write_at(at: u64, offset: u64) -> Request {
    Request {
        at: Nanos(at),
        latency: None,
        offset: Bytes(offset),
        len: Bytes(4096),
        volume: 0,
        op: Op::Write,
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
