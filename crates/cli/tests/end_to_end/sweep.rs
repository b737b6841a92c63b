//! Tests `flashscope sweep`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::simulate::{assert_conforms, published};
use crate::{Outcome, Running, Scratch};

/// A space of 36 simulations of a few milliseconds, a third of them impossible.
const SPACE: &str = "
drive = 'sim:demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1'
ios = 20000
warm_up = '1x'
repeats = 2
[factors]
flash.blocks_per_plane = [64, 128, 256]
over_provisioning = [0.15, 0.3, 1.3]
workload.reads = [0.0, 0.5]
";

fn with_space(text: &str) -> Scratch {
    let place = Scratch::in_memory();
    fs::write(place.at("space.toml"), text).unwrap();
    place
}

/// Returns the files in the folder of a sweep, with their contents.
pub(crate) fn content(place: &Scratch, name: &str) -> Vec<Vec<u8>> {
    let folder = place.at(name);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    ["sweep.json", "points.parquet"].map(|name| fs::read(folder.join(name)).unwrap()).into()
}

// The folder must contain the document that `--json` prints. The text must show its main results.
#[test]
fn json_conforms_to_its_schema() {
    let place = with_space(SPACE);
    let outcome = place.run(&["sweep", "space.toml", "--json"]).ok();
    let sweep: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let schema = published("sweep");
    assert_conforms(&sweep, &schema, &schema, "sweep");
    let written = fs::read(place.at("space.flashscope/sweep.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), sweep);
    assert_eq!(sweep["counts"]["done"], 24);
    assert_eq!(sweep["counts"]["impossible"], 12);
    let text = place.run(&["sweep", "space.toml", "--output", "b"]).ok().stdout;
    for shown in ["Pareto front", "over_provisioning 0.15 → 0.3", "6 points, such as", "result: b"]
    {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(text.ends_with("see it: flashscope report b\n"), "{text}");
}

#[test]
fn sweep_has_page_summary_and_json() {
    let place = with_space(SPACE);
    let printed = place.run(&["sweep", "space.toml", "--json"]).ok().stdout;
    let page = place.run(&["report", "space.flashscope"]).ok().stdout;
    let page = fs::read_to_string(place.at(page.trim())).unwrap();
    assert!(page.contains(r#""sweeps":[{"id":"space","name":"space","sweep":{"sweep":{"#));
    assert!(page.contains(r#""simulated":12,"points":[{"point":0,"levels":[64.0,0.15,0.0]"#));
    let text = place.run(&["report", "space.flashscope", "--terminal"]).ok().stdout;
    assert!(text.contains("Pareto front"), "{text}");
    let again = place.run(&["report", "space.flashscope", "--json"]).ok().stdout;
    let [printed, again] =
        [printed, again].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(printed, again);
}

#[test]
fn sampled_points_have_effects_with_their_range() {
    let space = SPACE.replace("[factors]", "sampling = 'sobol'\nsamples = 32\n[factors]");
    let space = space.replace(
        "over_provisioning = [0.15, 0.3, 1.3]",
        "over_provisioning = { from = 0.15, to = 0.3 }",
    );
    let place = with_space(&space);
    let text = place.run(&["sweep", "space.toml"]).ok().stdout;
    assert!(
        text.contains("effects by linear regression over 32 points; the regression explains"),
        "{text}"
    );
    assert!(text.contains("- over_provisioning 0.15 → 0.3"), "{text}");
}

#[test]
fn number_of_jobs_changes_no_byte() {
    let place = with_space(SPACE);
    place.run(&["sweep", "space.toml", "--jobs", "1"]).ok();
    place.run(&["sweep", "space.toml", "--jobs", "3", "--output", "three"]).ok();
    assert!(content(&place, "three") == content(&place, "space.flashscope"));
}

/// Kills or stops a sweep at this many moments, resumes it each time, and asserts that the final
/// bytes are those of an uninterrupted sweep. Returns how many interruptions came during the sweep.
pub(crate) fn killed(times: u64) -> usize {
    let place = with_space(SPACE);
    place.run(&["sweep", "space.toml"]).ok();
    let whole = content(&place, "space.flashscope");
    let (mut signals, mut in_the_midst) = (["-KILL", "-INT"].iter().cycle(), 0);
    for attempt in 0..times {
        let begun = place.at("cut/sweep.json").exists();
        let begin = ["sweep", "space.toml", "--output", "cut", "--jobs", "2"];
        let running = place.start(if begun { &["sweep", "--resume", "cut"] } else { &begin });
        std::thread::sleep(Duration::from_millis(20 + 15 * (attempt % 4)));
        running.signal(signals.next().unwrap());
        running.wait();
        if !place.at("cut/sweep.json").exists() {
            let _ = fs::remove_dir_all(place.at("cut"));
        }
        in_the_midst += usize::from(place.at("cut/parts/part-00000.parquet").exists());
        let done = place.at("cut/points.parquet").exists();
        if place.at("cut").exists() && (done || attempt % 4 == 3) {
            place.run(&["sweep", "--resume", "cut"]).ok();
            assert!(content(&place, "cut") == whole, "attempt {attempt}");
            fs::remove_dir_all(place.at("cut")).unwrap();
        }
    }
    in_the_midst
}

#[test]
fn killed_sweep_resumes_to_the_same_result() {
    println!("{} of 12 interruptions came during a sweep", killed(12));
}

#[test]
fn invalid_spaces_and_folders_are_refused() {
    let place = with_space("[factors]\nover_provisionin = [0.1]");
    let message =
        |arguments: &[&str]| place.run(&[&["sweep"], arguments].concat()).message(2, &place);
    assert!(message(&["space.toml"]).contains(
        "space.toml: [factors] has no `over_provisionin` (did you mean `over_provisioning`?)"
    ));
    assert!(message(&["none.toml"]).contains("cannot read none.toml"));
    assert!(message(&["--resume", "none"]).contains("none is not a sweep"));
    assert!(message(&[]).contains("required"));
    assert!(message(&["space.toml", "--jobs", "0"]).contains("--jobs"));
    assert_eq!(place.names(), ["space.toml"]);
    fs::write(place.at("space.toml"), "[factors]\nover_provisioning = [1.1, 1.2]").unwrap();
    let none = message(&["space.toml"]);
    assert!(
        none.contains("none of the 2 points can be simulated; the error of the first: "),
        "{none}"
    );
    assert!(message(&["space.toml"]).contains("exists already"));
}

/// Starts a sweep on Ray with this script as `python3`, in place of the Python package.
fn on_ray(place: &Scratch, script: &str) -> Command {
    let python = place.at("bin/python3");
    fs::create_dir_all(place.at("bin")).unwrap();
    fs::write(&python, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let arguments = ["sweep", "space.toml", "--engine", "ray", "--jobs", "2", "--output", "there"];
    let mut command = place.command(&arguments);
    command.env("PATH", format!("{}:/usr/bin:/bin", place.arg("bin")));
    command
}

// python/tests checks that a cluster gives the same rows.
#[test]
fn ray_sweep_shows_the_result_or_the_error_of_the_package() {
    let place = with_space(SPACE);
    let here = place.run(&["sweep", "space.toml", "--output", "there"]).ok().stdout;
    fs::rename(place.at("there"), place.at("here")).unwrap();
    let ask =
        r#"test "$*" = "-m flashscope sweep --output there --jobs 2 -- space.toml" || exit 3"#;
    let does = format!(r#"{ask}; mv here there; echo '{{"folder": "there"}}'"#);
    assert_eq!(Outcome::of(&mut on_ray(&place, &does)).ok().stdout, here);
    let message = |status: i32, script: &str| {
        Outcome::of(&mut on_ray(&place, script)).message(status, &place)
    };
    let error = r#"echo '{"error": "no such thing", "usage": "#;
    assert_eq!(message(2, &format!("{error} true}}'")), "flashscope: no such thing");
    assert_eq!(message(1, &format!("{error} false}}'")), "flashscope: no such thing");
    assert!(message(2, "exit 1").contains("install Ray and the flashscope wheel"));
    let mut nowhere = on_ray(&place, "");
    let message = Outcome::of(nowhere.env("PATH", "/nonexistent")).message(2, &place);
    assert!(message.contains("`python3 -m flashscope` did not run"), "{message}");
}

#[test]
fn ctrl_c_stops_the_python_package_and_waits_for_it() {
    let place = with_space(SPACE);
    let waits = r#"touch begun; cat; echo '{"error": "interrupted: 3 are kept", "usage": false}'"#;
    let mut command = on_ray(&place, waits);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut running = Running(Some(child.unwrap()));
    running.wait_until("the package", || place.at("begun").exists());
    running.signal("-INT");
    let (status, message) = running.wait();
    assert_eq!(status.code(), Some(130), "{message}");
    assert!(message.contains("interrupted: 3 are kept"), "{message}");
}
