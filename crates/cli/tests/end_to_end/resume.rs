//! Tests `flashscope bench --resume`: an interrupted result becomes equal to an uninterrupted one.

use std::fs;
use std::time::Duration;

use flashscope_document::manifest::{Progress, Status};
use insta::assert_snapshot;
use serde_json::Value;

use crate::{Scratch, files_of_records};

const DRIVE: &str = "sim:demo?flash.blocks_per_plane=48";
const ONLY: &str = "granularity,order,bursts";

/// Options for a short plan with a preparation, repeats and a second enforcement of the state.
const FOUND: [&str; 12] = [
    "--preparation-io-count",
    "1024",
    "--max-ios",
    "600",
    "--precision",
    "10%",
    "--repeats",
    "2",
    "--target-size",
    "24MiB",
    "--burst-pause",
    "1ms",
];

/// Returns the contents of a result, without the times of day, the resumptions and the calibration.
pub(crate) fn content(place: &Scratch, name: &str) -> (Vec<(String, Vec<u8>)>, Vec<Value>) {
    let folder = place.at(name);
    let inside = fs::read_dir(folder.join("activities")).into_iter().flatten();
    let records = fs::read_dir(folder.join("records")).unwrap();
    let entries = records.chain(inside).map(Result::unwrap);
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    };
    let mut records: Vec<_> = entries.map(file).collect();
    records.sort();
    let json = |file: &str| -> Value {
        serde_json::from_slice(&fs::read(folder.join(file)).unwrap()).unwrap()
    };
    let mut manifest = json("manifest.json");
    for history in ["started", "finished", "resumed", "calibration"] {
        manifest.as_object_mut().unwrap().remove(history);
    }
    (records, vec![manifest, json("facts.json")])
}

/// Kills a plan on a simulated drive at this many moments, up to 2 ms after a random run of it.
/// Resumes it each time, and asserts that the final bytes are those of an uninterrupted run, except
/// for the history. Returns how many kills came during the plan.
pub(crate) fn killed(times: usize) -> usize {
    let place = Scratch::in_memory();
    place.run(&[&["bench", DRIVE, "--output", "whole", "--only", ONLY][..], &FOUND].concat()).ok();
    let whole = content(&place, "whole");
    let of_activities = |(name, _): &&(String, Vec<u8>)| !name[4..].contains('-');
    assert!(whole.0.iter().filter(of_activities).count() > 50, "activities are compared");
    let manifest = place.result("whole").manifest;
    assert!(manifest.runs().any(|run| run.reset) && manifest.runs().any(|run| run.repeat == 2));
    let runs = files_of_records(&place.at("whole")) as u64;
    let (mut random, mut results, mut kills, mut in_the_midst) = (1u64, 0, 0, 0);
    while kills < times {
        results += 1;
        let name = format!("cut-{results}");
        let begin = [&["bench", DRIVE, "--output", &name, "--only", ONLY][..], &FOUND].concat();
        let go_on = ["bench", "--resume", &name];
        // Kills the program three times, then runs the remaining plan.
        for attempt in 0..3 {
            let begun = place.at(&name).join("manifest.json").exists();
            let mut running = place.start(if begun { &go_on } else { &begin });
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(attempt + 1);
            let (after, pause) = ((random >> 33) % runs, Duration::from_micros(random >> 53));
            let done = || files_of_records(&place.at(&name)) as u64 >= after;
            if running.reaches("the last run before the kill", done) {
                std::thread::sleep(pause);
                running.signal("-KILL");
            }
            running.wait();
            kills += 1;
            let done = files_of_records(&place.at(&name));
            in_the_midst += usize::from(done > 0 && done < whole.0.len());
            if done == 0 && !place.at(&name).join("manifest.json").exists() {
                let _ = fs::remove_dir_all(place.at(&name));
            }
        }
        let begun = place.at(&name).join("manifest.json").exists();
        let outcome = place.run(if begun { &go_on } else { &begin });
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        assert!(content(&place, &name) == whole, "{name} differs from what it would have been");
    }
    in_the_midst
}

#[test]
fn killed_benchmark_resumes_to_the_same_result() {
    let in_the_midst = killed(40);
    assert!(in_the_midst > 20, "only {in_the_midst} kills came during a plan");
}

#[test]
fn benchmark_of_a_file_resumes_where_it_stopped() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let drive = format!("file:{}?size=16MiB", disk.arg("drive"));
    let only = ["--only", "granularity", "--run-pause", "20ms"];
    let arguments = ["bench", &drive, "--output", "r", "--io-count", "64", "--repeats", "1"];
    let mut running = place.start(&[&arguments[..], &only].concat());
    let folder = place.at("r");
    running.wait_until("two runs", || files_of_records(&folder) >= 2);
    let busy = place.run(&["bench", "--resume", "r"]);
    assert_snapshot!(busy.message(2, &place), @"flashscope: r is being written by another flashscope: wait for it, or stop it");
    running.signal("-INT");
    running.wait();
    let before = place.result("r");
    let first = before.done().next().unwrap().clone();
    let records = before.records(&first);

    let written = fs::File::options().write(true).open(disk.at("drive")).unwrap();
    let later = written.metadata().unwrap().modified().unwrap() + Duration::from_secs(1);
    written.set_modified(later).unwrap();
    drop(written);
    let unconfirmed = place.run(&["bench", "--resume", "r"]).message(2, &place);
    assert!(unconfirmed.contains("--destroy-data-on"), "{unconfirmed}");
    let confirmation = ["--destroy-data-on", &disk.arg("drive")];
    place.run(&[&["bench", "--resume", "r"][..], &confirmation].concat()).ok();
    let after = place.result("r");
    assert_eq!((after.manifest.status, after.manifest.resumed.len()), (Status::Complete, 1));
    assert!(after.manifest.runs().all(|run| run.progress != Progress::Pending));
    assert_eq!(after.records(&first), records);
    after.assert_readable();
    let facts = after.json("facts.json");
    assert_eq!(facts["runs"].as_array().unwrap().len(), after.done().count());

    let again = place.run(&["bench", "--resume", "r"]).ok();
    assert_eq!(again.stderr, "note: nothing was left to run\n");
    assert_eq!(place.result("r").all_records(), after.all_records());
}

#[test]
fn created_file_needs_no_consent_and_is_removed_at_the_end() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let drive = format!("file:{}?size=16MiB", disk.arg("drive"));
    let few =
        ["--only", "granularity", "--run-pause", "20ms", "--io-count", "64", "--repeats", "1"];
    let mut running = place.start(&[&["bench", &drive, "--output", "r"][..], &few].concat());
    let folder = place.at("r");
    running.wait_until("two runs", || files_of_records(&folder) >= 2);
    running.signal("-INT");
    running.wait();
    assert!(disk.at("drive").exists(), "the remaining runs need the file");
    let resumed = place.run(&["bench", "--resume", "r"]).ok();
    assert!(
        resumed.stderr.contains("was created for this run; --keep keeps it"),
        "{}",
        resumed.stderr
    );
    assert!(!disk.at("drive").exists());

    let least = ["--only", "granularity", "--io-count", "2", "--repeats", "1"];
    place.bench(&drive, "kept", &[&least[..], &["--keep"]].concat()).ok();
    place.bench(&drive, "again", &least).ok();
    assert!(disk.at("drive").exists(), "--keep kept the file");
    fs::write(disk.at("drive"), vec![1; 16 << 20]).unwrap();
    let refused = place.bench(&drive, "changed", &least).message(2, &place);
    assert!(refused.contains("confirm it with `--destroy-data-on"), "{refused}");
}

#[test]
fn resume_creates_no_file_at_a_path_of_the_result() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let drive = format!("file:{}?size=16MiB", disk.arg("drive"));
    place.bench(&drive, "r", &["--only", "pause", "--io-count", "2", "--keep"]).ok();
    let manifest = place.at("r/manifest.json");
    let mut changed: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    changed["micro_benchmarks"][0]["experiments"][0]["runs"][0]["progress"] =
        serde_json::json!({ "status": "pending" });
    changed["device"]["name"] = format!("file:{}?size=16MiB", disk.arg("other")).into();
    fs::write(&manifest, changed.to_string()).unwrap();
    let refused = place.run(&["bench", "--resume", "r"]).message(2, &place);
    assert!(refused.contains("other does not exist any more"), "{refused}");
    assert!(!disk.at("other").exists());
}

#[test]
fn results_of_other_versions_and_drives_cannot_resume() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let none = place.run(&["bench", "--resume", "nothing"]);
    assert_snapshot!(none.message(2, &place), @"flashscope: nothing is not a result: a result folder contains a manifest.json");
    let both = place.run(&["bench", "null:", "--resume", "nothing"]);
    assert!(both.message(2, &place).contains("cannot be used with"));
    let drive = format!("file:{}?size=16MiB", disk.arg("drive"));
    place.bench(&drive, "r", &["--only", "pause", "--io-count", "2", "--keep"]).ok();
    let manifest = place.at("r/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let confirmation = ["--destroy-data-on", &disk.arg("drive")];
    let resume = [&["bench", "--resume", "r"][..], &confirmation].concat();
    let mut changed: Value = serde_json::from_str(&text).unwrap();
    changed["micro_benchmarks"][0]["experiments"][0]["runs"][0]["progress"] =
        serde_json::json!({ "status": "pending" });
    changed["device"]["capacity_bytes"] = (8 << 20).into();
    fs::write(&manifest, changed.to_string()).unwrap();
    let other =
        place.run(&resume).message(2, &place).replace(disk.path().to_str().unwrap(), "DISK");
    assert_snapshot!(other, @"flashscope: `file:DISK/drive?size=16MiB` is not the drive that was measured: its capacity was 8 MiB and is 16 MiB");
    changed["tool"]["version"] = "0.0.1".into();
    fs::write(&manifest, changed.to_string()).unwrap();
    let version = place.run(&resume).message(2, &place);
    assert!(version.contains("the result was begun by flashscope 0.0.1, and this is"), "{version}");
}
