//! Tests `flashscope devices`.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::Loop;
use crate::simulate::{assert_conforms, published};
use crate::{Scratch, succeeds};

/// Returns the JSON of the command, after checking it against the published schema.
fn devices(place: &Scratch) -> Vec<Value> {
    let outcome = place.run(&["devices", "--json"]).ok();
    assert_eq!(outcome.stderr, "");
    let value: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let schema = published("devices");
    assert_conforms(&value, &schema, &schema, "devices");
    value["devices"].as_array().unwrap().clone()
}

fn find(devices: &[Value], path: &str) -> Value {
    let found = devices.iter().find(|device| device["path"] == path);
    found.unwrap_or_else(|| panic!("{path} is not among {devices:?}")).clone()
}

#[test]
fn every_drive_of_sysfs_is_listed() {
    let Ok(entries) = fs::read_dir("/sys/block") else {
        println!("skipped: this machine shows no block devices");
        return;
    };
    let place = Scratch::in_memory();
    // Other tests may attach and detach loop devices at the same time.
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.filter(|name| !name.starts_with("loop")).collect();
    let listed = devices(&place);
    for name in &names {
        let hidden = fs::read_to_string(format!("/sys/block/{name}/hidden"));
        if hidden.is_ok_and(|hidden| hidden.trim() == "1") {
            continue;
        }
        find(&listed, &format!("/dev/{}", name.replace('!', "/")));
    }
    let text = place.run(&["devices"]).ok().stdout;
    assert!(text.lines().count() >= names.len().min(1));
    let too_long = text.lines().find(|line| line.chars().count() > 100);
    // A path that is longer than a line is not split.
    assert!(too_long.is_none_or(|line| line.split(' ').any(|word| word.len() > 60)), "{text}");
}

#[test]
fn loop_device_is_offered_only_while_it_is_unused() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let Some(block) = Loop::new(&disk) else { return };
    let path = block.device.as_str();
    let idle = find(&devices(&place), path);
    assert_eq!((&idle["bus"], &idle["capacity_bytes"]), (&json!("loop"), &json!(32 << 20)));
    assert_eq!(idle["backing_file"], json!(disk.at("image")));
    // A loop device has no NVMe features, even if its file is on an NVMe drive.
    assert_eq!(idle["health"], Value::Null);
    let command = format!("flashscope bench {path} --destroy-data-on {path}");
    assert_eq!(idle["measurable"], json!({"can": "everything", "command": command}));
    assert!(place.run(&["devices"]).ok().stdout.contains(&command));
    place.bench(path, "r.flashscope", &["--only", "order", "--destroy-data-on", path]).ok();

    if !succeeds("mkfs.ext4", &["-q", "-F", path]) {
        println!("skipped: no ext4 can be made here");
        return;
    }
    let marked = find(&devices(&place), path);
    assert_eq!(marked["measurable"]["can"], "reads");
    assert_eq!(marked["measurable"]["obstacle"], "data");

    let at = disk.at("mount point");
    fs::create_dir(&at).unwrap();
    if !Command::new("mount").arg(path).arg(&at).output().unwrap().status.success() {
        println!("skipped: {path} cannot be mounted here");
        return;
    }
    let mounted = find(&devices(&place), path);
    assert!(succeeds("umount", &[at.to_str().unwrap()]));
    assert_eq!(mounted["measurable"]["obstacle"], "mounted");
    let reason = mounted["measurable"]["reason"].as_str().unwrap();
    assert!(reason.contains(at.to_str().unwrap()), "{reason}");
    let read_only = format!("flashscope bench {path} --read-only");
    assert_eq!(mounted["measurable"]["command"], json!(read_only));
}
