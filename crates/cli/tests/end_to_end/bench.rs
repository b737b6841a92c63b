//! Tests `flashscope bench` on every kind of drive.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use flashscope_block::{Bytes, DeviceKind, Op, Record};
use flashscope_document::manifest::{Progress, State, Status};

use crate::{OpenedResult, Scratch, succeeds};

/// Asserts that every run that the drive supports was done and recorded.
fn assert_everything_is_done(measured: &OpenedResult) {
    let manifest = &measured.manifest;
    assert_eq!(manifest.status, Status::Complete);
    assert!(manifest.finished.is_some());
    let names: Vec<&str> = manifest.micro_benchmarks.iter().map(|b| b.name.as_str()).collect();
    let all = "preparation granularity alignment locality partitioning order parallelism mix pause \
               bursts";
    assert_eq!(names, all.split_whitespace().collect::<Vec<_>>());
    for run in manifest.runs() {
        match &run.progress {
            Progress::Done { ios } => assert_eq!(*ios, run.reference.io_count()),
            Progress::Skipped { reason } => assert!(reason.contains(": "), "{reason}"),
            other => panic!("run {}: {other:?}", run.id),
        }
    }
    measured.assert_readable();
    assert!(measured.all_records().iter().all(|record| record.result.is_ok()));
    let done = measured.done().count();
    assert!(done > 250, "{done} runs");
    assert_eq!(measured.json("facts.json")["runs"].as_array().unwrap().len(), done);
}

#[test]
fn file_with_direct_io_completes_all_micro_benchmarks() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let drive = format!("file:{}?size=64MiB", disk.arg("drive"));
    let outcome = place.bench(&drive, "r.flashscope", &[]).ok();
    let measured = place.result("r.flashscope");
    assert_everything_is_done(&measured);
    let device = &measured.manifest.device;
    assert_eq!((device.kind, device.capacity), (DeviceKind::File, Bytes::mib(64)));
    assert!(device.engine.is_some());
    let in_range = |record: Record| {
        let end = Bytes(record.offset.0 + record.len.0);
        end <= device.capacity && record.offset.is_multiple_of(device.logical_block)
    };
    assert!(measured.all_records().into_iter().all(in_range));
    assert!(outcome.stdout.ends_with("see it: flashscope report r.flashscope\n"));
}

#[test]
fn simulated_drive_completes_all_micro_benchmarks() {
    let place = Scratch::in_memory();
    place.bench("sim:demo?over_provisioning=0.2", "r.flashscope", &[]).ok();
    let measured = place.result("r.flashscope");
    assert_everything_is_done(&measured);
    assert_eq!(measured.manifest.device.kind, DeviceKind::Sim);
    assert_eq!(measured.manifest.device.name, "sim:demo?over_provisioning=0.2");
}

#[test]
fn null_drive_completes_all_and_json_equals_the_files() {
    let place = Scratch::in_memory();
    let outcome = place.bench("null:", "r.flashscope", &["--json", "--state", "keep"]).ok();
    let measured = place.result("r.flashscope");
    assert_everything_is_done(&measured);
    assert_eq!(measured.manifest.device.kind, DeviceKind::Null);
    let printed: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(printed["result"], "r.flashscope");
    assert_eq!(printed["manifest"], measured.json("manifest.json"));
    assert_eq!(printed["facts"], measured.json("facts.json"));
}

#[test]
fn forced_engine_is_used_and_recorded() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    for engine in ["io_uring", "libaio", "psync"] {
        let drive = format!("file:{}?size=8MiB&engine={engine}", disk.arg(engine));
        let name = format!("{engine}.flashscope");
        let outcome = place.bench(&drive, &name, &["--only", "parallelism"]);
        if outcome.status == 2 && outcome.stderr.contains("does not start") {
            println!("skipped: {}", outcome.stderr);
            continue;
        }
        outcome.ok();
        let measured = place.result(&name);
        let recorded = measured.manifest.device.engine.clone().unwrap();
        assert!(recorded.starts_with(&format!("{engine}: requested by the caller")), "{recorded}");
        assert_eq!(measured.done().count(), 20);
        let streams: BTreeSet<u16> = measured.all_records().iter().map(|r| r.stream).collect();
        assert_eq!(streams.len(), 16);
    }
}

/// A loop device on a file, which is detached when it is dropped.
pub(crate) struct Loop {
    image: PathBuf,
    pub device: String,
}

impl Loop {
    pub(crate) fn new(disk: &Scratch) -> Option<Loop> {
        let image = disk.at("image");
        fs::write(&image, vec![0; 32 << 20]).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
        match output {
            Ok(output) if output.status.success() => {
                let device = String::from_utf8(output.stdout).unwrap().trim().to_string();
                Some(Loop { image, device })
            }
            _ => {
                println!("skipped: no loop device can be set up here");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let detached = succeeds("losetup", &["--detach", &self.device]);
        assert!(detached || std::thread::panicking(), "{} stays behind", self.device);
    }
}

#[test]
fn block_device_is_written_only_with_consent() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let Some(block) = Loop::new(&disk) else { return };
    let refused = place.bench(&block.device, "r.flashscope", &[]);
    let message = format!(
        "flashscope: writing to `{0}` destroys everything on it: confirm it with \
         `--destroy-data-on {0}`",
        block.device
    );
    assert_eq!(refused.message(2, &place), message);
    let other = place.bench(&block.device, "r.flashscope", &["--destroy-data-on", "/dev/other"]);
    assert!(other.message(2, &place).contains("`/dev/other` was confirmed to be destroyed, but"));
    assert!(place.names().is_empty());
    assert!(fs::read(&block.image).unwrap().iter().all(|byte| *byte == 0));

    let confirmed = ["--destroy-data-on", &block.device];
    place.bench(&block.device, "r.flashscope", &confirmed).ok();
    let measured = place.result("r.flashscope");
    assert_eq!(measured.manifest.device.kind, DeviceKind::Block);
    assert_eq!(measured.manifest.device.capacity, Bytes::mib(32));
    assert_everything_is_done(&measured);
    assert!(succeeds("blockdev", &["--flushbufs", &block.device]));
    assert!(blocks_of_zeros(&fs::read(&block.image).unwrap()) == 0);
}

pub(crate) fn blocks_of_zeros(content: &[u8]) -> usize {
    content.chunks(4096).filter(|block| block.iter().all(|byte| *byte == 0)).count()
}

/// Creates a file of this size with data.
fn write_something(place: &Scratch, name: &str, size: usize) -> Vec<u8> {
    let content: Vec<u8> = b"important user data,".iter().copied().cycle().take(size).collect();
    fs::write(place.at(name), &content).unwrap();
    content
}

#[test]
fn read_only_leaves_the_file_unchanged_and_runs_reads() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let content = write_something(&disk, "drive", 16 << 20);
    let drive = format!("file:{}", disk.arg("drive"));
    place.bench(&drive, "r.flashscope", &["--read-only"]).ok();
    assert!(fs::read(disk.at("drive")).unwrap() == content);
    let measured = place.result("r.flashscope");
    measured.assert_readable();
    let records = measured.all_records();
    assert!(records.len() > 1000 && records.iter().all(|record| record.op == Op::Read));
    assert_eq!(measured.manifest.options.state, State::Keep);
    let skipped = measured.experiment("order", "SW")[0].progress.clone();
    let reason = "it writes, and only reads are allowed".into();
    assert_eq!(skipped, Progress::Skipped { reason });

    let refused = place.bench(&drive, "s.flashscope", &["--read-only", "--state", "random"]);
    let message = "flashscope: --state writes to the drive, and --read-only forbids it";
    assert_eq!(refused.message(2, &place), message);
    assert_eq!(place.names(), ["r.flashscope"]);
}

#[test]
fn existing_file_is_overwritten_only_with_consent() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let content = write_something(&disk, "drive", 4 << 20);
    let drive = format!("file:{}", disk.arg("drive"));
    let refused = place.bench(&drive, "r.flashscope", &["--only", "preparation"]);
    insta::assert_snapshot!(refused.message(2, &disk), @"flashscope: writing to `DIR/drive` destroys everything on it: confirm it with `--destroy-data-on DIR/drive`");
    assert!(place.names().is_empty());
    assert!(fs::read(disk.at("drive")).unwrap() == content);

    let confirmed = ["--only", "preparation", "--destroy-data-on", &disk.arg("drive")];
    place.bench(&drive, "r.flashscope", &confirmed).ok();
    let after = fs::read(disk.at("drive")).unwrap();
    assert!(after.len() == content.len() && after != content);
}

#[test]
fn purge_frees_the_file_or_is_refused() {
    let place = Scratch::on_disk();
    let len = 64 << 20;
    fs::write(place.at("drive"), vec![1; len]).unwrap();
    let blocks = || fs::metadata(place.at("drive")).unwrap().blocks() * 512;
    assert!(blocks() >= len as u64);
    let drive = format!("file:{}", place.arg("drive"));
    let few = ["--state", "purged", "--only", "pause", "--io-count", "2"];
    let confirmed = ["--destroy-data-on", &place.arg("drive")];
    place.bench(&drive, "r", &[&few[..], &confirmed].concat()).ok();
    assert_eq!(place.result("r").manifest.options.state, State::Purged);
    assert!(blocks() < len as u64 / 4, "{} bytes are in use", blocks());
    place.bench("sim:demo", "s", &few).ok();
    let refused = place.bench("sim:sun-zhang-unknown", "t", &few).message(1, &place);
    let hint = "EOPNOTSUPP (operation not supported) at a trim of 64 MiB at offset 0; a drive without TRIM \
                cannot be purged";
    assert!(refused.contains(hint), "{refused}");
}

#[test]
fn drives_without_erase_commands_are_refused_untouched() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let refused = |drive: &str, more: &[&str]| {
        let message = place.bench(drive, "r", more).message(2, &disk);
        assert!(place.names().is_empty());
        message
    };
    let formatted = ["--state", "formatted"];
    let simulated = refused("sim:demo", &formatted);
    insta::assert_snapshot!(simulated, @"flashscope: `sim:demo` is not an NVMe drive, and only NVMe drives have format and sanitize commands: choose another state");
    assert_eq!(refused("null:", &["--state", "sanitized"]), simulated.replace("sim:demo", "null:"));
    let read_only = refused("null:", &["--state", "formatted", "--read-only"]);
    assert!(read_only.contains("--read-only forbids it"), "{read_only}");

    let new = format!("file:{}?size=4MiB", disk.arg("new"));
    insta::assert_snapshot!(refused(&new, &formatted), @"flashscope: cannot format `DIR/new`: it is a file, and only NVMe drives have such a command: choose another --state");
    assert!(!disk.at("new").exists());
    let content = write_something(&disk, "drive", 4 << 20);
    let drive = format!("file:{}", disk.arg("drive"));
    let sanitized = ["--state", "sanitized", "--destroy-data-on", &disk.arg("drive")];
    insta::assert_snapshot!(refused(&drive, &sanitized), @"flashscope: cannot sanitize `DIR/drive`: it is a file, and only NVMe drives have such a command: choose another --state");
    assert!(fs::read(disk.at("drive")).unwrap() == content);
    let planned = place.run(&["plan", &drive, "--state", "formatted"]).message(2, &disk);
    assert!(planned.starts_with("flashscope: cannot format `DIR/drive`"), "{planned}");

    let Some(block) = Loop::new(&disk) else { return };
    for (state, verb) in [("formatted", "format"), ("sanitized", "sanitize")] {
        let confirmed = ["--state", state, "--destroy-data-on", &block.device];
        let expected = format!(
            "flashscope: cannot {verb} `{}`: it is not an NVMe drive, and only those have such a \
             command: choose another --state",
            block.device
        );
        assert_eq!(refused(&block.device, &confirmed), expected);
    }
    assert!(fs::read(&block.image).unwrap().iter().all(|byte| *byte == 0));
}
