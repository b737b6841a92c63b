use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::machine::{AttachedDrive, Loop, has, has_fuse, output, place, success};

/// The options of fio for a loop device.
const BLOCK_DEVICE: &str = "direct=1\nioengine=libaio\nfilename";

/// The options of fio for a drive over NBD.
const NBD: &str = "ioengine=nbd\nuri";

/// Returns jobs that write and verify a region at random while another region is trimmed at random.
/// At the end the trimmed region reads as zeros, and the written region as written.
fn jobs(kept_mib: u32, given_up_mib: u32, way: &str, drive: &str) -> String {
    format!(
        "[global]\n\
         {way}={drive}\niodepth=32\nbsrange=4k-64k\nverify=crc32c\nverify_fatal=1\n\
         [given-up]\nrw=randwrite\nverify_backlog=256\noffset={kept_mib}m\nsize={given_up_mib}m\n\
         [kept]\nstonewall\nrw=randwrite\nverify_backlog=256\nsize={kept_mib}m\n\
         [trimmed]\nrw=randtrim\nbs=64k\nverify=0\noffset={kept_mib}m\nsize={given_up_mib}m\n\
         [zeros]\nstonewall\nrw=read\nbs=256k\nverify=pattern\nverify_pattern=0x00\n\
         offset={kept_mib}m\nsize={given_up_mib}m\n\
         [kept-still]\nstonewall\nrw=randwrite\nverify_only\nsize={kept_mib}m\n"
    )
}

/// Lets fio verify this many MiB of a drive, and then checks that it detects a change, made by
/// `trim`.
fn verify(kept_mib: u32, given_up_mib: u32, way: &str, drive: &str, trim: &mut Command) {
    let place = place();
    let jobs_file = place.path().join("jobs.fio");
    std::fs::write(&jobs_file, jobs(kept_mib, given_up_mib, way, drive)).unwrap();
    output(&mut fio(&jobs_file));
    let report = std::fs::read_to_string(place.path().join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let jobs = report["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 5);
    assert!(jobs.iter().all(|job| job["error"] == 0), "{report}");
    let kib = |job: usize, op: &str| jobs[job][op]["io_kbytes"].as_u64().unwrap();
    let (kept, given_up) = (u64::from(kept_mib) << 10, u64::from(given_up_mib) << 10);
    let read = [0, 1, 3, 4].map(|job| kib(job, "read"));
    assert_eq!(read, [given_up, kept, given_up, kept]);
    assert_eq!(kib(2, "trim"), given_up);

    // Shows that fio detects wrong data.
    assert!(success(trim));
    assert!(!success(fio(&jobs_file).arg("--section=kept-still")));
}

fn fio(jobs: &Path) -> Command {
    let mut fio = Command::new("fio");
    // fio writes its state to the current folder.
    fio.current_dir(jobs.parent().unwrap());
    // The NBD engine of fio prints a greeting to standard output, so the report has its own file.
    fio.args(["--output-format=json", "--output=report.json"]).arg(jobs);
    fio
}

/// Runs fio on a loop device over FUSE.
fn verify_fuse(kept_mib: u32, given_up_mib: u32) {
    if !has_fuse(&["fio", "losetup", "blkdiscard"]) {
        return;
    }
    let place = place();
    let attached = AttachedDrive::fuse(place.path(), "sim:demo", &["--speed", "max"]);
    let device = Loop::new(&attached.place);
    let mut trim = Command::new("blkdiscard");
    trim.args(["--offset", "1MiB", "--length", "64KiB", &device.0]);
    verify(kept_mib, given_up_mib, BLOCK_DEVICE, &device.0, &mut trim);
    drop(device);
    assert_eq!(attached.stop(), Some(0));
}

/// Runs fio over NBD.
fn verify_nbd(kept_mib: u32, given_up_mib: u32) {
    if !has(&["fio", "qemu-io"]) {
        return;
    }
    let place = place();
    let attached = AttachedDrive::nbd(place.path(), "sim:demo", &["--speed", "max"]);
    let mut trim = Command::new("qemu-io");
    trim.args(["--format", "raw", "--discard", "unmap", "--cmd", "discard 1M 64k"]);
    trim.arg(&attached.place);
    verify(kept_mib, given_up_mib, NBD, &attached.place, &mut trim);
    assert_eq!(attached.stop(), Some(0));
}

#[test]
fn fio_verifies_writes_and_trims_over_nbd() {
    verify_nbd(48, 16);
}

// The two regions cover a drive of 1 GiB.
#[test]
#[ignore = "takes a minute: `make test-attach`"]
fn verified_whole_over_nbd() {
    verify_nbd(640, 384);
}

#[test]
fn fio_verifies_writes_and_trims_on_a_block_device() {
    verify_fuse(48, 16);
}

// The two regions cover a drive of 1 GiB.
#[test]
#[ignore = "takes a minute: `make test-attach`"]
fn fio_verifies_a_complete_drive() {
    verify_fuse(640, 384);
}
