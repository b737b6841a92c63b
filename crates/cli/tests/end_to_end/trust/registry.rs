//! Tests crashes of a registry with its embedded database and store.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::disk::Disk;
use super::tree::Durability;
use super::{ROOM, each_crash, run};
use crate::Scratch;
use crate::serve::{get, start};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/results");

/// The results to submit, one of each kind.
const SUBMITTED: [&str; 3] = ["v1", "simulated", "probed"];

/// A server of the registry in a folder, which is killed when it is dropped.
struct Server {
    process: std::process::Child,
    address: String,
}

impl Server {
    fn of(place: &Scratch, registry: &Path) -> Server {
        let (process, status) = start(place, &["--registry", registry.to_str().unwrap()]);
        Server { process, address: status["address"].as_str().unwrap().into() }
    }

    /// Returns the response, which must be a success.
    fn json(&self, path: &str, what: &str) -> Value {
        let answer = get(&self.address, path);
        assert!(answer.starts_with("HTTP/1.1 200"), "{what}: {path}: {answer}");
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{what}: {path}: {error}"))
    }

    /// Returns the ids of all published results, after reading each of them down to its records.
    fn published(&self, what: &str) -> Vec<String> {
        let shelf = self.json("/api/shelf", what);
        let items = shelf["items"].as_array().unwrap();
        let look = |item: &Value| {
            let id = item["id"].as_str().unwrap();
            match item["kind"].as_str().unwrap() {
                "simulation" => self.json(&format!("/api/simulations/{id}"), what),
                "probe" => self.json(&format!("/api/probes/{id}"), what),
                _ => {
                    self.json(&format!("/api/results/{id}"), what);
                    self.json(&format!("/api/results/{id}/runs/1/outline"), what)
                }
            };
            id.to_string()
        };
        items.iter().map(look).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a registry on a disk and submits each of [`SUBMITTED`]. Returns, for each result, the
/// number of disk changes before it was acknowledged.
fn registry(disk: &Disk, place: &Scratch) -> Vec<usize> {
    let folder = disk.path().join("registry");
    let token = run(disk, &["registry", "registry", "add", "alice"]).ok().stdout;
    let server = Server::of(place, &folder);
    let url = format!("http://{}", server.address);
    let submit = |name: &&str| {
        let result = format!("{SAMPLES}/{name}.flashscope");
        place.run(&["submit", &result, "--to", &url, "--token", token.trim()]).ok();
        disk.kept().changes.len()
    };
    SUBMITTED.iter().map(submit).collect()
}

/// Checks one of `every` states. Returns the number of checked states.
fn crashes(every: usize) -> Option<usize> {
    let disk = Disk::mount(ROOM)?;
    let place = Scratch::in_memory();
    let acknowledged = registry(&disk, &place);
    let changes = disk.kept().changes.clone();
    let (mut nth, mut looked) = (0, 0);
    each_crash(&changes, 7, |left, _, point| {
        nth += 1;
        // The first states lack folders of the registry, which a server creates.
        if nth % every != 0 {
            return;
        }
        let folder = left.join("registry");
        let server = Server::of(&place, &folder);
        let published = server.published(&point.what);
        let least = acknowledged.iter().filter(|changes| **changes <= point.changes).count();
        assert!(published.len() >= least, "{}: {} of {least}", point.what, published.len());
        looked += 1;
    });
    Some(looked)
}

#[test]
fn crashed_registry_keeps_acknowledged_results() {
    let Some(looked) = crashes(45) else { return };
    println!("{looked} crashes of a registry were survived");
    assert!(looked > 10);
}

// Checks every state, instead of one of 45.
#[test]
#[ignore = "takes minutes: scripts/test-trust runs it"]
fn every_crash_of_a_registry() {
    let Some(looked) = crashes(1) else { return };
    println!("{looked} crashes of a registry were survived");
}

#[test]
fn registry_on_a_full_disk_refuses_and_recovers() {
    let Some(enough) = Disk::mount(ROOM) else { return };
    let place = Scratch::in_memory();
    registry(&enough, &place);
    let (needed, mut refused) = (enough.kept().tree.blocks(), 0);
    for capacity in (needed / 3..needed).step_by(needed / 12) {
        let Some(disk) = Disk::mount(capacity) else { return };
        let token = run(&disk, &["registry", "registry", "add", "alice"]).ok().stdout;
        let mut server = Server::of(&place, &disk.path().join("registry"));
        let (mut taken, what) = (0, format!("{capacity} of {needed} blocks"));
        for name in SUBMITTED {
            let result = format!("{SAMPLES}/{name}.flashscope");
            let url = format!("http://{}", server.address);
            let outcome = place.run(&["submit", &result, "--to", &url, "--token", token.trim()]);
            assert!([0, 1].contains(&outcome.status), "{what}: {}", outcome.stderr);
            taken += usize::from(outcome.status == 0);
            refused += usize::from(outcome.status == 1);
        }
        // Reading a result needs space for its records.
        let shelf = server.json("/api/shelf", &what);
        assert!(shelf["total"].as_u64().unwrap() >= taken as u64, "{what}");
        server.process.kill().unwrap();
        // Copies the contents of the full disk to a disk with free space.
        let moved = place.at("moved");
        disk.kept().tree.write(&moved, Durability::All);
        server = Server::of(&place, &moved.join("registry"));
        assert!(server.published(&what).len() >= taken, "{what}");
        drop(server);
        fs::remove_dir_all(moved).unwrap();
    }
    println!("{refused} submissions to full registries were refused");
    assert!(refused > 3);
}
