//! Tests the records of `flashscope bench` about the machine and other programs.

use std::process::{Command, Stdio};

use flashscope_document::environment::{Conditions, Disturbance};
use flashscope_document::manifest::Manifest;
use serde_json::Value;

use crate::Scratch;
use crate::bench::Loop;
use crate::simulate::{assert_conforms, published};

/// Measures reads of `device`. Returns the outcome and the surroundings of its runs, checked
/// against the schema.
fn read(place: &Scratch, device: &str, name: &str) -> (Value, Manifest, Vec<Conditions>) {
    let arguments = ["--read-only", "--only", "order", "--io-count", "512", "--json"];
    let outcome = place.bench(device, name, &arguments).ok();
    let printed: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let schema = published("summary");
    let environment = &printed["manifest"]["environment"];
    assert_conforms(environment, &schema["$defs"]["Environment"], &schema, name);
    let manifest: Manifest = serde_json::from_value(printed["manifest"].clone()).unwrap();
    let conditions: Vec<_> = manifest.runs().filter_map(|run| run.conditions.clone()).collect();
    assert!(!conditions.is_empty());
    for conditions in &conditions {
        let conditions = serde_json::to_value(conditions).unwrap();
        assert_conforms(&conditions, &schema["$defs"]["Conditions"], &schema, name);
    }
    (printed, manifest, conditions)
}

#[test]
fn runs_disturbed_by_other_programs_are_flagged() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let Some(block) = Loop::new(&disk) else { return };
    let used = |conditions: &Conditions| conditions.disturbed_by.contains(&Disturbance::Ios);

    let (_, manifest, alone) = read(&place, &block.device, "alone.flashscope");
    let queue = manifest.environment.unwrap().queue.unwrap();
    assert_eq!(format!("/dev/{}", queue.drive), block.device);
    assert!(queue.requests.is_some());
    assert!(!alone.iter().any(used), "{alone:?}");

    let forever =
        format!("while :; do dd if={} of=/dev/null bs=64k iflag=direct; done", block.device);
    let mut shell = Command::new("sh");
    let mut others = shell.args(["-c", &forever]).stderr(Stdio::null()).spawn().unwrap();
    let (printed, _, disturbed) = read(&place, &block.device, "disturbed.flashscope");
    others.kill().unwrap();
    others.wait().unwrap();
    // On a busy machine, the other readers may not be scheduled during each run.
    let times = disturbed.iter().filter(|conditions| used(conditions)).count();
    assert!(times > disturbed.len() / 2, "{disturbed:?}");
    let facts = printed["facts"]["runs"].as_array().unwrap();
    let is_disturbed =
        |run: &&Value| run["disturbed_by"].as_array().is_some_and(|by| by[0] == "ios");
    assert_eq!(facts.iter().filter(is_disturbed).count(), times, "{facts:?}");
    // Each disturbed run was repeated once.
    let again = disturbed.iter().filter(|c| !c.repeated_as_disturbed_by.is_empty());
    assert!(again.count() >= times);
    let text = place.run(&["report", "disturbed.flashscope", "--terminal"]).ok().stdout;
    assert!(text.contains("\ndisturbed: other processes used the drive during runs "), "{text}");
}

#[test]
fn simulated_drive_has_no_surroundings() {
    let place = Scratch::in_memory();
    let outcome = place.bench("sim:demo", "r.flashscope", &["--only", "order", "--json"]).ok();
    let printed: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let manifest: Manifest = serde_json::from_value(printed["manifest"].clone()).unwrap();
    assert_eq!(manifest.environment, None);
    assert!(manifest.runs().all(|run| run.conditions.is_none()));
}
