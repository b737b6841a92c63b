//! Tests `flashscope verify` on files: kills, damaged drives, and journals that do not belong to
//! the drive.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Outcome, Running, Scratch, succeeds};

const DRIVE: &str = "file:drive?size=4MiB";
/// Options for a short verification.
const SHORT: [&str; 4] = ["--writes", "2000", "--io-size", "16KiB"];
/// The size in bytes of a journal with the complete fill and a thousand random writes.
const LONG_JOURNAL: u64 = 6000;

fn verify(place: &Scratch, drive: &str, more: &[&str]) -> Outcome {
    place.run(&[&["verify", drive, "--journal", "journal", "--json"], more].concat())
}

/// Judges the drive, and returns the document after checking the exit status.
#[track_caller]
fn judge(place: &Scratch, status: i32) -> Value {
    let outcome = verify(place, DRIVE, &["--resume"]);
    assert_eq!(outcome.status, status, "{}{}", outcome.stdout, outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

/// Starts a verification that ends by itself only after minutes, and waits for a thousand writes.
fn start(place: &Scratch) -> Running {
    let mut running = place.start(&["verify", DRIVE, "--journal", "journal"]);
    let journal = place.at("journal");
    running.wait_until("a journal", || len(&journal) > LONG_JOURNAL);
    running
}

fn len(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Overwrites a range of the drive.
fn overwrite(place: &Scratch, offset: u64, data: &[u8]) {
    let drive = fs::File::options().write(true).open(place.at("drive")).unwrap();
    drive.write_all_at(data, offset).unwrap();
}

#[test]
fn a_file_holds_what_it_acknowledged_with_every_engine() {
    for engine in ["io_uring", "libaio", "psync"] {
        let place = Scratch::on_disk();
        let drive = format!("{DRIVE}&engine={engine}");
        let outcome = verify(&place, &drive, &SHORT);
        if engine != "psync" && outcome.stderr.contains("cannot start") {
            println!("skipped: {}", outcome.stderr);
            continue;
        }
        let it: Value = serde_json::from_str(&outcome.ok().stdout).unwrap();
        assert_eq!(it["verdict"], "as_acknowledged");
        assert_eq!(it["ending"], "complete");
        assert_eq!(it["bytes"]["as_acknowledged"], 4 << 20);
        let journal = &it["journal"];
        assert_eq!(journal["writes"], 2000 + 32);
        assert_eq!(journal["flushed"], journal["writes"]);
        assert!(journal["overlapping"].as_u64().unwrap() > 100, "{journal}");
        assert!(place.at("drive").exists() && place.at("journal").exists());
    }
}

#[test]
fn a_killed_verification_is_judged_as_after_a_power_cut() {
    let place = Scratch::on_disk();
    start(&place).signal("-KILL");
    let it = judge(&place, 0);
    assert_eq!(it["ending"], "cut");
    assert!(it["journal"]["flushed"].as_u64().unwrap() > 500, "{it}");
    // A second judgement gives the same result.
    assert_eq!(judge(&place, 0)["bytes"], it["bytes"]);
    // A truncated journal proves less, but shows no damage.
    let journal = fs::read(place.at("journal")).unwrap();
    fs::write(place.at("journal"), &journal[..journal.len() - 1001]).unwrap();
    let shorter = judge(&place, 0);
    assert!(shorter["journal"]["writes"].as_u64() < it["journal"]["writes"].as_u64());
}

#[test]
fn ctrl_c_keeps_the_journal_with_status_130() {
    let place = Scratch::on_disk();
    let running = start(&place);
    running.signal("-INT");
    let (status, stderr) = running.wait();
    assert_eq!(status.code(), Some(130));
    let hint = "judge the drive with `flashscope verify 'file:drive?size=4MiB' --journal 'journal' --resume`";
    assert!(stderr.contains(hint), "{stderr}");
    assert_eq!(judge(&place, 0)["ending"], "interrupted");
}

#[test]
fn damage_is_found_with_status_3() {
    let place = Scratch::on_disk();
    let drive = place.at("drive");
    let mut running = place.start(&["verify", DRIVE, "--journal", "journal", "--writes", "20000"]);
    let journal = place.at("journal");
    running.wait_until("a journal", || len(&journal) > LONG_JOURNAL);
    let old = fs::read(&drive).unwrap();
    let (status, stderr) = running.wait();
    assert!(status.success(), "{stderr}");
    let new = fs::read(&drive).unwrap();
    let damaged = |kind: &str| {
        let it = judge(&place, 3);
        assert_eq!(it["verdict"], "damaged");
        assert!(it["findings"].as_array().unwrap().iter().any(|one| one["damage"] == kind));
        it["bytes"][kind].as_u64().unwrap()
    };
    // Simulates a drive that lost all later writes.
    overwrite(&place, 0, &old);
    assert!(damaged("lost") > 1 << 20);
    overwrite(&place, 0, &new);
    overwrite(&place, 8192, &[0; 4096]);
    assert_eq!(damaged("corrupt"), 4096);
    overwrite(&place, 0, &new);
    overwrite(&place, 12_288, &new[..4096]);
    assert_eq!(damaged("misplaced"), 4096);

    let text = place.run(&["verify", DRIVE, "--journal", "journal", "--resume"]);
    assert!(text.stdout.starts_with("file:drive?size=4MiB broke its promises."), "{}", text.stdout);
    assert!(text.stdout.contains("4 KiB at 12288 B: misplaced; holds no write"), "{}", text.stdout);
    let expected = "flashscope: `file:drive?size=4MiB` broke its promises: 4 KiB are damaged";
    assert_eq!(text.message(3, &place), expected);
    overwrite(&place, 0, &new);
    judge(&place, 0);
}

#[test]
fn a_journal_of_another_drive_or_verification_is_refused() {
    let place = Scratch::on_disk();
    verify(&place, DRIVE, &SHORT).ok();
    let again = verify(&place, DRIVE, &SHORT).message(2, &place);
    assert!(again.contains("the journal journal exists already: judge the drive with --resume"));
    fs::copy(place.at("journal"), place.at("first")).unwrap();
    fs::remove_file(place.at("journal")).unwrap();
    verify(&place, DRIVE, &SHORT).ok();
    let refused = |drive: &str, journal: &str| {
        let outcome = place.run(&["verify", drive, "--journal", journal, "--resume"]);
        outcome.message(2, &place)
    };
    let message = refused(DRIVE, "first");
    assert!(message.contains("holds blocks of another verification"), "{message}");
    fs::write(place.at("other"), vec![0; 8 << 20]).unwrap();
    let message = refused("file:other", "journal");
    assert!(message.contains("its capacity was 4 MiB and is 8 MiB"), "{message}");
    let message = refused(DRIVE, "drive");
    assert!(message.contains("drive: it is not a journal of `flashscope verify`"), "{message}");
    judge(&place, 0);
}

#[test]
fn refused_requests_write_nothing() {
    let place = Scratch::on_disk();
    let message = verify(&place, "sim:demo", &[]).message(2, &place);
    assert!(message.contains("`sim:demo` keeps no data"), "{message}");
    let journal = ["verify", DRIVE, "--journal", "none/journal"];
    let message = place.run(&journal).message(2, &place);
    assert!(message.contains("the folder of the journal, none, does not exist"), "{message}");
    verify(&place, DRIVE, &["--target-offset", "5MiB"]).message(2, &place);
    verify(&place, DRIVE, &["--target-size", "1000B"]).message(2, &place);
    verify(&place, DRIVE, &["--resume", "--writes", "5"]).message(2, &place);
    verify(&place, DRIVE, &["--resume", "--destroy-data-on", "x"]).message(2, &place);
    assert_eq!(place.names(), [""; 0]);
    fs::write(place.at("drive"), vec![7; 4 << 20]).unwrap();
    let message = verify(&place, DRIVE, &[]).message(2, &place);
    assert!(message.contains("--destroy-data-on"), "{message}");
    assert_eq!(place.names(), ["drive"]);
    assert!(fs::read(place.at("drive")).unwrap().iter().all(|byte| *byte == 7));
}

#[test]
fn the_target_stays_within_its_bounds() {
    let place = Scratch::on_disk();
    fs::write(place.at("drive"), vec![7; 4 << 20]).unwrap();
    let bounds = ["--target-offset", "1MiB", "--target-size", "2MiB", "--destroy-data-on", "drive"];
    verify(&place, DRIVE, &[&SHORT[..], &bounds].concat()).ok();
    let drive = fs::read(place.at("drive")).unwrap();
    let (before, after) = (&drive[..1 << 20], &drive[3 << 20..]);
    assert!(before.iter().chain(after).all(|byte| *byte == 7));
    assert!(drive[1 << 20..3 << 20].chunks(512).all(|sector| sector.starts_with(b"flshvrfy")));
}

#[test]
fn a_named_pipe_carries_the_journal_elsewhere() {
    let place = Scratch::on_disk();
    assert!(succeeds("mkfifo", &[&place.arg("pipe")]));
    let receive = format!("cat {} > {}", place.arg("pipe"), place.arg("journal"));
    let mut receiver = Command::new("sh").args(["-c", &receive]).spawn().unwrap();
    let call = [&["verify", DRIVE, "--journal", "pipe", "--duration", "1s"], &SHORT[2..]].concat();
    let mut running = place.start(&call);
    running.wait_until("a journal", || len(&place.at("journal")) > LONG_JOURNAL);
    running.signal("-KILL");
    running.wait();
    assert!(receiver.wait().unwrap().success());
    assert_eq!(judge(&place, 0)["ending"], "cut");
}
