//! Tests crashes of `bench` and `twin fit`.

use std::fs;
use std::path::Path;

use flashscope_analysis::analyse;
use flashscope_document::manifest::{Progress, Status};
use flashscope_fit::read_twin;
use flashscope_result::twin::twin_path;
use flashscope_result::{Error, ResultFolder};

use super::disk::Disk;
use super::tree::Durability;
use super::{ROOM, each_crash, made, resumed_after_each_crash, run};
use crate::Scratch;
use crate::resume::content;

/// Options for two dozen short runs on a simulated drive, with a second enforcement of the state.
const BENCH: [&str; 17] = [
    "bench",
    "sim:demo?flash.blocks_per_plane=48",
    "--output",
    "r",
    "--only",
    "order",
    "--target-size",
    "8MiB",
    "--repeats",
    "1",
    "--io-count",
    "16",
    "--preparation-io-count",
    "64",
    "--run-pause",
    "0ms",
    "--json",
];

/// Asserts that a result opens and can be analysed, and that each finished run equals that of
/// `whole`, byte for byte. Returns the number of finished runs; `None` if there is no result yet.
fn check(path: &Path, whole: &Path, what: &str) -> Option<usize> {
    let (folder, manifest) = match ResultFolder::open(path) {
        Ok(opened) => opened,
        Err(Error::NoResult(_)) => return None,
        Err(error) => panic!("{what}: {error}"),
    };
    let mut done = 0;
    for run in manifest.runs() {
        if let Progress::Done { ios } = run.progress {
            let records = folder.records(run).and_then(|rows| rows.to_vec());
            let records = records.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(records.len() as u64, ios, "{what}");
            let file = folder.records_path(run.id, 0);
            let sound = whole.join("records").join(file.file_name().unwrap());
            assert!(fs::read(file).unwrap() == fs::read(sound).unwrap(), "{what}: run {}", run.id);
            done += 1;
        }
    }
    analyse(&folder, &manifest).unwrap_or_else(|error| panic!("{what}: {error}"));
    let left = manifest.runs().any(|run| run.progress == Progress::Pending);
    assert!(manifest.status != Status::Complete || !left, "{what}: {done} runs are not all");
    Some(done)
}

fn crashes(every: usize) -> Option<[usize; 2]> {
    let disk = Disk::mount(ROOM)?;
    run(&disk, &BENCH).ok();
    Some(resumed_after_each_crash(&disk, ["bench", "r"], [2, every], content, check))
}

#[test]
fn crashed_benchmark_keeps_finished_runs_and_resumes() {
    let Some([points, resumed]) = crashes(150) else { return };
    println!("{points} crashes of a benchmark were survived, {resumed} of them resumed");
    assert!(points > 1000 && resumed > 5);
}

// Resumes one of 4 states instead of one of 150.
#[test]
#[ignore = "takes minutes: scripts/test-trust runs it"]
fn many_crashes_of_a_benchmark() {
    let Some([points, resumed]) = crashes(4) else { return };
    println!("{points} crashes of a benchmark were survived, {resumed} of them resumed");
}

// Killed at many moments and resumed, a benchmark gives the result of an uninterrupted run.
#[test]
#[ignore = "takes minutes: scripts/test-trust runs it"]
fn many_kills_of_a_benchmark() {
    let in_the_midst = crate::resume::killed(500);
    println!("500 kills of a benchmark were survived, {in_the_midst} of them in its midst");
}

/// Measures on disks of increasing size, in steps of `step` blocks, below the size that suffices.
/// Returns how many were too small.
fn full_disks(step: usize) -> Option<usize> {
    let enough = Disk::mount(ROOM)?;
    run(&enough, &BENCH).ok();
    let place = Scratch::in_memory();
    let whole = made(&enough.kept().tree, Durability::All, &place, "r", "whole");
    let needed = enough.kept().tree.blocks();
    let (mut full, mut most) = (0, None);
    for capacity in (1..needed).step_by(step) {
        let disk = Disk::mount(capacity)?;
        let outcome = run(&disk, &BENCH);
        let what = format!("{capacity} of {needed} blocks");
        let is_full = disk.kept().refused > 0;
        assert_eq!(outcome.status, i32::from(is_full), "{what}: {}", outcome.stderr);
        if is_full {
            let message =
                |text: &str| assert!(outcome.stderr.contains(text), "{what}: {}", outcome.stderr);
            message("No space left on device");
            message("make room");
            full += 1;
        }
        let done = check(&disk.path().join("r"), &whole, &what);
        assert_eq!(
            disk.path().join("r").exists(),
            done.is_some(),
            "{what}: a folder that cannot be resumed"
        );
        assert!(done >= most, "{what}: {done:?} runs where less room was enough for {most:?}");
        most = done;
    }
    Some(full)
}

#[test]
fn full_disk_keeps_the_result_so_far() {
    let Some(full) = full_disks(7) else { return };
    println!("{full} full disks of a benchmark were survived");
    assert!(full > 5);
}

// Tries a disk of every size, instead of every seventh.
#[test]
#[ignore = "takes minutes: scripts/test-trust runs it"]
fn every_full_disk_of_a_benchmark() {
    let Some(full) = full_disks(1) else { return };
    println!("{full} full disks of a benchmark were survived");
}

// A partial profile must not exist, because half of a profile may be a valid profile.
#[test]
fn crash_leaves_a_twin_whole_or_absent() {
    let Some(disk) = Disk::mount(ROOM) else { return };
    let sweep = "fill,write_amplification,mb_per_s\n600MiB,1.2550,144.6\n800MiB,1.7158,96.5\n\
                 923MiB,2.3639,65.7\n";
    fs::write(disk.path().join("sweep.csv"), sweep).unwrap();
    let fit = ["twin", "fit", "sweep.csv", "-o", "drive.toml"];
    run(&disk, &fit).ok();
    let twin = read_twin(&disk.path().join("drive.toml")).unwrap();
    let changes = disk.kept().changes.clone();
    let points = each_crash(&changes, 1, |left, _, point| {
        let path = left.join("drive.toml");
        if let Ok(profile) = fs::read_to_string(&path) {
            assert!(profile == twin.profile, "{}: half a profile", point.what);
        }
        // A profile without its document could not be used, and would block the next fit.
        if path.exists() || twin_path(&path).exists() {
            assert!(read_twin(&path).is_ok_and(|read| read == twin), "{}", point.what);
        }
    });
    println!("{points} crashes of a fit were survived");
    let needed = disk.kept().tree.blocks();
    for capacity in 3..needed {
        let Some(disk) = Disk::mount(capacity) else { return };
        fs::write(disk.path().join("sweep.csv"), sweep).unwrap();
        let outcome = run(&disk, &fit);
        assert_eq!(outcome.status, 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("No space left"), "{}", outcome.stderr);
        let left = fs::read_dir(disk.path()).unwrap().count();
        assert_eq!(left, 1, "only the measurements are left, so that the fit can run again");
    }
}
