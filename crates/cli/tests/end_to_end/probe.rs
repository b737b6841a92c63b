//! Tests `flashscope probe`.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::simulate::{assert_conforms, published};
use crate::{Scratch, files_of_records};

/// A drive of 56 MiB.
const SMALL: &str = "sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1\
                     &flash.blocks_per_plane=256";

/// Returns the finding about a parameter.
fn stated<'r>(report: &'r Value, name: &str) -> &'r Value {
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|stated| stated["finding"]["parameter"] == name);
    &found.unwrap_or_else(|| panic!("nothing is stated of {name}"))["finding"]
}

fn json_of(place: &Scratch, result: &str) -> Value {
    serde_json::from_slice(&fs::read(place.at(result).join("probe.json")).unwrap()).unwrap()
}

/// Asserts that a probe recognizes memory. The response times depend on this machine, and on a busy
/// one they may look like those of flash. The function therefore probes up to three times, and
/// skips the check if the machine stays busy.
#[track_caller]
fn assert_memory(place: &Scratch, name: &str, arguments: &[&str]) {
    let attempt = |nth: u32| {
        let result = format!("{name}-{nth}.flashscope");
        place.run(&[&["probe", "--output", &result], arguments].concat()).ok();
        json_of(place, &result)
    };
    let shows = |report: &Value| stated(report, "medium")["answer"]["class"] == "memory";
    let report = (1..3).map(attempt).find(shows).unwrap_or_else(|| attempt(3));
    if shows(&report) || !is_busy() {
        assert_medium(&report, "memory");
    } else {
        println!("{name}: others keep this machine busy: skipped");
    }
}

/// Returns true if the load average of the last minute exceeds the number of processors.
fn is_busy() -> bool {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default();
    load > std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64)
}

/// Asserts that the medium is `medium`, and that every other parameter is unknown because there is
/// no flash.
#[track_caller]
fn assert_medium(report: &Value, medium: &str) {
    let answer = &stated(report, "medium")["answer"];
    assert_eq!(answer["class"], medium, "{answer}");
    let signals = report["signals"].as_array().unwrap();
    for (i, signal) in signals.iter().enumerate() {
        assert!(!signals[..i].contains(signal), "stated twice: {}", signal["title"]);
    }
    for stated in report["findings"].as_array().unwrap() {
        let finding = &stated["finding"];
        if finding["parameter"] != "medium" {
            let why = finding["answer"]["why"].as_str().unwrap_or_default();
            assert!(why.starts_with("there is no flash"), "{finding}");
        }
    }
    assert_eq!(report["profile"], Value::Null);
}

#[test]
fn probe_result_conforms_and_has_evidence_and_profile() {
    let place = Scratch::in_memory();
    let arguments = ["probe", SMALL, "--output", "p.flashscope", "--profile", "twin.toml"];
    let outcome = place.run(&arguments).ok();
    let text = outcome.stdout;
    assert!(text.contains("Medium ") && text.contains("see it: flashscope report"), "{text}");

    let report = json_of(&place, "p.flashscope");
    let schema = published("probe");
    assert_conforms(&report, &schema, &schema, "probe.json");
    assert_eq!(stated(&report, "medium")["answer"]["class"], "flash");
    assert_eq!(report["status"], "complete");
    let mut runs = 0;
    for step in report["steps"].as_array().unwrap() {
        runs += step["runs"].as_array().unwrap().len();
    }
    assert_eq!(files_of_records(&place.at("p.flashscope")), runs);
    let signals = report["signals"].as_array().unwrap();
    for (i, signal) in signals.iter().enumerate() {
        assert!(!signals[..i].contains(signal), "stated twice: {}", signal["title"]);
    }
    for stated in report["findings"].as_array().unwrap() {
        let finding = &stated["finding"];
        if finding["answer"]["kind"] == "unknown" {
            assert!(!finding["answer"]["why"].as_str().unwrap().is_empty(), "{finding}");
        } else {
            assert!(!finding["runs"].as_array().unwrap().is_empty(), "{finding}");
            let shown = stated["signals"].as_array().unwrap();
            assert!(!shown.is_empty(), "{finding}");
            assert!(
                shown.iter().all(|at| at.as_u64().unwrap() < signals.len() as u64),
                "{finding}"
            );
        }
    }

    assert_eq!(place.run(&["report", "p.flashscope", "--terminal"]).ok().stdout, {
        let (summary, _) = text.split_once("\nresult: ").unwrap();
        summary
    });
    place.run(&["report", "p.flashscope"]).ok();
    let page = fs::read_to_string(place.at("p.flashscope/report.html")).unwrap();
    assert!(page.contains(r#""probes":[{"id":"p","#), "the page holds the probe");
    let again = place.run(&["simulate", "--drive", "sim:./twin.toml", "--ios", "1000"]).ok();
    assert!(again.stdout.contains("as probed"), "{}", again.stdout);
}

#[test]
fn same_seed_finds_the_same() {
    let place = Scratch::in_memory();
    let run = |name: &str| {
        let outcome = place.run(&["probe", SMALL, "--json", "--output", name]).ok();
        let printed: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(printed, json_of(&place, name));
        printed
    };
    let (first, second) = (run("a.flashscope"), run("b.flashscope"));
    assert_eq!(first["findings"], second["findings"]);
    assert_eq!(first["steps"], second["steps"]);
}

#[test]
fn null_memory_and_cached_drives_are_not_flash() {
    let (place, disk) = (Scratch::in_memory(), Scratch::on_disk());
    place.run(&["probe", "null:", "--output", "null.flashscope"]).ok();
    assert_medium(&json_of(&place, "null.flashscope"), "nothing");

    let cached = format!("file:{}?size=64MiB&direct=false", disk.arg("drive"));
    assert_memory(&place, "cached", &[&cached]);

    if place.path().starts_with("/dev/shm") {
        let memory = format!("{}?size=64MiB&direct=false", place.arg("drive"));
        assert_memory(&place, "memory", &["--file", &memory]);
    } else {
        println!("there is no memory for files: skipped");
    }
}

/// A loop device, which is detached when it is dropped.
struct LoopDevice(String);

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn loop_device_in_memory_is_memory() {
    let place = Scratch::in_memory();
    if !place.path().starts_with("/dev/shm") {
        return println!("there is no memory for files: skipped");
    }
    let backing = place.at("backing");
    fs::File::create(&backing).unwrap().set_len(64 << 20).unwrap();
    let made = Command::new("losetup").args(["--find", "--show"]).arg(&backing).output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        return println!("no loop devices can be made here: skipped");
    };
    let device = String::from_utf8(made.stdout).unwrap().trim().to_string();
    let loop_device = LoopDevice(device);
    let device = loop_device.0.as_str();
    assert_memory(&place, "loop", &[device, "--destroy-data-on", device]);
}

#[test]
fn read_only_probe_leaves_the_file_unchanged() {
    let place = Scratch::on_disk();
    let content: Vec<u8> = (0..4 << 20).map(|i: u32| i.to_le_bytes()[1]).collect();
    fs::write(place.at("drive"), &content).unwrap();
    let arguments = ["probe", "file:drive?direct=false", "--read-only", "--output", "r.flashscope"];
    place.run(&arguments).ok();
    assert!(fs::read(place.at("drive")).unwrap() == content, "the file was written");
    let report = json_of(&place, "r.flashscope");
    assert_eq!(report["used"]["bytes_written"], 0);
    assert_eq!(stated(&report, "log-list")["answer"]["kind"], "unknown");
}

#[test]
fn budgets_and_only_limit_a_probe() {
    let place = Scratch::in_memory();
    let options = ["--only", "request-cost", "--budget-bytes", "70MiB", "--budget-time", "10min"];
    let outcome = [&["probe", SMALL, "--output", "b.flashscope"], &options[..]].concat();
    place.run(&outcome).ok();
    let report = json_of(&place, "b.flashscope");
    assert!(report["used"]["bytes_written"].as_u64().unwrap() <= 70 << 20);
    assert_eq!(stated(&report, "log-list")["answer"]["why"], "it was not requested");
    assert_eq!(report["wanted"], serde_json::json!(["request-cost"]));
}

#[test]
fn ctrl_c_keeps_findings_and_records() {
    let place = Scratch::in_memory();
    let mut running = place.start(&["probe", "sim:agrawal-2008", "--output", "i.flashscope"]);
    // The folder has a temporary name until the probe ends.
    let unfinished = || place.names().iter().any(|name| files_of_records(&place.at(name)) >= 1);
    running.wait_until("a run", unfinished);
    assert!(!place.at("i.flashscope").exists());
    running.signal("-INT");
    let (status, stderr) = running.wait();
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert_eq!(place.names(), ["i.flashscope"]);
    assert!(stderr.contains("interrupted: the findings shown were made before"), "{stderr}");
    let report = json_of(&place, "i.flashscope");
    assert_eq!(report["status"], "interrupted");
    let why = &stated(&report, "request-cost")["answer"]["why"];
    assert_eq!(why, "the probe was interrupted before this parameter was determined");
}

#[test]
fn invalid_requests_are_refused_and_leave_nothing() {
    let place = Scratch::in_memory();
    fs::create_dir(place.at("there")).unwrap();
    fs::write(place.at("there.toml"), "").unwrap();
    let drive = "file:drive?size=8MiB";
    for (arguments, expected) in [
        (&["--only", "page-sizes"][..], "did you mean `page-size`?"),
        (&["--budget-bytes", "0"], "use --read-only"),
        (&["--output", "there"], "exists already"),
        (&["--profile", "there.toml"], "exists already"),
        (&["--profile", "twin"], "must end in .toml"),
        (&["--read-only", "--budget-bytes", "1MB"], "cannot be used with"),
        (&["--file", "other"], "cannot be used with"),
    ] {
        let message = place.run(&[&["probe", drive], arguments].concat()).message(2, &place);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    assert!(!place.at("drive").exists());
    let message = place.run(&["probe"]).message(2, &place);
    assert!(
        message.contains("<DRIVE|--list|--file <PATH>>") || message.contains("required"),
        "{message}"
    );
}

#[test]
fn list_names_every_parameter_and_probe() {
    let place = Scratch::in_memory();
    let list = place.run(&["probe", "--list"]).ok().stdout;
    for spec in flashscope_document::probe::PARAMETERS {
        assert!(list.contains(&format!("\n  {} ", spec.name)), "{}", spec.name);
    }
    for probe in flashscope_probe::PROBES {
        assert!(list.contains(&format!("\n  {}: finds ", probe.name)), "{}", probe.name);
    }
    assert!(place.names().is_empty());
}
