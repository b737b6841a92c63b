//! Tests commands that are killed in their first milliseconds: their folder does not exist, or it
//! can be resumed or read.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::Scratch;

/// A command that creates the folder `r`, and the command that resumes or reads it after a kill.
struct ResumableCommand {
    make: &'static str,
    go_on: &'static str,
}

const COMMANDS: [ResumableCommand; 5] = [
    ResumableCommand {
        make: "bench sim:demo?flash.blocks_per_plane=48 --output r --only order --target-size 8MiB --repeats 1 \
               --io-count 16 --preparation-io-count 64 --run-pause 0ms",
        go_on: "bench --resume r",
    },
    ResumableCommand { make: "sweep space.toml --output r --jobs 1", go_on: "sweep --resume r" },
    ResumableCommand {
        make: "simulate --drive demo?flash.blocks_per_plane=64 --ios 20000 --output r",
        go_on: "report r --json",
    },
    ResumableCommand {
        make: "probe sim:demo?flash.blocks_per_plane=16 --only page-size --output r",
        go_on: "report r --json",
    },
    ResumableCommand {
        make: "what-if --drive demo?flash.blocks_per_plane=64 --ios 5000 --change over_provisioning=0.3 --repeats 1 \
               --jobs 1 --output r",
        go_on: "report r --json",
    },
];

const SPACE: &str = "
drive = 'sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1'
ios = 2000
warm_up = 'none'
[factors]
flash.blocks_per_plane = [64, 128]
";

fn words(typed: &str) -> Vec<&str> {
    typed.split_whitespace().collect()
}

/// Returns true once a command has written anything besides the space of a sweep.
fn has_begun(place: &Path) -> bool {
    fs::read_dir(place).unwrap().count() > 1
}

/// Kills each command this many times, up to 3 ms after the first change of its folder. Returns the
/// number of kills, and of those that came before the
/// folder had its name.
fn killed(times: u64) -> [usize; 2] {
    let (mut random, mut kills, mut early) = (fastrand::Rng::with_seed(times), 0, 0);
    for ResumableCommand { make, go_on } in COMMANDS {
        for attempt in 0..times {
            let place = Scratch::in_memory();
            fs::write(place.at("space.toml"), SPACE).unwrap();
            let mut running = place.start(&words(make));
            if !running.reaches("a change", || has_begun(place.path())) {
                continue;
            }
            std::thread::sleep(Duration::from_micros(random.u64(..3000)));
            running.signal("-KILL");
            running.wait();
            kills += 1;
            let what = format!("{make}: kill {attempt} left {:?}", place.names());
            if place.at("r").exists() {
                let outcome = place.run(&words(go_on));
                assert_eq!(outcome.status, 0, "{what}: {}", outcome.stderr);
            } else {
                early += 1;
            }
            if attempt == 0 {
                // The same command succeeds again, and removes the remains.
                let _ = fs::remove_dir_all(place.at("r"));
                place.run(&words(make)).ok();
                assert_eq!(place.names(), ["r", "space.toml"], "{what}");
            }
        }
    }
    [kills, early]
}

#[test]
fn early_kills_leave_no_folder_or_one_to_go_on_with() {
    let [kills, early] = killed(8);
    println!("{kills} early kills were survived, {early} of them before there was a folder");
    assert!(kills > 20, "only {kills} commands were killed");
}

#[test]
#[ignore = "takes minutes: scripts/test-trust runs it"]
fn many_early_kills_leave_no_folder_or_one_to_go_on_with() {
    let [kills, early] = killed(200);
    println!("{kills} early kills were survived, {early} of them before there was a folder");
}
