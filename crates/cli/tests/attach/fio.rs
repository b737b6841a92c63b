use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::machine::{Attached, Loop, has, output, place, success};

/// Writes two regions at random and reads back what it wrote; while one is written, the other is
/// trimmed at random. In the end that reads as zeros, and the first as it was written.
fn jobs(kept_mib: u32, given_up_mib: u32) -> String {
    format!(
        "[global]\n\
         direct=1\nioengine=libaio\niodepth=32\nbsrange=4k-64k\nverify=crc32c\nverify_fatal=1\n\
         [given-up]\nrw=randwrite\nverify_backlog=256\noffset={kept_mib}m\nsize={given_up_mib}m\n\
         [kept]\nstonewall\nrw=randwrite\nverify_backlog=256\nsize={kept_mib}m\n\
         [trimmed]\nrw=randtrim\nbs=64k\nverify=0\noffset={kept_mib}m\nsize={given_up_mib}m\n\
         [zeros]\nstonewall\nrw=read\nbs=256k\nverify=pattern\nverify_pattern=0x00\n\
         offset={kept_mib}m\nsize={given_up_mib}m\n\
         [kept-still]\nstonewall\nrw=randwrite\nverify_only\nsize={kept_mib}m\n"
    )
}

/// Has fio verify a drive of so many MiB.
fn verify(kept_mib: u32, given_up_mib: u32) {
    if !has(&["fio", "losetup", "blkdiscard"]) {
        return;
    }
    let place = place();
    let attached = Attached::new(place.path(), "sim:demo", &["--speed", "max"]);
    let device = Loop::new(&attached.file);
    let jobs_file = place.path().join("jobs.fio");
    std::fs::write(&jobs_file, jobs(kept_mib, given_up_mib)).unwrap();
    let report = output(&mut fio(&device, &jobs_file));
    let report: Value = serde_json::from_str(&report).unwrap();
    let jobs = report["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 5);
    assert!(jobs.iter().all(|job| job["error"] == 0), "{report}");
    let kib = |job: usize, op: &str| jobs[job][op]["io_kbytes"].as_u64().unwrap();
    let (kept, given_up) = (u64::from(kept_mib) << 10, u64::from(given_up_mib) << 10);
    let read = [0, 1, 3, 4].map(|job| kib(job, "read"));
    assert_eq!(read, [given_up, kept, given_up, kept]);
    assert_eq!(kib(2, "trim"), given_up);

    // What does not hold what was written must be found out.
    assert!(success(
        Command::new("blkdiscard").args(["--offset", "1MiB", "--length", "64KiB", &device.0])
    ));
    assert!(!success(fio(&device, &jobs_file).arg("--section=kept-still")));
    drop(device);
    assert_eq!(attached.stop(), Some(0));
}

fn fio(device: &Loop, jobs: &Path) -> Command {
    let mut fio = Command::new("fio");
    // What it keeps between jobs it writes to the folder that it runs in.
    fio.current_dir(jobs.parent().unwrap());
    fio.args([&format!("--filename={}", device.0), "--output-format=json"]).arg(jobs);
    fio
}

// Is all read back that was written, and nothing that was trimmed, with much in flight?
#[test]
fn verified() {
    verify(48, 16);
}

// The same of the whole drive: 1 GiB.
#[test]
#[ignore = "takes a minute: `make test-attach`"]
fn verified_whole() {
    verify(640, 384);
}
