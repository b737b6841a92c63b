//! Tests of injected faults on the command line.

use std::fs;
use std::process::Stdio;

use super::*;

/// Attaches a drive over FUSE with a plan of faults; `None` if this machine does not support it.
fn attach(place: &Scratch, plan: &str) -> Option<Running> {
    fs::write(place.at("plan.toml"), plan).unwrap();
    fs::create_dir(place.at("drive")).unwrap();
    let mut running = place.start(&[
        "attach",
        "sim:demo",
        "--size",
        "64MiB",
        "--fuse",
        "drive",
        "--faults",
        "plan.toml",
        "--fault-log",
        "injected.csv",
    ]);
    let is_there = || place.at("drive/drive").exists();
    running.reaches("drive", is_there).then_some(running)
}

fn run(place: &Scratch, program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(place.path()).stderr(Stdio::inherit());
    let output = output.output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// A file system on an attached drive, until it is dropped.
struct MountPoint<'a> {
    place: &'a Scratch,
    device: String,
}

impl<'a> MountPoint<'a> {
    fn new(place: &'a Scratch) -> Option<MountPoint<'a>> {
        let loop_options = ["--find", "--show", "--direct-io=on", "drive/drive"];
        let device = run(place, "losetup", &loop_options)?.trim().to_owned();
        let mounted = MountPoint { place, device };
        run(place, "mkfs.ext4", &["-q", &mounted.device])?;
        fs::create_dir(place.at("mnt")).unwrap();
        run(place, "mount", &[&mounted.device, "mnt"])?;
        Some(mounted)
    }
}

impl Drop for MountPoint<'_> {
    fn drop(&mut self) {
        let _ = run(self.place, "umount", &["mnt"]);
        let _ = run(self.place, "losetup", &["--detach", &self.device]);
    }
}

// The how-to of docs/faults.md: SQLite waits for a late flush and loses nothing.
#[test]
fn a_database_waits_for_a_late_flush() {
    let place = Scratch::on_disk();
    let plan = "[[fault]]\neffect = 'delay'\ndelay = '3s'\nops = ['flush']\nskip = 100\ncount = 1";
    let Some(running) = attach(&place, plan) else {
        return println!("skipped: no drive can be attached by FUSE here");
    };
    let Some(mounted) = MountPoint::new(&place) else {
        return println!("skipped: no file system can be mounted here");
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/commit-latency.py");
    let said = run(&place, "python3", &[script, "mnt/test.db", "300"]).unwrap();
    assert!(said.starts_with("300 commits, 0 errors"), "{said}");
    let slowest: f64 =
        said.split("slowest ").nth(1).unwrap().trim_end_matches(" ms\n").parse().unwrap();
    assert!(slowest >= 2999.0, "{said}");
    drop(mounted);
    running.signal("-INT");
    let (status, stderr) = running.wait();
    assert!(status.success(), "{stderr}");
    assert!(stderr.contains("injecting faults by 1 rule of plan.toml"), "{stderr}");
    let log = fs::read_to_string(place.at("injected.csv")).unwrap();
    let rows: Vec<Vec<&str>> = log.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(rows[0], ["time_ns", "rule", "effect", "op", "offset", "len"]);
    assert_eq!(rows[1][1..], ["fault-1", "delay", "flush", "0", "0"]);
    assert_eq!(rows.len(), 2);
}

#[test]
fn quiet_hides_the_note_about_faults() {
    let place = Scratch::on_disk();
    fs::write(place.at("plan.toml"), "[[fault]]\neffect = 'reset'").unwrap();
    let attach = ["attach", "null:", "--nbd", "s", "--faults", "plan.toml"];
    for (quiet, note) in [(&[][..], true), (&["--quiet"], false)] {
        let mut running = place.start(&[&attach[..], quiet].concat());
        assert!(running.reaches("socket", || place.at("s").exists()));
        running.signal("-INT");
        let (status, stderr) = running.wait();
        assert!(status.success(), "{stderr}");
        assert_eq!(stderr.contains("injecting faults"), note, "{stderr}");
    }
}

#[test]
fn wrong_options_of_faults_are_refused() {
    let place = Scratch::on_disk();
    fs::write(place.at("plan.toml"), "[[fault]]\neffect = 'stall'").unwrap();
    fs::write(place.at("good.toml"), "[[fault]]\neffect = 'stall'\nfor = '1s'").unwrap();
    let far =
        "[[fault]]\neffect = 'error'\n[[fault]]\nname = 'far'\neffect = 'error'\noffset = '2MiB'";
    fs::write(place.at("far.toml"), far).unwrap();
    fs::write(place.at("injected.csv"), "precious").unwrap();
    for (options, expected) in [
        (&["--faults", "none.toml"][..], "cannot read --faults none.toml: No such file"),
        (
            &["--faults", "plan.toml"],
            "--faults plan.toml: rule 1 (fault-1): add the duration of the stall",
        ),
        (
            &["--faults", "good.toml", "--fault-log", "injected.csv"],
            "--fault-log injected.csv exists: remove it",
        ),
        (&["--fault-log", "new.csv"], "--faults <FILE>"),
        (
            &["--size", "2MiB", "--faults", "far.toml"],
            "--faults far.toml: rule 2 begins beyond the end of the drive, which has 2 MiB",
        ),
    ] {
        let attach = ["attach", "null:", "--nbd", "s"];
        let message = place.run(&[&attach[..], options].concat()).message(2, &place);
        assert!(message.contains(expected), "{options:?}: {message}");
    }
    assert_eq!(fs::read_to_string(place.at("injected.csv")).unwrap(), "precious");
}
