//! `flashscope verify` on an attached simulated drive, whose power a kill cuts.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::machine::{AttachedDrive, has_fuse, place};

/// A drive whose write buffer loses its data in a power cut.
const DRIVE: &str = "sim:demo?cache.kind=lru";

/// The size in bytes of a journal with the complete fill and hundreds of random writes.
const LONG_JOURNAL: u64 = 4000;

fn attach(place: &Path) -> AttachedDrive {
    let store = place.join("store");
    let options = ["--speed", "max", "--store", store.to_str().unwrap()];
    AttachedDrive::fuse(place, DRIVE, &options)
}

fn verify(drive: &str, journal: &Path, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashscope"));
    command.args(["verify", &format!("file:{drive}"), "--json", "--journal"]).arg(journal);
    command.args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until the journal is long enough for a power cut.
fn wait_for(journal: &Path, verification: &mut Child) {
    for _ in 0..60_000 {
        if fs::metadata(journal).is_ok_and(|metadata| metadata.len() > LONG_JOURNAL) {
            return;
        }
        assert!(verification.try_wait().unwrap().is_none(), "the verification ended early");
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("no journal in a minute");
}

/// Verifies an attached drive until its power is cut, and returns the judgement after the drive is
/// attached again. `between` may change its store while it is detached.
fn cut(place: &Path, number: u32, status: i32, between: impl FnOnce()) -> Value {
    let journal = place.join(format!("journal-{number}"));
    {
        let mut attached = attach(place);
        let size = ["--target-size", "8MiB", "--destroy-data-on", &attached.place];
        let mut verification = verify(&attached.place, &journal, &size);
        wait_for(&journal, &mut verification);
        attached.kill();
        let ended = verification.wait_with_output().unwrap();
        let message = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{message}");
        assert!(message.contains("as in a power cut: once it works again"), "{message}");
    }
    between();
    let attached = attach(place);
    let judged = verify(&attached.place, &journal, &["--resume"]).wait_with_output().unwrap();
    let message = String::from_utf8(judged.stderr).unwrap();
    assert_eq!(judged.status.code(), Some(status), "{message}");
    serde_json::from_slice(&judged.stdout).unwrap()
}

#[test]
fn power_cuts_of_an_attached_drive_lose_nothing_that_was_flushed() {
    if !has_fuse(&[]) {
        return;
    }
    let place = place();
    let mut failed = 0;
    for number in 0..5 {
        let it = cut(place.path(), number, 0, || ());
        assert_eq!(it["ending"], "drive_failed");
        let journal = &it["journal"];
        assert!(journal["flushed"].as_u64() > Some(200), "{journal}");
        failed += journal["failed"].as_u64().unwrap();
    }
    // Not every cut hits a write, because no write is in flight during a flush.
    assert!(failed > 0, "no cut hit a write");
}

// Shows that the test of a correct drive can fail.
#[test]
fn a_drive_that_forgets_flushed_data_is_found() {
    if !has_fuse(&[]) {
        return;
    }
    let place = place();
    let (store, copy) = (place.path().join("store"), place.path().join("copy"));
    drop(attach(place.path()));
    fs::copy(&store, &copy).unwrap();
    let forget = || {
        fs::copy(&copy, &store).unwrap();
    };
    let it = cut(place.path(), 0, 3, forget);
    assert_eq!(it["bytes"]["corrupt"].as_u64(), Some(8 << 20), "{}", it["bytes"]);
}
