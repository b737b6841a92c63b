//! Tests crashes of sweeps.

use std::fs;
use std::path::Path;

use flashscope_document::sweep::{Row, SweepStatus};
use flashscope_result::Error;
use flashscope_result::sweep::read_rows;

use super::disk::Disk;
use super::tree::Durability;
use super::{ROOM, made, resumed_after_each_crash, run};
use crate::Scratch;
use crate::sweep::content;

/// A space of 16 simulations of a few milliseconds.
const SPACE: &str = "
drive = 'sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1'
ios = 2000
warm_up = 'none'
repeats = 2
[factors]
flash.blocks_per_plane = [64, 128]
over_provisioning = [0.15, 0.3]
workload.reads = [0.0, 0.5]
";

/// Runs on one thread, which saves rows one after the other.
const SWEEP: [&str; 6] = ["sweep", "space.toml", "--output", "s", "--jobs", "1"];

fn disk(capacity: usize) -> Option<Disk> {
    let disk = Disk::mount(capacity)?;
    fs::write(disk.path().join("space.toml"), SPACE).unwrap();
    Some(disk)
}

/// Asserts that a sweep opens and has only rows of `whole`, and all of them if it is complete.
/// Returns their number; `None` if there is no sweep yet.
fn check(path: &Path, whole: &[Row], what: &str) -> Option<usize> {
    let (sweep, rows) = match read_rows(path) {
        Ok(read) => read,
        Err(Error::NoSweep(_)) => return None,
        Err(error) => panic!("{what}: {error}"),
    };
    assert!(
        rows.iter().all(|row| whole.contains(row)),
        "{what}: a row that does not belong to the sweep"
    );
    let complete = sweep.status == SweepStatus::Complete;
    assert!(!complete || rows.len() == whole.len(), "{what}: {} rows are not all", rows.len());
    Some(rows.len())
}

fn crashes(losses: usize, every: usize) -> Option<[usize; 2]> {
    let disk = disk(ROOM)?;
    run(&disk, &SWEEP).ok();
    let (_, whole) = read_rows(&disk.path().join("s")).unwrap();
    let check = |left: &Path, _: &Path, what: &str| check(left, &whole, what);
    Some(resumed_after_each_crash(&disk, ["sweep", "s"], [losses, every], content, check))
}

#[test]
fn crashed_sweep_keeps_its_rows_and_resumes() {
    let Some([points, resumed]) = crashes(40, 150) else { return };
    println!("{points} crashes of a sweep were survived, {resumed} of them resumed");
    assert!(points > 300 && resumed > 5);
}

// Checks power losses after each change, and resumes every state.
#[test]
#[ignore = "takes minutes: scripts/test-trust runs it"]
fn many_crashes_of_a_sweep() {
    let Some([points, resumed]) = crashes(1, 1) else { return };
    println!("{points} crashes of a sweep were survived, {resumed} of them resumed");
}

// Killed or stopped at many moments, on two threads, and resumed, a sweep gives the result of an
// uninterrupted run.
#[test]
#[ignore = "takes minutes: scripts/test-trust runs it"]
fn many_kills_of_a_sweep() {
    let in_the_midst = crate::sweep::killed(500);
    println!("500 kills and stops of a sweep were survived, {in_the_midst} of them in its midst");
    assert!(in_the_midst > 50);
}

#[test]
fn full_disk_keeps_the_rows_so_far() {
    let Some(enough) = disk(ROOM) else { return };
    run(&enough, &SWEEP).ok();
    let place = Scratch::in_memory();
    let path = made(&enough.kept().tree, Durability::All, &place, "s", "whole");
    let (_, whole) = read_rows(&path).unwrap();
    let needed = enough.kept().tree.blocks();
    let mut full = 0;
    for capacity in 3..=needed + 40 {
        let disk = disk(capacity).unwrap();
        let outcome = run(&disk, &SWEEP);
        let what = format!("{capacity} of {needed} blocks");
        let is_full = disk.kept().refused > 0;
        assert_eq!(outcome.status, i32::from(is_full), "{what}: {}", outcome.stderr);
        let rows = check(&disk.path().join("s"), &whole, &what);
        assert_eq!(
            disk.path().join("s").exists(),
            rows.is_some(),
            "{what}: a folder that cannot be resumed"
        );
        if !is_full {
            continue;
        }
        assert!(outcome.stderr.contains("No space left on device"), "{what}: {}", outcome.stderr);
        full += 1;
        if rows.is_some() && full % 10 == 0 {
            made(&disk.kept().tree, Durability::All, &place, "s", "cut");
            place.run(&["sweep", "--resume", "cut"]).ok();
            assert!(content(&place, "cut") == content(&place, "whole"), "{what}");
            fs::remove_dir_all(place.at("cut")).unwrap();
        }
    }
    println!("{full} full disks of a sweep were survived");
    assert!(full > 10);
}
